import json
from typing import Any

import msgspec
import pytest

from mooring import InputError, Node, Pod
from mooring.model.defaults import Defaults
from mooring.model.kinds import BY_LIST_NAME
from mooring.model.meta import KubeObject
from mooring.model.quantity import parse_quantity
from mooring.model.workloads import Namespace, PriorityClass, ReplicationController
from mooring.testing import make_pod
from tests.unit.model.golden import rows

GOLDEN = rows("defaults")
CLASSES = [PriorityClass.from_dict(row[1]) for row in GOLDEN if row[0] == "priorityClasses"]
AMOUNTS = {"requests", "limits", "capacity", "allocatable", "overhead", "allocatedResources"}


def pod(**spec: Any) -> Pod:
    return Pod.from_dict(
        {"metadata": {"name": "a", "labels": {"app": "x", "ver": "1"}}, "spec": spec}
    )


def stored(thing: Pod, *classes: PriorityClass) -> Pod:
    return Defaults(classes).apply(thing)


def requests_of(thing: Pod, container: int = 0) -> Any:
    resources = thing.containers[container].resources
    return resources and resources.requests


def plain(value: Any, key: str = "") -> Any:
    """A value without what JSON may leave out, amounts as numbers: equal if the meaning is."""
    if isinstance(value, KubeObject):
        value = msgspec.to_builtins(value)
    if isinstance(value, dict):
        if key in AMOUNTS:
            return {name: parse_quantity(text).nano for name, text in value.items()}
        pairs = ((name, plain(one, name)) for name, one in value.items() if name[:1] != ".")
        return {name: one for name, one in pairs if one not in (None, "", 0, False, [], {}, "TCP")}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return parse_quantity(value).nano if key in AMOUNTS and value is not None else value


@pytest.mark.parametrize("row", range(len(GOLDEN)))
def test_objects_become_what_the_api_server_stores(row: int) -> None:
    name, written, expected = GOLDEN[row]
    kind = BY_LIST_NAME[name].type
    defaults = Defaults(CLASSES)
    found = defaults.apply(kind.from_dict(written))
    assert plain(found) == plain(kind.from_dict(expected))
    assert defaults.apply(found) is found


def test_the_golden_objects_have_every_kind() -> None:
    assert {row[0] for row in GOLDEN} == set(BY_LIST_NAME)


def test_a_stored_object_comes_back_itself() -> None:
    thing = stored(make_pod(requests={"cpu": "1"}, spec={"schedulerName": "mine"}))
    assert stored(thing) is thing
    node = Node.from_dict({"metadata": {"name": "n", "uid": "u"}})
    assert Defaults().apply(node) is node


def test_what_was_read_stays_at_hand() -> None:
    data = {"metadata": {"name": "a"}, "spec": {"unheard": 1}}
    assert stored(Pod.from_dict(data)).raw == data
    assert stored(Pod.from_json(json.dumps(data).encode())).raw == data
    namespace = Namespace.from_dict({"metadata": {"name": "a"}, "x": 1})
    assert Defaults().apply(namespace).raw["x"] == 1


def test_names_are_completed() -> None:
    thing = stored(pod())
    assert (thing.metadata.namespace, thing.uid) == ("default", "uid-default-a")
    assert thing.spec.scheduler_name == "default-scheduler"
    node = Defaults().apply(Node.from_dict({"metadata": {"name": "n"}}))
    assert (node.metadata.namespace, node.uid) == (None, "uid--n")


def test_requests_come_from_limits() -> None:
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}}
    thing = stored(
        pod(containers=[{"resources": resources}, {"resources": {"limits": {"x.io/a": 1}}}])
    )
    assert requests_of(thing) == {"cpu": "1", "memory": "1Gi"}
    assert requests_of(thing, 1) == {"x.io/a": 1}
    init = stored(pod(initContainers=[{"resources": {"limits": {"cpu": "3"}}}]))
    assert init.requests == {"cpu": 3000}


def test_amounts_are_rounded_up_to_thousandths_one_by_one() -> None:
    fine = {"resources": {"requests": {"cpu": "0.0001", "memory": "1.5"}}}
    thing = stored(pod(containers=[fine, fine], overhead={"cpu": "1u"}))
    assert requests_of(thing) == {"cpu": "1m", "memory": "1.5"}
    assert thing.requests == {"cpu": 3, "memory": 3}


def test_pod_level_requests_come_from_containers_then_from_limits() -> None:
    container = {"resources": {"requests": {"cpu": "250m"}, "limits": {"hugepages-2Mi": "4Mi"}}}
    thing = stored(
        pod(containers=[container, container], resources={"limits": {"cpu": "2", "memory": "1Gi"}})
    )
    level = thing.spec.resources
    assert level is not None
    assert plain(level.requests, "requests") == plain(
        {"cpu": "500m", "memory": "1Gi", "hugepages-2Mi": "8Mi"}, "requests"
    )
    assert plain(level.limits, "limits") == plain(
        {"cpu": "2", "memory": "1Gi", "hugepages-2Mi": "8Mi"}, "limits"
    )


def test_pod_level_requests_alone_stay_as_they_are() -> None:
    level = {"requests": {"cpu": "1"}}
    container = {"resources": {"requests": {"memory": "1Gi"}}}
    thing = stored(pod(containers=[container], resources=level))
    assert thing.spec.resources is not None
    assert msgspec.to_builtins(thing.spec.resources) == level


