from typing import Any

import pytest

from mooring import Node, Pod
from mooring.model.checks import check_object
from mooring.model.kinds import BY_NAME
from tests.unit.model.golden import rows

BAD = "is not a valid quantity"


def problems(kind: str, **fields: Any) -> list[str]:
    thing = BY_NAME[kind].type.from_dict({"metadata": {"name": "a"}, **fields})
    start = f"{kind} {thing.key}: field "
    found = check_object(thing)
    assert all(sentence.startswith(start) for sentence in found)
    return [sentence.removeprefix(start) for sentence in found]


def selector_problems(selector: dict[str, Any]) -> list[str]:
    found = problems("ReplicaSet", spec={"selector": selector})
    return [sentence.removeprefix("spec.selector.") for sentence in found]


def term_problems(term: dict[str, Any]) -> list[str]:
    affinity = {"required": {"nodeSelectorTerms": [{}, term]}}
    found = problems("PersistentVolume", spec={"nodeAffinity": affinity})
    path = "spec.nodeAffinity.required.nodeSelectorTerms[1]."
    return [sentence.removeprefix(path) for sentence in found]


def test_good_objects_have_no_problems() -> None:
    for pod, _ in rows("pod_requests"):
        assert check_object(Pod.from_dict(pod)) == []
    for name, written, _ in rows("defaults"):
        kind = next(kind for kind in BY_NAME.values() if kind.list_name == name)
        assert check_object(kind.type.from_dict(written)) == []


def test_the_sentence_names_object_field_and_what_to_write() -> None:
    pod = Pod.from_dict(
        {
            "metadata": {"name": "web-1", "namespace": "shop"},
            "spec": {"containers": [{}, {"resources": {"requests": {"nvidia.com/gpu": "two"}}}]},
        }
    )
    (sentence,) = check_object(pod)
    assert sentence == (
        "Pod shop/web-1: field spec.containers[1].resources.requests[nvidia.com/gpu]: 'two' is "
        "not a valid quantity; use a number with an optional suffix, such as 500m, 1.5 or 2Gi"
    )


def test_every_amount_that_scheduling_reads_is_checked() -> None:
    bad = {"cpu": "1", "memory": "x"}
    both = {"requests": bad, "limits": bad}
    statuses = [{"name": "a", "resources": both, "allocatedResources": bad}]
    spec = {"initContainers": [{"resources": both}], "overhead": bad, "resources": both}
    status = {
        "containerStatuses": statuses,
        "initContainerStatuses": statuses,
        "resources": both,
        "allocatedResources": bad,
    }
    found = problems("Pod", spec=spec, status=status)
    assert all(BAD in sentence for sentence in found)
    assert [sentence.partition(": ")[0] for sentence in found] == [
        "spec.initContainers[0].resources.requests[memory]",
        "spec.initContainers[0].resources.limits[memory]",
        "spec.overhead[memory]",
        "spec.resources.requests[memory]",
        "spec.resources.limits[memory]",
        "status.containerStatuses[0].resources.requests[memory]",
        "status.containerStatuses[0].resources.limits[memory]",
        "status.containerStatuses[0].allocatedResources[memory]",
        "status.initContainerStatuses[0].resources.requests[memory]",
        "status.initContainerStatuses[0].resources.limits[memory]",
        "status.initContainerStatuses[0].allocatedResources[memory]",
        "status.resources.requests[memory]",
        "status.resources.limits[memory]",
        "status.allocatedResources[memory]",
    ]
    for kind, fields, path in (
        ("Node", {"status": {"capacity": bad}}, "status.capacity[memory]"),
        ("Node", {"status": {"allocatable": bad}}, "status.allocatable[memory]"),
        ("PersistentVolume", {"spec": {"capacity": {"storage": ""}}}, "spec.capacity[storage]"),
        (
            "PersistentVolumeClaim",
            {"spec": {"resources": {"requests": {"storage": "x"}}}},
            "spec.resources.requests[storage]",
        ),
        ("CSIStorageCapacity", {"capacity": ""}, "capacity"),
        ("CSIStorageCapacity", {"maximumVolumeSize": "x"}, "maximumVolumeSize"),
    ):
        (sentence,) = problems(kind, **fields)
        assert sentence.startswith(f"{path}: ")
        assert BAD in sentence


@pytest.mark.parametrize(
    ("requirement", "problem"),
    [
        (
            {"operator": "Is"},
            "operator: 'Is' is not supported; use one of In, NotIn, Exists, DoesNotExist",
        ),
        ({"operator": "Gt", "values": ["1"]}, "operator: 'Gt' is not supported"),
        ({"operator": "In"}, "values: In needs at least one value"),
        ({"operator": "NotIn", "values": []}, "values: NotIn needs at least one value"),
        ({"operator": "Exists", "values": ["a"]}, "values: Exists takes no values"),
        ({"operator": "In", "values": ["a", "-b"]}, "values[1]: '-b' is not a valid label value"),
        ({"key": "a b", "operator": "Exists"}, "key: 'a b' is not a valid label key"),
        ({"key": "", "operator": "Exists"}, "key: '' is not a valid label key"),
        ({"key": "x" * 64, "operator": "Exists"}, "is not a valid label key"),
        ({"key": "Rack.example/x", "operator": "Exists"}, "is not a valid label key"),
        ({"key": "/x", "operator": "Exists"}, "is not a valid label key"),
    ],
)
def test_a_label_selector_is_rejected_where_kubernetes_rejects_it(
    requirement: dict[str, Any], problem: str
) -> None:
    (sentence,) = selector_problems({"matchExpressions": [{"key": "app", **requirement}]})
    assert sentence.startswith("matchExpressions[0].")
    assert problem in sentence


