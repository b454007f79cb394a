from typing import Any

import pytest

from mooring import InputError, Node, Pod
from mooring.model.kinds import BY_LIST_NAME, BY_NAME, BY_TYPE, KINDS, find_kind, read_objects
from mooring.model.workloads import PodDisruptionBudget


def test_every_kind_has_its_own_name_and_path() -> None:
    assert len(KINDS) == len(BY_NAME) == len(BY_LIST_NAME) == len(BY_TYPE) == 16
    assert len({(kind.group, kind.resource) for kind in KINDS}) == 16
    assert all(
        kind.resource == kind.name.lower() + "s" for kind in KINDS if kind.name[-1] not in "sy"
    )


def test_lists_have_the_names_of_the_vectors() -> None:
    assert set(BY_LIST_NAME) == {
        "nodes", "pods", "namespaces", "services", "replicaSets", "statefulSets",
        "replicationControllers", "pvcs", "pvs", "storageClasses", "csiNodes", "csiDrivers",
        "csiStorageCapacities", "volumeAttachments", "pdbs", "priorityClasses",
    }  # fmt: skip


def test_only_kinds_without_a_namespace_are_marked_so() -> None:
    assert {kind.name for kind in KINDS if not kind.type.namespaced} == {
        "Node", "Namespace", "PriorityClass", "PersistentVolume", "StorageClass", "CSINode",
        "CSIDriver", "VolumeAttachment",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "version", "found"),
    [
        ("Pod", "v1", "Pod"),
        ("Pod", "", "Pod"),
        ("Pod", "v2", "Pod"),
        ("Pod", "metrics.k8s.io/v1", None),
        ("PodDisruptionBudget", "policy/v1beta1", "PodDisruptionBudget"),
        ("PodDisruptionBudget", "v1", None),
        ("ReplicaSet", "apps/v1", "ReplicaSet"),
        ("CSINode", "storage.k8s.io/v1", "CSINode"),
        ("Service", "serving.knative.dev/v1", None),
        ("ConfigMap", "v1", None),
    ],
)
def test_a_kind_is_found_by_name_and_group(name: str, version: str, found: str | None) -> None:
    kind = find_kind(name, version)
    assert (kind.name if kind is not None else None) == found


def test_objects_are_read_from_lists_of_lists() -> None:
    pod = {"metadata": {"name": "a"}}
    data: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}},
            {"apiVersion": "v1", "kind": "PodList", "items": [pod, {**pod, "kind": "Pod"}]},
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}},
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudgetList", "items": [pod]},
            {"apiVersion": "v1", "kind": "ServiceList", "items": None},
        ],
    }
    found = list(read_objects(data))
    assert [type(one) for one in found] == [Pod, Pod, Node, PodDisruptionBudget]
    assert [one.key for one in found] == ["default/a", "default/a", "n", "default/a"]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ([], "a Kubernetes object is expected, and this is list"),
        (None, "a Kubernetes object is expected, and this is NoneType"),
        ({"metadata": {"name": "a"}}, "has no apiVersion and kind; write for example"),
        ({"kind": 7}, "has no apiVersion and kind"),
        ({"kind": "Pod", "apiVersion": 1}, "has no apiVersion and kind"),
        ({"kind": "List", "items": ["x"]}, "a Kubernetes object is expected, and this is str"),
        (
            {"kind": "List", "items": [{"kind": "Pod", "metadata": {"name": "a"}, "spec": 7}]},
            "Pod default/a cannot be read: field spec: Expected `object`, got `int`",
        ),
    ],
)
def test_what_is_no_object_is_an_error(data: object, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        list(read_objects(data))
    assert sentence in str(caught.value)
