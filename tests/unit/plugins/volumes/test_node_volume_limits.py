from typing import Any

import pytest

from mooring.framework.hook import SKIP
from mooring.framework.verdict import ACCEPT, fail, reject
from mooring.model.meta import KubeObject
from mooring.plugins.volumes.node_volume_limits import NodeVolumeLimits
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import accepted, cluster_of, filtered, pre_filtered
from tests.unit.plugins.volumes.volume_objects import (
    DRIVER,
    attachment,
    claim,
    csi,
    csi_node,
    pod_with,
    storage_class,
    volume,
)

EBS = "ebs.csi.aws.com"
TOO_MANY = reject("node(s) exceed max volume count")


def bound(*names: str) -> list[KubeObject]:
    """Claims, each bound to a CSI volume."""
    return [
        thing
        for name in names
        for thing in (claim(name, bound=f"pv-{name}"), volume(f"pv-{name}", csi=csi(f"h-{name}")))
    ]


def limited(count: int | None, *things: KubeObject) -> Cluster:
    """A node with a limit, and one that has reported nothing."""
    return cluster_of(make_node("a"), make_node("free"), csi_node("a", {DRIVER: count}), *things)


def test_a_node_takes_as_many_volumes_as_it_says() -> None:
    cluster = limited(2, *bound("x", "y", "z"), pod_with("x", name="there", node="a"))
    plugin = NodeVolumeLimits()
    assert filtered(plugin, cluster, pod_with("y")) == {"a": ACCEPT, "free": ACCEPT}
    assert filtered(plugin, cluster, pod_with("y", "z")) == {"a": TOO_MANY, "free": ACCEPT}
    assert accepted(plugin, cluster, pod_with("y", {"emptyDir": {}})) == ["a", "free"]


def test_a_volume_that_is_there_already_is_not_new() -> None:
    cluster = limited(1, *bound("x"), pod_with("x", name="there", node="a"))
    assert accepted(NodeVolumeLimits(), cluster, pod_with("x")) == ["a", "free"]


def test_a_volume_counts_once_however_many_pods_use_it() -> None:
    pods = [pod_with("x", "x", name=f"p{number}", node="a") for number in range(3)]
    cluster = limited(2, *bound("x", "y"), *pods)
    assert accepted(NodeVolumeLimits(), cluster, pod_with("y", "y")) == ["a", "free"]


def test_one_that_is_only_attached_counts_as_used_and_as_new() -> None:
    cluster = limited(1, *bound("x"), attachment("va", "a", "pv-x"))
    assert accepted(NodeVolumeLimits(), cluster, pod_with("x")) == ["free"]
    # A pod that uses it makes it a volume like any other.
    cluster.put(pod_with("x", name="there", node="a"))
    assert accepted(NodeVolumeLimits(), cluster, pod_with("x")) == ["a", "free"]


@pytest.mark.parametrize(
    "idle",
    [
        attachment("va", "a", None),
        attachment("va", "a", "gone"),
        attachment("va", "a", "nfs"),
        attachment("va", "a", "pv-x", attacher=""),
        attachment("va", "free", "pv-x"),
    ],
)
def test_attachments_that_say_nothing_do_not_count(idle: KubeObject) -> None:
    cluster = limited(1, *bound("x", "y"), volume("nfs"), idle)
    assert accepted(NodeVolumeLimits(), cluster, pod_with("y")) == ["a", "free"]


def test_an_attachment_counts_for_its_attacher() -> None:
    cluster = limited(1, *bound("x", "y"), attachment("va", "a", "pv-x", attacher="other"))
    assert accepted(NodeVolumeLimits(), cluster, pod_with("y")) == ["a", "free"]


def test_drivers_have_limits_of_their_own() -> None:
    cluster = limited(0, claim("c", bound="pv"), volume("pv", csi=csi("h", "other")), *bound("x"))
    assert accepted(NodeVolumeLimits(), cluster, pod_with("c")) == ["a", "free"]
    assert accepted(NodeVolumeLimits(), cluster, pod_with("x")) == ["free"]


def test_a_driver_without_a_number_has_no_limit() -> None:
    cluster = limited(None, *bound("x"))
    assert accepted(NodeVolumeLimits(), cluster, pod_with("x")) == ["a", "free"]


