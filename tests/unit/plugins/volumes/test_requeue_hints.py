"""What helps pods that were rejected because of their volumes."""

from typing import Any

import pytest

from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.plugins.volumes.node_volume_limits import NodeVolumeLimits
from mooring.plugins.volumes.volume_binding import VolumeBinding
from mooring.plugins.volumes.volume_restrictions import VolumeRestrictions
from mooring.plugins.volumes.volume_zone import VolumeZone
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import with_status
from tests.unit.plugins.requeueing import plugin_on, requeues
from tests.unit.plugins.volumes.volume_objects import (
    DRIVER,
    ZONE,
    attachment,
    capacity,
    claim,
    csi_node,
    driver,
    pod_with,
    storage_class,
    volume,
)

POD = pod_with("data", name="p")
OWN: dict[str, Any] = {"ephemeral": {}}
EPHEMERAL = pod_with(OWN, name="p")
DISK = {"gcePersistentDisk": {"pdName": "d"}}
READ_ONLY = {"gcePersistentDisk": {"pdName": "d", "readOnly": True}}


@pytest.mark.parametrize("plugin", [VolumeBinding, VolumeZone], ids=lambda kind: kind.name)
def test_new_nodes_and_other_labels_of_nodes_help(plugin: type[VolumeBinding | VolumeZone]) -> None:
    made = plugin_on(plugin)
    assert requeues(made, POD, None, make_node("n")) is True
    assert requeues(made, POD, make_node("n"), make_node("n", labels={"a": "b"})) is True
    assert requeues(made, POD, make_node("n"), make_node("n", cpu="9")) is None
    assert requeues(made, POD, make_node("n"), None) is None


@pytest.mark.parametrize(
    ("thing", "expected"),
    [
        (claim("data"), True),
        (claim("other"), False),
        (claim("data", namespace="elsewhere"), False),
    ],
)
def test_the_claim_that_a_pod_names_helps(thing: KubeObject, expected: bool) -> None:
    for kind in (VolumeBinding, VolumeZone):
        plugin = plugin_on(kind)
        assert requeues(plugin, POD, None, thing) is expected
        assert requeues(plugin, POD, thing, thing.from_dict(thing.raw)) is expected
        assert requeues(plugin, POD, thing, None) is None
    for kind_of_new_ones in (VolumeRestrictions, NodeVolumeLimits):
        plugin = plugin_on(kind_of_new_ones)
        assert requeues(plugin, POD, None, thing) is expected
        assert requeues(plugin, POD, thing, thing.from_dict(thing.raw)) is None


def test_a_claim_that_is_made_for_the_pod_helps_where_such_claims_count() -> None:
    made_for_it = claim("p-v0")
    assert requeues(plugin_on(VolumeBinding), EPHEMERAL, None, made_for_it) is True
    assert requeues(plugin_on(NodeVolumeLimits), EPHEMERAL, None, made_for_it) is True
    assert requeues(plugin_on(VolumeZone), EPHEMERAL, None, made_for_it) is False
    assert requeues(plugin_on(VolumeRestrictions), EPHEMERAL, None, made_for_it) is False


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, storage_class("c"), True),
        (storage_class("c"), storage_class("c"), False),
        (storage_class("c"), storage_class("c", allowedTopologies=[]), False),
        (
            storage_class("c"),
            storage_class(
                "c",
                allowedTopologies=[{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}],
            ),
            True,
        ),
        (storage_class("c"), None, None),
        (None, volume("v"), True),
        (volume("v"), volume("v", phase="Bound"), True),
        (volume("v"), None, None),
        (None, csi_node("n", {}), True),
        (csi_node("n", {}), csi_node("n", {DRIVER: 3}), False),
        (csi_node("n", {}), csi_node("n", {}, migrated="kubernetes.io/gce-pd"), True),
        (None, capacity("s", "c", "1Gi", {}), True),
        (capacity("s", "c", "1Gi", {}), capacity("s", "c", "2Gi", {}), True),
        (capacity("s", "c", "2Gi", {}), capacity("s", "c", "1Gi", {}), False),
        (capacity("s", "c", None, {}), capacity("s", "c", "1Gi", {}), True),
        (capacity("s", "c", "1Gi", {}), capacity("s", "c", None, {}), False),
        (capacity("s", "c", "9Gi", {}, "1Gi"), capacity("s", "c", "5Gi", {}, "2Gi"), True),
        (None, driver(DRIVER, capacity=True), None),
        (driver(DRIVER, capacity=True), driver(DRIVER, capacity=False), True),
        (driver(DRIVER, capacity=False), driver(DRIVER, capacity=True), False),
        (driver(DRIVER, capacity=False), driver(DRIVER, capacity=False), False),
    ],
)
def test_whatever_lets_a_volume_be_bound_helps(
    old: KubeObject | None, new: KubeObject | None, expected: bool | None
) -> None:
    assert requeues(plugin_on(VolumeBinding), POD, old, new) is expected


