from typing import Any

import pytest

from mooring.framework.hook import SKIP
from mooring.framework.verdict import ACCEPT, Verdict
from mooring.plugins.volumes.volume_restrictions import VolumeRestrictions
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import accepted, begin, cluster_of, filtered, pre_filtered
from tests.unit.plugins.volumes.volume_objects import claim, pod_with

NODES = (make_node("a"), make_node("b"))
ONCE = ("ReadWriteOncePod",)
TAKEN = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "
    "in-use by another pod"
)


def gce(*, read_only: bool = False) -> dict[str, Any]:
    return {"gcePersistentDisk": {"pdName": "d", "readOnly": read_only}}


def iscsi(*, read_only: bool = False) -> dict[str, Any]:
    return {"iscsi": {"iqn": "iqn", "readOnly": read_only}}


def rbd(
    *monitors: str, pool: str = "rbd", image: str = "i", read_only: bool = False
) -> dict[str, Any]:
    return {"rbd": {"monitors": monitors, "pool": pool, "image": image, "readOnly": read_only}}


def aws(volume: str = "vol-1", *, read_only: bool = False) -> dict[str, Any]:
    return {"awsElasticBlockStore": {"volumeID": volume, "readOnly": read_only}}


@pytest.mark.parametrize(
    ("wanted", "there", "conflict"),
    [
        (gce(), gce(), True),
        (gce(read_only=True), gce(), True),
        (gce(read_only=True), gce(read_only=True), False),
        (gce(), {"gcePersistentDisk": {"pdName": "other"}}, False),
        (gce(), iscsi(), False),
        (iscsi(), iscsi(read_only=True), True),
        (iscsi(read_only=True), iscsi(read_only=True), False),
        (aws(), aws(), True),
        (aws(read_only=True), aws(read_only=True), True),
        (aws(), aws("vol-2"), False),
        (rbd("m1", "m2"), rbd("m2", "m3"), True),
        (rbd("m1"), rbd("m2"), False),
        (rbd("m1"), rbd("m1", pool="other"), False),
        (rbd("m1"), rbd("m1", image="other"), False),
        (rbd("m1", read_only=True), rbd("m1", read_only=True), False),
    ],
)
def test_disks_conflict_on_their_node(
    wanted: dict[str, Any], there: dict[str, Any], conflict: bool
) -> None:
    cluster = cluster_of(*NODES, pod_with(there, name="there", node="a"))
    rejection = Verdict(accepted=False, reason="node(s) had no available disk")
    assert filtered(VolumeRestrictions(), cluster, pod_with(wanted)) == {
        "a": rejection if conflict else ACCEPT,
        "b": ACCEPT,
    }


def test_a_disk_is_free_again_when_its_pod_is_gone_and_taken_where_it_comes() -> None:
    plugin, pod = VolumeRestrictions(), pod_with(gce())
    cluster = cluster_of(*NODES, pod_with(gce(), name="there", node="a"))
    assert accepted(plugin, cluster, pod) == ["b"]
    cluster.put(pod_with(gce(), name="there", node="b"))
    assert accepted(plugin, cluster, pod) == ["a"]
    cluster.remove_pod("default/there")
    assert accepted(plugin, cluster, pod) == ["a", "b"]


def test_rows_that_move_take_their_disks_along() -> None:
    plugin, pod = VolumeRestrictions(), pod_with(gce())
    cluster = cluster_of(*NODES, make_node("c"), pod_with(gce(), name="there", node="c"))
    assert accepted(plugin, cluster, pod) == ["a", "b"]
    cluster.remove_node("a")
    assert accepted(plugin, cluster, pod) == ["b"]
    assert accepted(plugin, cluster, pod, ["c"]) == []


def test_another_cluster_has_other_disks() -> None:
    plugin, pod = VolumeRestrictions(), pod_with(gce())
    assert accepted(plugin, cluster_of(*NODES, pod_with(gce(), name="x", node="a")), pod) == ["b"]
    assert accepted(plugin, cluster_of(*NODES), pod) == ["a", "b"]


def test_an_exclusive_claim_in_use_rejects_every_node_but_preemption_may_help() -> None:
    cluster = cluster_of(*NODES, claim(modes=ONCE), pod_with("claim", name="there", node="a"))
    rejection = Verdict(accepted=False, reason=TAKEN)
    pod = pod_with("claim")
    assert filtered(VolumeRestrictions(), cluster, pod) == {"a": rejection, "b": rejection}


def test_an_exclusive_claim_that_nobody_uses_is_no_trouble() -> None:
    cluster = cluster_of(*NODES, claim(modes=ONCE), make_pod("there", node="a"))
    assert pre_filtered(VolumeRestrictions(), cluster, pod_with("claim")) is SKIP


def test_a_claim_of_another_namespace_is_another_claim() -> None:
    other = pod_with("claim", name="there", node="a", namespace="other")
    cluster = cluster_of(*NODES, claim(modes=ONCE), claim(modes=ONCE, namespace="other"), other)
    assert pre_filtered(VolumeRestrictions(), cluster, pod_with("claim")) is SKIP


def test_shared_claims_are_no_trouble() -> None:
    cluster = cluster_of(*NODES, claim(), pod_with("claim", name="there", node="a"))
    assert pre_filtered(VolumeRestrictions(), cluster, pod_with("claim")) is SKIP


def test_a_claim_that_does_not_exist_rejects_the_pod() -> None:
    answer = pre_filtered(VolumeRestrictions(), cluster_of(*NODES), pod_with("claim"))
    assert answer == Verdict(
        accepted=False, reason='persistentvolumeclaim "claim" not found', unresolvable=True
    )


def test_pods_without_such_volumes_are_none_of_its_business() -> None:
    cluster = cluster_of(*NODES)
    assert pre_filtered(VolumeRestrictions(), cluster, make_pod()) is SKIP
    assert pre_filtered(VolumeRestrictions(), cluster, pod_with({"emptyDir": {}})) is SKIP


def test_what_ifs_count_uses_by_name_whatever_the_namespace() -> None:
    user = pod_with("claim", name="user", node="a")
    cluster = cluster_of(*NODES, claim(modes=ONCE), user)
    plugin, pod = VolumeRestrictions(), pod_with("claim")
    cycle = begin(cluster, pod)
    plugin.pre_filter(cycle)

    def free() -> bool:
        return bool(plugin.filter_nodes(pod, cycle.nodes)[0])

    assert not free()
    plugin.remove_pod(cycle, user, 0)
    assert free()
    stranger = pod_with("claim", name="stranger", namespace="other")
    plugin.add_pod(cycle, stranger, 1)
    assert not free()
    plugin.remove_pod(cycle, stranger, 1)
    plugin.add_pod(cycle, pod_with("other", name="x"), 1)
    assert free()
    plugin.add_pod(cycle, user, 0)
    assert not free()


def test_what_ifs_after_skip_do_nothing() -> None:
    cluster = cluster_of(*NODES, claim(modes=ONCE))
    plugin, pod = VolumeRestrictions(), pod_with("claim")
    cycle = begin(cluster, pod)
    assert plugin.pre_filter(cycle) is SKIP
    plugin.add_pod(cycle, pod_with("claim", name="x"), 0)
    assert cycle.data == {}