@pytest.mark.parametrize(
    ("provisioner", "counts"),
    [(DRIVER, True), ("kubernetes.io/aws-ebs", False), ("other", False), ("", False)],
)
def test_a_volume_still_to_be_made_counts_for_its_class(provisioner: str, counts: bool) -> None:
    cluster = limited(0, claim(of="c"), storage_class("c", provisioner=provisioner))
    assert ("a" in accepted(NodeVolumeLimits(), cluster, pod_with("claim"))) is not counts


def test_in_tree_classes_count_for_the_driver_that_took_over() -> None:
    cluster = cluster_of(
        make_node("a"),
        csi_node("a", {EBS: 0}),
        claim("aws", of="aws"),
        claim("files", of="files"),
        storage_class("aws", provisioner="kubernetes.io/aws-ebs"),
        storage_class("files", provisioner="kubernetes.io/azure-file"),
    )
    assert accepted(NodeVolumeLimits(), cluster, pod_with("aws")) == []
    assert accepted(NodeVolumeLimits(), cluster, pod_with("files")) == ["a"]


def test_claims_without_volume_and_class_do_not_count() -> None:
    cluster = limited(0, claim("none"), claim("gone", of="gone"))
    assert accepted(NodeVolumeLimits(), cluster, pod_with("none", "gone")) == ["a", "free"]


def test_a_volume_that_is_gone_counts_for_its_class() -> None:
    cluster = limited(0, claim(bound="gone", of="c"), storage_class("c"))
    assert accepted(NodeVolumeLimits(), cluster, pod_with("claim")) == ["free"]


def test_in_tree_volumes_count_for_the_driver_that_took_over() -> None:
    there = pod_with({"awsElasticBlockStore": {"volumeID": "vol-1"}}, name="there", node="a")
    cluster = cluster_of(
        make_node("a"),
        make_node("free"),
        csi_node("a", {EBS: 1}),
        there,
        claim("same", bound="same"),
        claim("else", bound="else"),
        claim("share", bound="share"),
        volume("same", awsElasticBlockStore={"volumeID": "aws:///vol-1"}),
        volume("else", awsElasticBlockStore={"volumeID": "vol-2"}),
        volume("share", azureFile={"shareName": "s"}),
    )
    assert accepted(NodeVolumeLimits(), cluster, pod_with("same")) == ["a", "free"]
    assert accepted(NodeVolumeLimits(), cluster, pod_with("else")) == ["free"]
    assert accepted(NodeVolumeLimits(), cluster, pod_with("share")) == ["a", "free"]


def test_a_claim_that_does_not_exist_rejects_every_node() -> None:
    answers = filtered(NodeVolumeLimits(), limited(1), pod_with("claim"))
    reason = 'looking up PVC default/claim: persistentvolumeclaim "claim" not found'
    assert answers == dict.fromkeys(("a", "free"), reject(reason, unresolvable=True))
    assert filtered(NodeVolumeLimits(), limited(1), pod_with("claim"), ["free"]) == {
        "free": reject(reason, unresolvable=True)
    }


def test_a_claim_that_does_not_exist_does_not_count_for_a_pod_that_is_there() -> None:
    cluster = limited(1, *bound("x"), pod_with("gone", name="there", node="a"))
    assert accepted(NodeVolumeLimits(), cluster, pod_with("x")) == ["a", "free"]


def test_a_claim_needs_a_name() -> None:
    answers = filtered(NodeVolumeLimits(), limited(1), pod_with(""))
    assert answers["free"] == fail("PersistentVolumeClaim had no name")


def test_a_claim_of_a_pods_own_must_be_made_for_it() -> None:
    own: dict[str, Any] = {"ephemeral": {}}
    mine = claim("pod-v0", of="c", owner="uid-default-pod")
    cluster = limited(0, storage_class("c"), mine)
    assert accepted(NodeVolumeLimits(), cluster, pod_with(own)) == ["free"]
    cluster.put(claim("pod-v0", of="c", owner="uid-default-other"))
    problem = fail("PVC default/pod-v0 was not created for pod default/pod (pod is not owner)")
    assert filtered(NodeVolumeLimits(), cluster, pod_with(own)) == {"a": problem, "free": problem}


