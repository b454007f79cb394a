from mooring.embedded.resources import DEPLOYMENTS, EVENTS, PODS, RESOURCES
from mooring.embedded.schema.definitions import (
    definition,
    definition_of,
    definition_of_kind,
    definitions,
    go_type,
)

CORE = "io.k8s.api.core.v1."


def test_every_resource_has_one() -> None:
    for resource in RESOURCES:
        found = definition_of(resource)
        assert (found.group, found.kind) == (resource.group, resource.kind)
        assert "metadata" in found.fields


def test_every_reference_leads_somewhere() -> None:
    for one in definitions().values():
        for name, field in one.fields.items():
            assert field.name == name
            if field.ref:
                assert field.ref in definitions()
            assert (field.items is not None) == (field.type in ("array", "map"))


def test_kinds_of_two_groups_are_not_confused() -> None:
    assert definition_of(EVENTS).name == "io.k8s.api.events.v1.Event"
    assert definition_of_kind("", "v1", "Event").name == CORE + "Event"
    assert definition_of_kind("policy", "v1", "Eviction").fields["deleteOptions"].type == "object"


def test_lists_say_how_they_are_merged() -> None:
    spec = definition(CORE + "PodSpec")
    containers = spec.fields["containers"]
    assert (containers.list_type, containers.list_keys) == ("map", ("name",))
    assert containers.patch_strategies == {"merge"}
    assert containers.merge_key == "name"
    assert containers.ref == CORE + "Container"
    assert containers.items is not None
    assert containers.items.type == "object"
    assert containers.required
    assert spec.required == ("containers",)
    volumes = spec.fields["volumes"]
    assert volumes.patch_strategies == {"merge", "retainKeys"}
    assert spec.fields["tolerations"].list_type == "atomic"
    finalizers = definition(definition_of(PODS).fields["metadata"].ref).fields["finalizers"]
    assert finalizers.list_type == "set"
    assert finalizers.patch_strategies == {"merge"}


def test_ports_are_merged_differently_by_the_two_ways() -> None:
    ports = definition(CORE + "Container").fields["ports"]
    assert ports.list_keys == ("containerPort", "protocol")
    assert ports.merge_key == "containerPort"
    assert definition(CORE + "ContainerPort").fields["protocol"].default == "TCP"


def test_maps_and_objects_say_whether_they_are_one_value() -> None:
    spec = definition(CORE + "PodSpec").fields
    assert spec["nodeSelector"].map_type == "atomic"
    assert spec["overhead"].map_type == ""
    assert definition_of(DEPLOYMENTS).fields["spec"].map_type == ""
    selector = definition("io.k8s.api.apps.v1.DeploymentSpec").fields["selector"]
    assert selector.map_type == "atomic"
    assert definition(CORE + "PersistentVolumeSpec").fields["claimRef"].map_type == "granular"
    assert definition(CORE + "ObjectReference").map_type == "atomic"


def test_go_types() -> None:
    spec = definition(CORE + "PodSpec").fields
    assert go_type(spec["containers"]) == "[]v1.Container"
    assert go_type(spec["nodeSelector"]) == "map[string]string"
    assert go_type(spec["overhead"]) == "v1.ResourceList"
    assert go_type(spec["dnsPolicy"]) == "v1.DNSPolicy"
    modes = definition(CORE + "PersistentVolumeSpec").fields["accessModes"]
    assert go_type(modes) == "[]v1.PersistentVolumeAccessMode"
