"""Plugins see the pods that wait for permission through their handles, and settle them."""

import math
import runpy
from pathlib import Path

import mooring as mr
from mooring import hook
from tests.unit.scheduler.world import World


class Pairs(hook.Permit):
    """Lets pods go two at a time."""

    name = "Pairs"
    handle: hook.Handle

    def attach(self, handle: hook.Handle) -> None:
        self.handle = handle

    def permit(self, cycle: hook.Cycle, node: mr.Node) -> hook.FilterAnswer | hook.Wait:
        waiting = self.handle.waiting
        if not len(waiting):
            return hook.Wait(30)
        for one in waiting:
            assert one.node.name == node.name
            one.allow(self.name)
        return cycle.pod.name != "lonely"


def world_of_pairs() -> tuple[World, Pairs]:
    plugin = Pairs()
    policy = mr.Policy("test")
    policy.add(plugin)
    return World(_node(), policy=policy), plugin


def _node() -> mr.Node:
    return mr.Node.from_dict(
        {"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "4", "pods": "9"}}}
    )


def new_pod(name: str) -> mr.Pod:
    return mr.Pod.from_dict(
        {"metadata": {"name": name, "namespace": "default", "uid": name}, "spec": {}}
    )


def test_a_plugin_of_a_policy_lets_a_waiting_pod_go() -> None:
    world, plugin = world_of_pairs()
    world.put(new_pod("one"))
    world.run()
    held = plugin.handle.waiting.get("default/one")
    assert held is not None
    assert (held.pod.name, held.node.name, world.where("one")) == ("one", "a", "")
    assert world.core.next_time() == world.now + 30
    world.put(new_pod("two"))
    world.run()
    world.run()  # what a turn settles is carried out by the next
    assert (world.where("one"), world.where("two")) == ("a", "a")
    assert (len(plugin.handle.waiting), plugin.handle.waiting.get("default/one")) == (0, None)


def test_what_is_settled_between_turns_is_due_at_once() -> None:
    world, plugin = world_of_pairs()
    world.put(new_pod("one"))
    world.run()
    [held] = plugin.handle.waiting
    held.refuse(plugin.name, "node(s) were wanted by another")
    assert world.core.next_time() == -math.inf
    world.run()
    assert world.events[-1][1:] == (
        "FailedScheduling",
        "0/1 nodes are available: 1 node(s) were wanted by another.",
    )


def test_nobody_waits_where_no_pods_are_bound() -> None:
    world, _ = world_of_pairs()
    runtime = type(world.runtimes["default-scheduler"])(world.cluster)
    assert (list(runtime.waiting), len(runtime.waiting)) == ([], 0)
    assert runtime.waiting.get("default/one") is None


def test_the_sample_plugin_binds_a_gang_together() -> None:
    sample = Path(__file__).parents[3] / "docs" / "samples" / "gang_plugin.py"
    policy = mr.Policy("test")
    policy.add(runpy.run_path(str(sample))["Gang"]())
    world = World(_node(), policy=policy)
    for name in ("one", "two", "three"):
        assert {world.where(other.name) for other in world.pods.values()} <= {""}
        world.put(
            mr.Pod.from_dict(
                {
                    "metadata": {
                        "name": name,
                        "namespace": "default",
                        "uid": name,
                        "labels": {"example.com/gang": "g"},
                        "annotations": {"example.com/gang-size": "3"},
                    }
                }
            )
        )
        world.run()
    world.run()
    assert [world.where(name) for name in ("one", "two", "three")] == ["a", "a", "a"]