def test_plain_labels_of_a_selector_are_checked() -> None:
    assert selector_problems({"matchLabels": {"a/b": "", "x": "ok"}}) == []
    (sentence,) = selector_problems({"matchLabels": {"app": "no good"}})
    assert sentence.startswith("matchLabels[app]: 'no good' is not a valid label value; use ")


@pytest.mark.parametrize(
    ("requirement", "problem"),
    [
        ({"operator": "is"}, "operator: 'is' is not supported; use one of In, NotIn, Exists"),
        ({"operator": "Gt"}, "values: Gt needs exactly one integer"),
        ({"operator": "Lt", "values": ["1", "2"]}, "values: Lt needs exactly one integer"),
        ({"operator": "Lt", "values": ["1.5"]}, "values: Lt needs exactly one integer"),
        ({"operator": "Gt", "values": ["9223372036854775808"]}, "values: Gt needs exactly one"),
    ],
)
def test_a_node_selector_is_rejected_where_kubernetes_rejects_it(
    requirement: dict[str, Any], problem: str
) -> None:
    (sentence,) = term_problems({"matchExpressions": [{"key": "app", **requirement}]})
    assert sentence.startswith(f"matchExpressions[0].{problem}")
    good = {"key": "app", "operator": "Gt", "values": ["9223372036854775807"]}
    assert term_problems({"matchExpressions": [good]}) == []


@pytest.mark.parametrize(
    ("field", "problem"),
    [
        (
            {"key": "spec.x", "operator": "In", "values": ["a"]},
            "key: 'spec.x' is not supported; use ",
        ),
        ({"operator": "Exists"}, "operator: 'Exists' is not supported; use one of In, NotIn"),
        ({"operator": "In", "values": ["a", "b"]}, "values: In takes exactly one value here"),
        ({"operator": "NotIn"}, "values: NotIn takes exactly one value here"),
    ],
)
def test_a_field_selector_takes_one_node_name(field: dict[str, Any], problem: str) -> None:
    (sentence,) = term_problems({"matchFields": [{"key": "metadata.name", **field}]})
    assert sentence.startswith(f"matchFields[0].{problem}")


def test_all_selectors_of_a_pod_are_checked() -> None:
    bad = {"matchLabels": {"a b": "x"}}
    term = {"topologyKey": "zone", "labelSelector": bad, "namespaceSelector": bad}
    node_term = {"matchExpressions": [{"key": "a", "operator": "?"}]}
    pods = {
        "requiredDuringSchedulingIgnoredDuringExecution": [term],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"podAffinityTerm": term}],
    }
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [node_term]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"preference": node_term}],
        },
        "podAffinity": pods,
        "podAntiAffinity": pods,
    }
    spread = [{"topologyKey": "zone", "labelSelector": bad}]
    spec = {"affinity": affinity, "topologySpreadConstraints": spread}
    paths = [sentence.partition(": ")[0] for sentence in problems("Pod", spec=spec)]
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    assert paths == [
        f"spec.affinity.nodeAffinity.{required}.nodeSelectorTerms[0].matchExpressions[0].operator",
        f"spec.affinity.nodeAffinity.{preferred}[0].preference.matchExpressions[0].operator",
        *(
            f"spec.affinity.{which}.{place}.{selector}.matchLabels[a b]"
            for which in ("podAffinity", "podAntiAffinity")
            for place in (f"{required}[0]", f"{preferred}[0].podAffinityTerm")
            for selector in ("labelSelector", "namespaceSelector")
        ),
        "spec.topologySpreadConstraints[0].labelSelector.matchLabels[a b]",
    ]


def test_topologies_of_a_storage_class_need_values() -> None:
    expressions = [{"key": "zone", "values": ["a"]}, {"key": "zone"}]
    found = problems("StorageClass", allowedTopologies=[{"matchLabelExpressions": expressions}])
    assert found == [
        "allowedTopologies[0].matchLabelExpressions[1].values: In needs at least one value"
    ]


def test_kinds_without_anything_to_check_have_no_problems() -> None:
    assert problems("Namespace", metadata={"name": "a", "labels": {"a b": "c d"}}) == []
    assert check_object(Node()) == []


def test_more_selectors_than_are_remembered_are_still_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mooring.model.checks._REMEMBERED", 2)
    for number in range(5):
        assert selector_problems({"matchLabels": {"n": str(number)}}) == []
        assert len(selector_problems({"matchLabels": {"n": f"-{number}"}})) == 1