def test_capacity_matters_to_claims_and_to_volumes_of_the_same_driver() -> None:
    plugin = plugin_on(VolumeBinding)
    change = driver(DRIVER, capacity=True), driver(DRIVER, capacity=False)
    assert requeues(plugin, pod_with({"csi": {"driver": DRIVER}}), *change) is True
    assert requeues(plugin, pod_with({"csi": {"driver": "other"}}), *change) is False
    assert requeues(plugin, make_pod("p"), *change) is False


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, storage_class("c"), True),
        (None, storage_class("c", waits=False), False),
        (storage_class("c", waits=False), storage_class("c"), None),
        (None, volume("v"), True),
        (volume("v"), volume("v", phase="Bound"), False),
        (volume("v"), volume("v", labels={ZONE: "a"}), True),
        (volume("v", labels={ZONE: "a"}), volume("v", labels={ZONE: "a__b"}), True),
        (volume("v", labels={ZONE: "b__a"}), volume("v", labels={ZONE: "a__b"}), False),
        (volume("v", labels={ZONE: "a__"}), volume("v", labels={ZONE: "b__"}), False),
        (volume("v", labels={ZONE: "a"}), None, None),
    ],
)
def test_other_zones_of_volumes_and_classes_that_wait_help(
    old: KubeObject | None, new: KubeObject | None, expected: bool | None
) -> None:
    assert requeues(plugin_on(VolumeZone), POD, old, new) is expected


def gone(*sources: dict[str, Any] | str, **more: Any) -> Pod:
    return pod_with(*sources, name="q", **{"node": "n", **more})


@pytest.mark.parametrize(
    ("waiting", "old", "expected"),
    [
        (pod_with(DISK), gone(DISK), True),
        (pod_with(DISK), gone(READ_ONLY), True),
        (pod_with(READ_ONLY), gone(READ_ONLY), False),
        (pod_with(DISK), gone({"gcePersistentDisk": {"pdName": "e"}}), False),
        (pod_with(DISK), gone(DISK, namespace="elsewhere"), True),
        (POD, gone("data"), True),
        (POD, gone("other"), False),
        (POD, gone("data", namespace="elsewhere"), False),
        (POD, make_pod("q", node="n"), False),
    ],
)
def test_a_pod_that_had_the_disk_or_the_claim_helps_by_leaving(
    waiting: Pod, old: Pod, expected: bool
) -> None:
    assert requeues(plugin_on(VolumeRestrictions), waiting, old, None) is expected


def test_a_new_node_has_no_disks() -> None:
    plugin = plugin_on(VolumeRestrictions)
    assert requeues(plugin, POD, None, make_node("n")) is True
    assert requeues(plugin, POD, make_node("n"), make_node("n", labels={"a": "b"})) is None


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, csi_node("n", {}), True),
        (csi_node("n", {}), csi_node("n", {DRIVER: 1}), True),
        (csi_node("n", {DRIVER: 1}), csi_node("n", {DRIVER: 2}), True),
        (csi_node("n", {DRIVER: 2}), csi_node("n", {DRIVER: 1}), False),
        (csi_node("n", {DRIVER: 2}), csi_node("n", {DRIVER: 1, "other": 1}), True),
        (csi_node("n", {DRIVER: 2}), None, None),
        (gone("data"), None, True),
        (gone("other"), None, True),
        (gone(OWN), None, True),
        (gone(DISK), None, True),
        (gone({"csi": {"driver": DRIVER}}), None, False),
        (make_pod("q", node="n"), None, False),
        (gone("data", node=""), None, False),
        (with_status(gone("data", node=""), nominatedNodeName="n"), None, True),
        (attachment("a", "n", "v"), None, True),
        (None, attachment("a", "n", "v"), None),
    ],
)
def test_whatever_leaves_room_for_volumes_helps(
    old: KubeObject | None, new: KubeObject | None, expected: bool | None
) -> None:
    assert requeues(plugin_on(NodeVolumeLimits), POD, old, new) is expected


@pytest.mark.parametrize(
    ("waiting", "attacher", "expected"),
    [
        (EPHEMERAL, DRIVER, True),
        (pod_with(DISK), "pd.csi.storage.gke.io", True),
        (pod_with(DISK), DRIVER, False),
        (pod_with({"azureDisk": {"diskURI": "d", "kind": "Shared"}}), DRIVER, True),
        (pod_with({"azureDisk": {"diskURI": "d", "kind": "Managed"}}), DRIVER, False),
        (make_pod("p"), DRIVER, False),
    ],
)
def test_a_volume_that_is_detached_helps_pods_with_volumes_of_the_driver(
    waiting: Pod, attacher: str, expected: bool
) -> None:
    detached = attachment("a", "n", "v", attacher)
    assert requeues(plugin_on(NodeVolumeLimits), waiting, detached, None) is expected