def test_ports_are_completed() -> None:
    ports = [{"containerPort": 80, "protocol": ""}, {"containerPort": 81, "hostPort": 9}]
    (container,) = stored(pod(containers=[{"ports": ports}])).containers
    assert [(one.host_port, one.protocol) for one in container.ports or ()] == [
        (0, "TCP"),
        (9, "TCP"),
    ]
    (container,) = stored(pod(containers=[{"ports": ports}], hostNetwork=True)).containers
    assert [one.host_port for one in container.ports or ()] == [80, 9]
    init = stored(pod(initContainers=[{"ports": ports}], hostNetwork=True)).spec.init_containers
    assert init is not None
    assert [one.host_port for one in init[0].ports or ()] == [80, 9]


def spread(thing: Pod) -> Any:
    constraints = thing.spec.topology_spread_constraints
    return msgspec.to_builtins(constraints[0].label_selector) if constraints else None


def test_label_keys_become_conditions_with_the_pods_values() -> None:
    constraint = {"labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["ver", "none"]}
    thing = stored(pod(topologySpreadConstraints=[constraint]))
    conditions = [{"key": "ver", "operator": "In", "values": ["1"]}]
    assert spread(thing) == {"matchLabels": {"a": "b"}, "matchExpressions": conditions}
    term = {
        "labelSelector": {
            "matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["q"]}]
        },
        "matchLabelKeys": ["ver"],
        "mismatchLabelKeys": ["app"],
    }
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    found = stored(pod(affinity=affinity)).spec.affinity
    assert found is not None
    assert found.pod_anti_affinity is not None
    terms = found.pod_anti_affinity.required_during_scheduling_ignored_during_execution or []
    assert msgspec.to_builtins(terms[0].label_selector) == {
        "matchExpressions": [
            {"key": "app", "operator": "NotIn", "values": ["q"]},
            {"key": "ver", "operator": "In", "values": ["1"]},
            {"key": "app", "operator": "NotIn", "values": ["x"]},
        ]
    }


def test_label_keys_without_a_selector_are_left_alone() -> None:
    thing = stored(pod(topologySpreadConstraints=[{"matchLabelKeys": ["ver"]}]))
    assert spread(thing) is None


def test_label_keys_are_not_added_again_when_the_pods_label_has_changed() -> None:
    conditions = [{"key": "ver", "operator": "In", "values": ["old"]}]
    constraint = {"labelSelector": {"matchExpressions": conditions}, "matchLabelKeys": ["ver"]}
    assert spread(stored(pod(topologySpreadConstraints=[constraint]))) == {
        "matchExpressions": conditions
    }


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, (7, "usual", "PreemptLowerPriority")),
        ({"priorityClassName": "low"}, (-5, "low", "PreemptLowerPriority")),
        ({"priorityClassName": "high"}, (100, "high", "Never")),
        (
            {"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"},
            (100, "high", "PreemptLowerPriority"),
        ),
        (
            {"priorityClassName": "system-node-critical"},
            (2_000_001_000, "system-node-critical", "PreemptLowerPriority"),
        ),
        ({"priority": 3}, (3, None, None)),
        ({"priority": 0, "priorityClassName": "unknown"}, (0, "unknown", None)),
    ],
)
def test_priority_comes_from_the_class(spec: dict[str, Any], expected: tuple[Any, ...]) -> None:
    found = stored(pod(**spec), *CLASSES).spec
    assert (found.priority, found.priority_class_name, found.preemption_policy) == expected


def test_without_classes_priority_is_zero() -> None:
    found = stored(pod()).spec
    assert (found.priority, found.preemption_policy) == (0, "PreemptLowerPriority")


def test_an_unknown_priority_class_is_an_error_that_names_pod_and_field() -> None:
    with pytest.raises(InputError) as caught:
        stored(pod(priorityClassName="gold"), *CLASSES)
    assert str(caught.value) == (
        "Pod default/a: field spec.priorityClassName: there is no PriorityClass 'gold'; "
        "create it, or use one that exists"
    )


def test_an_impossible_amount_is_an_error_that_names_object_and_field() -> None:
    with pytest.raises(
        InputError, match=r"^Pod default/a: field spec\.overhead\[cpu\]: 'lots' is not a valid "
    ):
        stored(pod(overhead={"cpu": "lots"}))
    node = Node.from_dict({"metadata": {"name": "n"}, "status": {"capacity": {"cpu": ""}}})
    with pytest.raises(
        InputError,
        match=(
            r"^Node n: field status\.capacity\[cpu\]: '' is not a "
            r"valid "
        ),
    ):
        Defaults().apply(node)


def test_allocatable_comes_from_capacity_only_if_it_is_absent() -> None:
    capacity = {"cpu": "4", "memory": "1.0001"}
    node = Defaults().apply(Node.from_dict({"status": {"capacity": capacity}}))
    assert node.status.allocatable == {"cpu": "4", "memory": "1001m"}
    node = Defaults().apply(Node.from_dict({"status": {"capacity": capacity, "allocatable": {}}}))
    assert node.status.allocatable == {}


def test_a_namespace_is_labelled_with_its_name() -> None:
    written = {"metadata": {"name": "a", "labels": {"kubernetes.io/metadata.name": "b", "c": "d"}}}
    found = Defaults().apply(Namespace.from_dict(written))
    assert found.labels == {"kubernetes.io/metadata.name": "a", "c": "d"}


def test_a_replication_controller_selects_what_its_template_makes() -> None:
    written = {"spec": {"template": {"metadata": {"labels": {"app": "x"}}}}}
    found = Defaults().apply(ReplicationController.from_dict(written))
    assert (found.spec.selector, found.labels) == ({"app": "x"}, {"app": "x"})
