"""What pods and nodes share: reading, the raw object, metadata."""

import json
from typing import Any

import msgspec
import pytest

from mooring import InputError, Node, Pod
from mooring.model.change import Gone, Put
from mooring.model.meta import ObjectMeta, keep_raw

WHOLE: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {
        "name": "web-0",
        "namespace": "shop",
        "uid": "u1",
        "resourceVersion": "7",
        "labels": {"app": "web"},
        "annotations": {"note": "x"},
        "ownerReferences": [{"kind": "StatefulSet", "name": "web", "controller": True}],
        "managedFields": [{"manager": "kubectl"}],
    },
    "spec": {"containers": [{"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}]}]},
    "unheard": {"of": [1, 2]},
}
NULLS = {
    Pod: {
        "metadata": {
            "name": "a", "namespace": None, "uid": None, "resourceVersion": None,
            "creationTimestamp": None, "deletionTimestamp": None, "labels": None,
            "annotations": None, "ownerReferences": None,
        },
        "spec": {
            "containers": None, "initContainers": None, "nodeName": None, "schedulerName": None,
            "priority": None, "nodeSelector": None, "affinity": None, "tolerations": None,
            "topologySpreadConstraints": None, "schedulingGates": None, "overhead": None,
            "resources": None, "hostNetwork": None, "preemptionPolicy": None,
            "hostUsers": None, "volumes": None, "resourceClaims": None, "schedulingGroup": None,
            "priorityClassName": None,
        },
        "status": {
            "phase": None, "conditions": None, "containerStatuses": None, "resources": None,
            "initContainerStatuses": None, "allocatedResources": None, "startTime": None,
        },
    },
    Node: {
        "metadata": {"name": "a", "labels": None},
        "spec": {"taints": None, "unschedulable": None, "providerID": None},
        "status": {
            "capacity": None, "allocatable": None, "conditions": None, "images": None,
            "declaredFeatures": None,
        },
    },
}  # fmt: skip


def test_raw_has_every_field_of_an_object_read_from_bytes() -> None:
    data = json.dumps(WHOLE).encode()
    for source in (data, memoryview(data)):
        pod = Pod.from_json(source)
        assert pod.raw == WHOLE
        assert pod.raw is pod.raw  # parsed once


def test_raw_has_only_modelled_fields_when_the_bytes_are_not_kept() -> None:
    raw = Pod.from_json(json.dumps(WHOLE).encode(), keep_source=False).raw
    assert raw["metadata"]["labels"] == {"app": "web"}
    assert raw["spec"] == {"containers": [{"name": "c", "image": "i"}]}
    assert "unheard" not in raw
    assert Pod.from_dict(raw) == Pod.from_dict(WHOLE)


def test_raw_of_an_object_read_from_a_dict_is_that_dict() -> None:
    assert Pod.from_dict(WHOLE).raw is WHOLE


def test_raw_of_an_object_made_by_hand_has_what_was_set() -> None:
    pod = Pod(metadata=ObjectMeta(name="a", resource_version="5"))
    assert pod.raw == {"metadata": {"name": "a", "resourceVersion": "5"}}
    assert Pod().raw == {}


def test_bytes_and_dict_give_equal_objects_of_equal_hash() -> None:
    one, other = Pod.from_json(json.dumps(WHOLE).encode()), Pod.from_dict(WHOLE)
    assert one == other
    assert len({one, other}) == 1


def test_metadata_is_at_hand() -> None:
    pod = Pod.from_dict(WHOLE)
    assert (pod.name, pod.uid, pod.resource_version) == ("web-0", "u1", "7")
    assert (pod.labels, pod.annotations) == ({"app": "web"}, {"note": "x"})
    owners = pod.metadata.owner_references
    assert owners is not None
    assert [(owner.kind, owner.name, owner.controller) for owner in owners] == [
        ("StatefulSet", "web", True)
    ]
    assert not pod.deleting
    assert Pod(metadata=ObjectMeta(deletion_timestamp="2026-01-01T00:00:00Z")).deleting


@pytest.mark.parametrize("kind", [Pod, Node])
def test_an_empty_object_has_empty_everything(kind: type[Pod] | type[Node]) -> None:
    thing = kind.from_json(b"{}")
    assert (thing.name, thing.uid, thing.resource_version) == ("", "", "")
    assert (thing.labels, thing.annotations, thing.deleting) == ({}, {}, False)


@pytest.mark.parametrize("kind", [Pod, Node])
def test_null_means_absent(kind: type[Pod] | type[Node]) -> None:
    nulls = NULLS[kind]
    assert kind.from_dict(nulls) == kind(metadata=ObjectMeta(name="a"))
    assert kind.from_json(json.dumps(nulls).encode()) == kind(metadata=ObjectMeta(name="a"))


@pytest.mark.parametrize(
    ("kind", "data", "path"),
    [
        (Pod, {"metadata": {"name": 5}}, "metadata.name"),
        (Pod, {"metadata": {"labels": {"a": 1}}}, "metadata.labels[...]"),
        (Pod, {"spec": {"containers": [{}, {"image": []}]}}, "spec.containers[1].image"),
        (Pod, {"spec": {"priority": "high"}}, "spec.priority"),
        (Pod, {"spec": {"tolerations": [{"key": {}}]}}, "spec.tolerations[0].key"),
        (Pod, {"spec": {"overhead": {"cpu": True}}}, "spec.overhead[...]"),
        (Node, {"status": {"images": [{"names": "x"}]}}, "status.images[0].names"),
        (Node, {"spec": {"taints": {}}}, "spec.taints"),
    ],
)
def test_a_wrong_type_is_an_error_that_names_the_place(
    kind: type[Pod] | type[Node], data: dict[str, Any], path: str
) -> None:
    with pytest.raises(InputError) as from_dict:
        kind.from_dict(data)
    with pytest.raises(InputError) as from_json:
        kind.from_json(json.dumps(data).encode())
    for caught in (from_dict, from_json):
        start = f"{kind.__name__} cannot be read: field {path}: Expected "
        assert str(caught.value).startswith(start)


@pytest.mark.parametrize(
    ("name", "key"),
    [({"name": "web-1", "namespace": "shop"}, "shop/web-1"), ({"name": "a"}, "default/a")],
)
def test_an_error_names_the_object(name: dict[str, str], key: str) -> None:
    data = {"metadata": name, "spec": {"containers": [{"image": 7}]}}
    with pytest.raises(InputError) as from_dict:
        Pod.from_dict(data)
    with pytest.raises(InputError) as from_json:
        Pod.from_json(json.dumps(data).encode())
    for caught in (from_dict, from_json):
        assert str(caught.value) == (
            f"Pod {key} cannot be read: field spec.containers[0].image: Expected `str`, got `int`"
        )


def test_an_error_names_a_node_without_a_namespace() -> None:
    with pytest.raises(InputError, match=r"^Node n1 cannot be read: field spec: "):
        Node.from_dict({"metadata": {"name": "n1", "namespace": "none"}, "spec": []})


def test_a_key_of_the_wrong_type_is_told_from_a_value() -> None:
    with pytest.raises(InputError, match=r"read: a key of field metadata\.labels: Expected `str`"):
        Pod.from_dict({"metadata": {"labels": {5: "x"}}})


def test_the_key_of_an_object_has_the_namespace_if_its_kind_has_one() -> None:
    assert Pod(metadata=ObjectMeta(name="a", namespace="b")).key == "b/a"
    assert Pod(metadata=ObjectMeta(name="a", namespace="")).key == "default/a"
    assert Pod(metadata=ObjectMeta(name="a")).namespace == "default"
    node = Node(metadata=ObjectMeta(name="n1"))
    assert (node.key, node.namespace) == ("n1", "")


def test_a_changed_copy_can_keep_what_was_read() -> None:
    data = json.dumps(WHOLE).encode()
    for pod in (Pod.from_dict(WHOLE), Pod.from_json(data)):
        copy = msgspec.structs.replace(pod, metadata=ObjectMeta(name="b"))
        assert copy.raw == {
            "metadata": {"name": "b"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        copy = msgspec.structs.replace(pod, metadata=ObjectMeta(name="b"))
        keep_raw(copy, pod)
        assert copy.raw == WHOLE
        assert copy.name == "b"


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"null", b"\xff", b'{"metadata":{"name":"\xff"}}', b"{} {}"],
)
def test_what_is_no_object_is_an_error(data: bytes) -> None:
    with pytest.raises(InputError, match=r"^Node cannot be read: "):
        Node.from_json(data)


def test_bottomless_nesting_is_an_error() -> None:
    with pytest.raises(InputError, match=r"^Pod cannot be read: "):
        Pod.from_json(b'{"a":' + b"[" * 100_000)


def test_objects_cannot_be_changed() -> None:
    pod = Pod.from_dict(WHOLE)
    with pytest.raises(AttributeError):
        pod.spec = Pod().spec  # type: ignore[misc]
    with pytest.raises(AttributeError):
        pod.metadata.name = "other"  # type: ignore[misc]


def test_changes_carry_the_object() -> None:
    pod = Pod.from_dict(WHOLE)
    assert Put(pod).object is pod
    assert Gone(pod).object is pod
    assert msgspec.structs.astuple(Put(pod)) == (pod,)
