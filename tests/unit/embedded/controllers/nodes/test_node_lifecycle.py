from typing import Any

import pytest

from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.resources import LEASES, NAMESPACES, NODES, PODS, Obj
from tests.unit.embedded.fake_cluster import FakeCluster


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster(kubelet=KubeletSettings())
    cluster.node("n1")
    return cluster


def taints(cluster: FakeCluster, name: str = "n1") -> list[tuple[str, str]]:
    found = cluster.get(NODES, name)["spec"].get("taints", [])
    return [(one["key"], one["effect"]) for one in found]


def say(cluster: FakeCluster, kind: str, status: str) -> None:
    def change(node: Obj) -> None:
        others = [one for one in node["status"]["conditions"] if one["type"] != kind]
        node["status"]["conditions"] = [*others, {"type": kind, "status": status}]

    cluster.change(NODES, "n1", change, "status")
    cluster.settle()


def taint(*taints: Obj) -> Any:
    return lambda node: node["spec"].update(taints=list(taints))


def test_a_cordoned_node_is_tainted_until_it_is_not(cluster: FakeCluster) -> None:
    mine = {"key": "mine", "value": "x", "effect": "NoSchedule"}
    cluster.change(NODES, "n1", taint(mine))
    cluster.change(NODES, "n1", lambda node: node["spec"].update(unschedulable=True))
    cluster.settle()
    assert taints(cluster) == [
        ("mine", "NoSchedule"),
        ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ]
    cluster.change(NODES, "n1", lambda node: node["spec"].pop("unschedulable"))
    cluster.settle()
    assert taints(cluster) == [("mine", "NoSchedule")]


def test_taints_follow_the_conditions(cluster: FakeCluster) -> None:
    say(cluster, "MemoryPressure", "True")
    assert taints(cluster) == [("node.kubernetes.io/memory-pressure", "NoSchedule")]
    say(cluster, "MemoryPressure", "False")
    say(cluster, "Ready", "False")
    assert taints(cluster) == [
        ("node.kubernetes.io/not-ready", "NoSchedule"),
        ("node.kubernetes.io/not-ready", "NoExecute"),
    ]
    say(cluster, "Ready", "Unknown")
    assert taints(cluster) == [
        ("node.kubernetes.io/unreachable", "NoSchedule"),
        ("node.kubernetes.io/unreachable", "NoExecute"),
    ]
    say(cluster, "Ready", "True")
    assert taints(cluster) == []


def test_a_node_without_conditions_is_left_alone(cluster: FakeCluster) -> None:
    not_ready = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    cluster.create(NODES, {"metadata": {"name": "bare"}, "spec": {"taints": [not_ready]}})
    cluster.settle()
    assert taints(cluster, "bare") == [("node.kubernetes.io/not-ready", "NoSchedule")]


def test_pods_leave_a_node_that_is_not_ready_when_their_time_is_over(cluster: FakeCluster) -> None:
    cluster.pod("ordinary", node="n1")
    cluster.pod("quick", node="n1", tolerations=[
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute",
         "tolerationSeconds": 10},
    ])  # fmt: skip
    cluster.pod("loyal", node="n1", tolerations=[{"operator": "Exists"}])
    cluster.settle()
    say(cluster, "Ready", "False")
    assert len(cluster.names(PODS)) == 3
    cluster.wait(11)
    assert cluster.names(PODS) == ["loyal", "ordinary"]
    cluster.wait(300)
    assert cluster.names(PODS) == ["loyal"]
    assert cluster.events("quick") == [
        ("TaintManagerEviction", "Marking for deletion Pod default/quick")
    ]


def test_pods_stay_if_the_taint_goes_in_time(cluster: FakeCluster) -> None:
    cluster.pod("p", node="n1")
    cluster.settle()
    say(cluster, "Ready", "False")
    cluster.wait(200)
    say(cluster, "Ready", "True")
    cluster.wait(500)
    assert cluster.names(PODS) == ["p"]
    assert cluster.events("p") == [("TaintManagerEviction", "Cancelling deletion of Pod default/p")]


def test_what_is_not_tolerated_ends_at_once(cluster: FakeCluster) -> None:
    cluster.pod("p", node="n1")
    cluster.settle()
    cluster.change(NODES, "n1", taint({"key": "out", "effect": "NoExecute"}))
    cluster.settle()
    assert cluster.names(PODS) == []


def test_the_pods_of_a_node_that_is_gone_go_after_a_while(cluster: FakeCluster) -> None:
    cluster.pod("p", node="n1")
    cluster.pod("elsewhere", node="never-was")
    cluster.settle()
    cluster.delete(NODES, "n1")
    cluster.wait(39)
    assert cluster.names(PODS) == ["elsewhere", "p"]
    cluster.wait(2)
    assert cluster.names(PODS) == ["elsewhere"]


def test_the_pods_of_a_node_that_comes_back_stay(cluster: FakeCluster) -> None:
    cluster.pod("p", node="n1")
    cluster.settle()
    cluster.delete(NODES, "n1")
    cluster.wait(20)
    cluster.node("n1")
    cluster.wait(60)
    assert cluster.names(PODS) == ["p"]


def test_every_node_has_a_lease(cluster: FakeCluster) -> None:
    assert cluster.names(LEASES) == []
    cluster.create(NAMESPACES, {"metadata": {"name": "kube-node-lease"}})
    cluster.settle()
    cluster.node("n2")
    cluster.settle()
    assert cluster.names(LEASES, "kube-node-lease") == ["n1", "n2"]
    lease = cluster.get(LEASES, "n1", "kube-node-lease")
    assert lease["spec"]["holderIdentity"] == "n1"
    cluster.delete(NODES, "n1")
    cluster.settle()
    assert cluster.names(LEASES, "kube-node-lease") == ["n2"]
