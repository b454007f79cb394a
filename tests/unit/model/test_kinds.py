import pytest

from mooring.model.kinds import BY_LIST_NAME, BY_NAME, KINDS, find_kind


def test_every_kind_has_its_own_name_and_path() -> None:
    assert len(KINDS) == len(BY_NAME) == len(BY_LIST_NAME) == 20
    assert len({(kind.group, kind.resource) for kind in KINDS}) == 20
    assert all(
        kind.resource == kind.name.lower() + "s" for kind in KINDS if kind.name[-1] not in "sy"
    )


def test_lists_have_the_names_of_the_vectors() -> None:
    assert set(BY_LIST_NAME) == {
        "nodes", "pods", "namespaces", "services", "replicaSets", "statefulSets",
        "replicationControllers", "pvcs", "pvs", "storageClasses", "csiNodes", "csiDrivers",
        "csiStorageCapacities", "volumeAttachments", "pdbs", "priorityClasses",
        "deviceClasses", "resourceSlices", "resourceClaimTemplates", "resourceClaims",
    }  # fmt: skip


def test_only_kinds_without_a_namespace_are_marked_so() -> None:
    assert {kind.name for kind in KINDS if not kind.type.namespaced} == {
        "Node", "Namespace", "PriorityClass", "PersistentVolume", "StorageClass", "CSINode",
        "CSIDriver", "VolumeAttachment", "DeviceClass", "ResourceSlice",
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
        ("DeviceClass", "resource.k8s.io/v1", "DeviceClass"),
        ("ResourceClaim", "resource.k8s.io/v1", "ResourceClaim"),
        ("Service", "serving.knative.dev/v1", None),
        ("ConfigMap", "v1", None),
    ],
)
def test_a_kind_is_found_by_name_and_group(name: str, version: str, found: str | None) -> None:
    kind = find_kind(name, version)
    assert (kind.name if kind is not None else None) == found
