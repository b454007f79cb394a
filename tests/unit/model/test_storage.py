from typing import Any

import pytest

from mooring.errors import QuantityError
from mooring.model.meta import KubeObject
from mooring.model.quantity import Quantity
from mooring.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
    default_storage,
)

CLASS = "volume.beta.kubernetes.io/storage-class"
GIB = Quantity(2**30 * 10**9)


def claim(spec: dict[str, Any] | None = None, **metadata: Any) -> PersistentVolumeClaim:
    return PersistentVolumeClaim.from_dict(
        {"metadata": {"name": "c", **metadata}, "spec": spec or {}}
    )


def volume(spec: dict[str, Any] | None = None, **metadata: Any) -> PersistentVolume:
    return PersistentVolume.from_dict({"metadata": {"name": "v", **metadata}, "spec": spec or {}})


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        (PersistentVolumeClaim, "ns/x"),
        (CSIStorageCapacity, "ns/x"),
        (PersistentVolume, "x"),
        (StorageClass, "x"),
        (CSINode, "x"),
        (CSIDriver, "x"),
        (VolumeAttachment, "x"),
    ],
)
def test_only_claims_and_capacities_live_in_namespaces(kind: type[KubeObject], key: str) -> None:
    assert kind.from_dict({"metadata": {"name": "x", "namespace": "ns"}}).key == key
    assert kind.kind_name == kind.__name__


class TestClaim:
    def test_the_old_annotation_for_the_class_comes_first(self) -> None:
        assert claim().class_name == ""
        assert claim({"storageClassName": "new"}).class_name == "new"
        both = claim({"storageClassName": "new"}, annotations={CLASS: "old"})
        assert both.class_name == "old"
        assert claim({"storageClassName": "new"}, annotations={CLASS: ""}).class_name == ""

    def test_request(self) -> None:
        assert claim({"resources": {"requests": {"storage": "1Gi"}}}).request == GIB
        assert claim({"resources": {}}).request is None
        assert claim().request is None
        with pytest.raises(QuantityError):
            _ = claim({"resources": {"requests": {"storage": "much"}}}).request

    def test_bound_needs_a_volume_and_the_mark(self) -> None:
        mark = {"pv.kubernetes.io/bind-completed": ""}
        assert claim({"volumeName": "v"}, annotations=mark).bound
        assert not claim({"volumeName": "v"}).bound
        assert not claim(annotations=mark).bound

    def test_it_is_for_the_pod_that_controls_it(self) -> None:
        owners = [{"kind": "X", "uid": "1"}, {"kind": "Pod", "uid": "2", "controller": True}]
        mine = claim(namespace="ns", ownerReferences=owners)
        assert mine.is_for("ns", "2")
        assert not mine.is_for("ns", "1")
        assert not mine.is_for("other", "2")
        assert not claim(namespace="ns").is_for("ns", "2")


class TestVolume:
    def test_class_and_capacity(self) -> None:
        assert volume({"storageClassName": "new"}, annotations={CLASS: "old"}).class_name == "old"
        assert volume({"storageClassName": "new"}).class_name == "new"
        assert volume({"capacity": {"storage": "1Gi"}}).capacity == GIB
        assert volume().capacity == Quantity(0)

    @pytest.mark.parametrize(
        ("reference", "meant"),
        [
            (None, False),
            ({"namespace": "ns", "name": "c"}, True),
            ({"namespace": "ns", "name": "c", "uid": "1"}, True),
            ({"namespace": "ns", "name": "c", "uid": "2"}, False),
            ({"namespace": "other", "name": "c"}, False),
            ({"namespace": "ns", "name": "d"}, False),
        ],
    )
    def test_for_which_claim_it_is_meant(self, reference: Any, meant: bool) -> None:
        mine = claim(namespace="ns", uid="1")
        assert volume({"claimRef": reference}).is_meant_for(mine) is meant

    def test_node_selector(self) -> None:
        assert volume().node_selector is None
        assert volume({"nodeAffinity": {}}).node_selector is None
        terms: dict[str, Any] = {"required": {"nodeSelectorTerms": []}}
        assert volume({"nodeAffinity": terms}).node_selector is not None


def test_a_csi_nodes_limits_and_migrated_plugins() -> None:
    node = CSINode.from_dict(
        {
            "metadata": {
                "name": "n",
                "annotations": {"storage.alpha.kubernetes.io/migrated-plugins": "a,b"},
            },
            "spec": {
                "drivers": [
                    {"name": "x", "allocatable": {"count": 0}},
                    {"name": "y", "allocatable": {}},
                    {"name": "z"},
                ]
            },
        }
    )
    assert node.limits == {"x": 0}
    assert node.migrated == {"a", "b"}
    bare = CSINode.from_dict({"metadata": {"name": "n"}})
    assert bare.limits == {}
    assert bare.migrated == frozenset()


@pytest.mark.parametrize(
    ("sizes", "limit"),
    [
        ({}, None),
        ({"capacity": "1Ki"}, 1024),
        ({"capacity": "1500m"}, 2),
        ({"capacity": "1Ki", "maximumVolumeSize": "10"}, 10),
        ({"capacity": "1Ki", "maximumVolumeSize": None}, 1024),
    ],
)
def test_the_largest_volume_of_a_capacity(sizes: dict[str, Any], limit: int | None) -> None:
    assert CSIStorageCapacity.from_dict({"metadata": {"name": "x"}, **sizes}).limit == limit


class TestDefaults:
    def test_claims_and_volumes(self) -> None:
        for made in (default_storage(claim()), default_storage(volume())):
            assert made.spec.volume_mode == "Filesystem"
            assert made.status.phase == "Pending"
            assert default_storage(made) is made

    def test_what_is_given_stays(self) -> None:
        given = PersistentVolume.from_dict(
            {"metadata": {"name": "v"}, "spec": {"volumeMode": "Block"}, "status": {"phase": "X"}}
        )
        assert default_storage(given) is given

    def test_azure_disks_are_shared(self) -> None:
        made = default_storage(volume({"azureDisk": {"diskURI": "u"}}))
        assert made.spec.azure_disk is not None
        assert made.spec.azure_disk.kind == "Shared"
        managed = default_storage(volume({"azureDisk": {"kind": "Managed"}}))
        assert managed.spec.azure_disk is not None
        assert managed.spec.azure_disk.kind == "Managed"

    def test_classes_bind_at_once(self) -> None:
        made = default_storage(StorageClass.from_dict({"metadata": {"name": "c"}}))
        assert made.volume_binding_mode == "Immediate"
        assert not made.waits_for_first_consumer
        late = StorageClass.from_dict(
            {"metadata": {"name": "c"}, "volumeBindingMode": "WaitForFirstConsumer"}
        )
        assert default_storage(late) is late
        assert late.waits_for_first_consumer

    def test_drivers_do_not_count_capacity(self) -> None:
        made = default_storage(CSIDriver.from_dict({"metadata": {"name": "d"}}))
        assert made.spec.storage_capacity is False
        assert default_storage(made) is made

    def test_other_kinds_are_left_alone(self) -> None:
        node = CSINode.from_dict({"metadata": {"name": "n"}})
        assert default_storage(node) is node