def test_such_a_claim_of_a_pod_that_is_there_fails_its_node_only() -> None:
    there = pod_with({"ephemeral": {}}, name="there", node="a")
    cluster = limited(5, there, claim("there-v0", owner="other"), *bound("x"))
    problem = fail("PVC default/there-v0 was not created for pod default/there (pod is not owner)")
    assert filtered(NodeVolumeLimits(), cluster, pod_with("x")) == {"a": problem, "free": ACCEPT}
    assert filtered(NodeVolumeLimits(), cluster, pod_with("x"), ["a"]) == {"a": problem}
    cluster.put(csi_node("a", {}))  # nothing is counted where there is no limit
    assert filtered(NodeVolumeLimits(), cluster, pod_with("x"))["a"] == ACCEPT
    assert filtered(NodeVolumeLimits(), cluster, pod_with("x"), ["a"]) == {"a": ACCEPT}


def test_a_disk_that_cannot_be_translated_fails_where_drivers_are_known() -> None:
    disk: dict[str, Any] = {"azureDisk": {"diskURI": "u", "kind": "Shared"}}
    answers = filtered(NodeVolumeLimits(), limited(1), pod_with(disk))
    problem = (
        "converting volume(v0) from inline to csi: kind(Shared) is not supported in csi migration"
    )
    assert answers == {"a": fail(problem), "free": ACCEPT}


def test_pods_without_such_volumes_are_none_of_its_business() -> None:
    cluster = limited(0)
    others: list[dict[str, Any]] = [
        {"emptyDir": {}}, {"iscsi": {"iqn": "i"}}, {"csi": {"driver": DRIVER}}
    ]  # fmt: skip
    for source in others:
        assert pre_filtered(NodeVolumeLimits(), cluster, pod_with(source)) is SKIP
    assert pre_filtered(NodeVolumeLimits(), cluster, make_pod()) is SKIP
    assert pre_filtered(NodeVolumeLimits(), cluster, pod_with({"azureFile": {}})) is None


def test_changes_are_followed() -> None:
    plugin, pod = NodeVolumeLimits(), pod_with("y")

    def fits() -> bool:
        whole, alone = filtered(plugin, cluster, pod), filtered(plugin, cluster, pod, ["a"])
        assert alone["a"] == whole["a"]
        return whole["a"].accepted

    cluster = limited(1, *bound("y"), claim("x", of="c"), pod_with("x", name="there", node="a"))
    assert fits()
    cluster.put(storage_class("c"))
    assert not fits()  # the class of the other claim is known now
    cluster.put(csi_node("a", {DRIVER: 2}))
    assert fits()
    cluster.put(attachment("va", "a", "pv-new"))
    assert fits()
    cluster.put(volume("pv-new", csi=csi("new")))
    assert not fits()  # and so is the attached volume
    cluster.remove(attachment("va", "a", "pv-new"))
    assert fits()
    cluster.put(csi_node("a", {DRIVER: 1}))
    assert not fits()
    cluster.put(claim("x", bound="pv-y"))
    assert fits()  # the other pod has the same volume
    cluster.put(claim("x", bound="pv-x"))
    cluster.put(volume("pv-x", csi=csi("h-x")))
    assert not fits()
    cluster.put(volume("pv-x", csi=csi("h-x", "other")))
    assert fits()
    cluster.remove(claim("x"))
    assert fits()
    cluster.put(claim("x", of="c"))
    assert not fits()
    cluster.remove_pod("default/there")
    assert fits()


def test_rows_that_move_take_their_volumes_along() -> None:
    cluster = limited(1, make_node("z"), csi_node("z", {DRIVER: 1}), *bound("x", "y"))
    cluster.put(pod_with("x", name="there", node="z"))
    plugin = NodeVolumeLimits()
    assert accepted(plugin, cluster, pod_with("y")) == ["a", "free"]
    cluster.remove_node("a")
    assert accepted(plugin, cluster, pod_with("y")) == ["free"]
    for number in range(40):
        cluster.put(make_node(f"n{number}"))
    assert "z" not in accepted(plugin, cluster, pod_with("y"))
    assert len(accepted(plugin, cluster, pod_with("y"))) == 41
