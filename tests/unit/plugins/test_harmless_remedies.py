"""What would do harm, or only pretend to help, is not suggested or is marked."""

import pytest

from mooring.explaining.explainer import Explainer
from mooring.model.pod import Pod
from mooring.testing import make_node, make_pod
from tests.unit.explaining.suggested import suggest, texts

ZONE = "topology.kubernetes.io/zone"


@pytest.mark.parametrize("key", [ZONE, "kubernetes.io/arch", "node.kubernetes.io/instance-type"])
def test_a_node_does_not_change_by_a_label_that_states_a_fact(key: str) -> None:
    pod = make_pod(spec={"nodeSelector": {key: "x"}})
    found = texts(suggest([make_node("a", labels={key: "y"})], pod))
    assert found == [f"drop the node selector {key}=x"]


@pytest.mark.parametrize("key", ["control-plane", "master"])
def test_the_control_plane_keeps_its_taint(key: str) -> None:
    taint = {"key": f"node-role.kubernetes.io/{key}", "effect": "NoSchedule"}
    objects = [make_node("cp", taints=[taint]), make_node("a", cpu="1")]
    found = suggest(objects, make_pod(requests={"cpu": "2"}))
    assert texts(found) == [
        "request 1 less cpu (1 instead of 2)",
        f"tolerate the taint node-role.kubernetes.io/{key}:NoSchedule",
    ]
    assert [one.combination.caution for one in found] == [
        "", "the pod then runs on a control plane node",
    ]  # fmt: skip


def test_a_node_that_is_not_ready_is_brought_back() -> None:
    not_ready = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    own = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
    [found, *_] = suggest([make_node("a", taints=[not_ready])], make_pod())
    back = "repair a, which has the taint node.kubernetes.io/not-ready:NoSchedule"
    assert found.combination.text == back
    both = texts(suggest([make_node("a", taints=[not_ready, own])], make_pod()))
    assert set(both[0].split(" and ")) == {"tolerate the taint dedicated=x:NoSchedule", back}
    assert not any("remove the taint node.k" in text for text in both)


def test_uncordoning_is_marked() -> None:
    found = suggest([make_node("a", unschedulable=True)], make_pod())
    assert found[0].combination.caution == "first find out why it is cordoned"


@pytest.mark.parametrize("kind", ["DaemonSet", "Node", "critical"])
def test_pods_that_come_back_or_are_critical_are_not_moved(kind: str) -> None:
    given = make_pod("other", node="a", requests={"cpu": "3"}).raw
    if kind == "critical":
        given["spec"]["priority"] = 2_000_000_000
    else:
        given["metadata"]["ownerReferences"] = [{"kind": kind, "name": "x", "uid": "u"}]
    objects = [make_node("a", cpu="4"), Pod.from_dict(given)]
    found = Explainer(objects).explain(make_pod(requests={"cpu": "2"})).suggestions
    assert not any("take default/other off" in text for text in texts(found))
