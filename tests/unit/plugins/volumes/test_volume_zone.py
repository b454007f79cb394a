import pytest

from mooring.framework.hook import SKIP
from mooring.framework.verdict import Verdict
from mooring.model.meta import KubeObject
from mooring.model.storage import StorageClass
from mooring.plugins.volumes.volume_zone import VolumeZone
from mooring.testing import make_node
from tests.unit.plugins.one_plugin import accepted, cluster_of, filtered, pre_filtered
from tests.unit.plugins.volumes.volume_objects import ZONE, claim, pod_with, storage_class, volume

BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
NODES = (
    make_node("a", labels={ZONE: "z1"}),
    make_node("b", labels={ZONE: "z2", REGION: "r"}),
    make_node("beta", labels={BETA_ZONE: "z1"}),
    make_node("bare"),
)
POD = pod_with("claim")


def labelled(**labels: str) -> list[str]:
    """The nodes that go with a volume that has these labels."""
    named = {ZONE if key == "zone" else BETA_ZONE: value for key, value in labels.items()}
    cluster = cluster_of(*NODES, claim(bound="pv"), volume("pv", labels=named))
    return accepted(VolumeZone(), cluster, POD)


def test_a_node_without_zone_labels_goes_with_everything() -> None:
    assert labelled(zone="z3") == ["bare"]


def test_the_new_label_is_not_looked_up_under_the_old_name() -> None:
    assert labelled(zone="z1") == ["a", "bare"]


def test_the_old_label_is_looked_up_under_the_new_name() -> None:
    assert labelled(beta="z1") == ["a", "beta", "bare"]


def test_a_label_may_name_several_zones() -> None:
    assert labelled(zone="z1__z2") == ["a", "b", "bare"]


def test_the_answer_is_final_and_has_kubernetes_reason() -> None:
    cluster = cluster_of(*NODES, claim(bound="pv"), volume("pv", labels={ZONE: "z1"}))
    assert filtered(VolumeZone(), cluster, POD, ["b"]) == {
        "b": Verdict(
            accepted=False, reason="node(s) had no available volume zone", unresolvable=True
        )
    }


def test_all_labels_of_all_volumes_must_fit() -> None:
    cluster = cluster_of(
        *NODES,
        make_node("c", labels={ZONE: "z1", REGION: "r"}),
        claim("one", bound="pv1"),
        claim("two", bound="pv2"),
        volume("pv1", labels={ZONE: "z1"}),
        volume("pv2", labels={REGION: "r"}),
    )
    assert accepted(VolumeZone(), cluster, pod_with("one", "two")) == ["bare", "c"]


@pytest.mark.parametrize("label", ["", "z1__", " "])
def test_a_label_that_cannot_be_read_is_passed_over(label: str) -> None:
    cluster = cluster_of(*NODES, claim(bound="pv"), volume("pv", labels={ZONE: label}))
    assert pre_filtered(VolumeZone(), cluster, POD) is SKIP


def test_pods_without_claims_are_none_of_its_business() -> None:
    assert pre_filtered(VolumeZone(), cluster_of(*NODES), pod_with({"emptyDir": {}})) is SKIP
    assert pre_filtered(VolumeZone(), cluster_of(*NODES), pod_with({"ephemeral": {}})) is SKIP


def test_a_claim_that_waits_for_its_pod_is_passed_over() -> None:
    cluster = cluster_of(*NODES, claim(of="wait"), storage_class("wait"))
    assert pre_filtered(VolumeZone(), cluster, POD) is SKIP


@pytest.mark.parametrize(
    ("things", "reason"),
    [
        ((), 'persistentvolumeclaim "claim" not found'),
        ((claim(bound="gone"),), 'persistentvolume "gone" not found'),
        ((claim(),), "PersistentVolumeClaim had no pv name and storageClass name"),
        ((claim(of="gone"),), 'storageclass.storage.k8s.io "gone" not found'),
        ((claim(of="now"), storage_class("now", waits=False)), "PersistentVolume had no name"),
        (
            (claim(of="c"), StorageClass.from_dict({"metadata": {"name": "c"}})),
            'VolumeBindingMode not set for StorageClass "c"',
        ),
    ],
)
def test_what_is_missing_rejects_the_pod(things: tuple[KubeObject, ...], reason: str) -> None:
    answer = pre_filtered(VolumeZone(), cluster_of(*NODES, *things), POD)
    assert answer == Verdict(accepted=False, reason=reason, unresolvable=True)


def test_a_claim_must_have_a_name() -> None:
    answer = pre_filtered(VolumeZone(), cluster_of(*NODES), pod_with(""))
    assert isinstance(answer, Verdict)
    assert answer.reason == "PersistentVolumeClaim had no name"
