from typing import Any

import pytest

from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.resources import LEASES, NAMESPACES, NODES, PODS, Obj
from tests.unit.embedded.controllers.world import World


@pytest.fixture
def world() -> World:
    world = World(kubelet=KubeletSettings())
    world.node("n1")
    return world


def taints(world: World, name: str = "n1") -> list[tuple[str, str]]:
    found = world.get(NODES, name)["spec"].get("taints", [])
    return [(one["key"], one["effect"]) for one in found]


def say(world: World, kind: str, status: str) -> None:
    def change(node: Obj) -> None:
        others = [one for one in node["status"]["conditions"] if one["type"] != kind]
        node["status"]["conditions"] = [*others, {"type": kind, "status": status}]

    world.change(NODES, "n1", change, "status")
    world.settle()


def taint(*taints: Obj) -> Any:
    return lambda node: node["spec"].update(taints=list(taints))


def test_a_cordoned_node_is_tainted_until_it_is_not(world: World) -> None:
    mine = {"key": "mine", "value": "x", "effect": "NoSchedule"}
    world.change(NODES, "n1", taint(mine))
    world.change(NODES, "n1", lambda node: node["spec"].update(unschedulable=True))
    world.settle()
    assert taints(world) == [
        ("mine", "NoSchedule"),
        ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ]
    world.change(NODES, "n1", lambda node: node["spec"].pop("unschedulable"))
    world.settle()
    assert taints(world) == [("mine", "NoSchedule")]


def test_taints_follow_the_conditions(world: World) -> None:
    say(world, "MemoryPressure", "True")
    assert taints(world) == [("node.kubernetes.io/memory-pressure", "NoSchedule")]
    say(world, "MemoryPressure", "False")
    say(world, "Ready", "False")
    assert taints(world) == [
        ("node.kubernetes.io/not-ready", "NoSchedule"),
        ("node.kubernetes.io/not-ready", "NoExecute"),
    ]
    say(world, "Ready", "Unknown")
    assert taints(world) == [
        ("node.kubernetes.io/unreachable", "NoSchedule"),
        ("node.kubernetes.io/unreachable", "NoExecute"),
    ]
    say(world, "Ready", "True")
    assert taints(world) == []


def test_a_node_without_conditions_is_left_alone(world: World) -> None:
    not_ready = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    world.create(NODES, {"metadata": {"name": "bare"}, "spec": {"taints": [not_ready]}})
    world.settle()
    assert taints(world, "bare") == [("node.kubernetes.io/not-ready", "NoSchedule")]


def test_pods_leave_a_node_that_is_not_ready_when_their_time_is_over(world: World) -> None:
    world.pod("ordinary", node="n1")
    world.pod("quick", node="n1", tolerations=[
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute",
         "tolerationSeconds": 10},
    ])  # fmt: skip
    world.pod("loyal", node="n1", tolerations=[{"operator": "Exists"}])
    world.settle()
    say(world, "Ready", "False")
    assert len(world.names(PODS)) == 3
    world.wait(11)
    assert world.names(PODS) == ["loyal", "ordinary"]
    world.wait(300)
    assert world.names(PODS) == ["loyal"]
    assert world.events("quick") == [
        ("TaintManagerEviction", "Marking for deletion Pod default/quick")
    ]


def test_pods_stay_if_the_taint_goes_in_time(world: World) -> None:
    world.pod("p", node="n1")
    world.settle()
    say(world, "Ready", "False")
    world.wait(200)
    say(world, "Ready", "True")
    world.wait(500)
    assert world.names(PODS) == ["p"]
    assert world.events("p") == [("TaintManagerEviction", "Cancelling deletion of Pod default/p")]


def test_what_is_not_tolerated_ends_at_once(world: World) -> None:
    world.pod("p", node="n1")
    world.settle()
    world.change(NODES, "n1", taint({"key": "out", "effect": "NoExecute"}))
    world.settle()
    assert world.names(PODS) == []


def test_the_pods_of_a_node_that_is_gone_go_after_a_while(world: World) -> None:
    world.pod("p", node="n1")
    world.pod("elsewhere", node="never-was")
    world.settle()
    world.delete(NODES, "n1")
    world.wait(39)
    assert world.names(PODS) == ["elsewhere", "p"]
    world.wait(2)
    assert world.names(PODS) == ["elsewhere"]


def test_the_pods_of_a_node_that_comes_back_stay(world: World) -> None:
    world.pod("p", node="n1")
    world.settle()
    world.delete(NODES, "n1")
    world.wait(20)
    world.node("n1")
    world.wait(60)
    assert world.names(PODS) == ["p"]


def test_every_node_has_a_lease(world: World) -> None:
    assert world.names(LEASES) == []
    world.create(NAMESPACES, {"metadata": {"name": "kube-node-lease"}})
    world.settle()
    world.node("n2")
    world.settle()
    assert world.names(LEASES, "kube-node-lease") == ["n1", "n2"]
    lease = world.get(LEASES, "n1", "kube-node-lease")
    assert lease["spec"]["holderIdentity"] == "n1"
    world.delete(NODES, "n1")
    world.settle()
    assert world.names(LEASES, "kube-node-lease") == ["n2"]
