"""Plugins see the pods that wait for permission through their handles, and settle them."""

import math
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

import mooring as mr
from mooring import hook
from mooring.errors import MooringError
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
    held.reject(plugin.name, "node(s) were wanted by another")
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


class Hostile:
    """Does harm whoever looks at it."""

    def _harm(self, *_: object) -> Any:
        sys.exit(5)

    __class__ = property(_harm)
    __repr__ = __str__ = __bool__ = __eq__ = __iter__ = _harm
    __hash__ = None  # type: ignore[assignment]


class Text(str):
    """A text that does harm whoever compares it."""

    __slots__ = ()

    def __hash__(self) -> int:  # noqa: PLE0309 - it never does
        sys.exit(6)


MISTAKES: dict[str, Any] = {
    "a list": lambda one: one.reject(["Pairs"], "no"),
    "nothing": lambda one: one.reject(None, None),
    "no reason": lambda one: one.reject("Pairs", None),
    "a hostile plugin": lambda one: one.reject(Hostile(), "no"),
    "a hostile reason": lambda one: one.reject("Pairs", Hostile()),
    "allowed by a list": lambda one: one.allow(["Pairs"]),
    "allowed by something hostile": lambda one: one.allow(Hostile()),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_to_the_plugin_that_makes_it(mistake: str) -> None:
    world, plugin = world_of_pairs()
    world.put(new_pod("one"))
    world.run()
    [held] = plugin.handle.waiting
    with pytest.raises(MooringError, match="takes the plugin's name"):
        MISTAKES[mistake](held)
    world.run()
    assert plugin.handle.waiting.get("default/one") is held
    held.allow(plugin.name)
    world.run()
    assert world.where("one") == "a"


def test_a_reason_of_another_class_and_without_end_becomes_a_plain_one() -> None:
    world, plugin = world_of_pairs()
    world.put(new_pod("one"))
    world.run()
    [held] = plugin.handle.waiting
    held.reject(Text("Pairs"), Text("x" * 5000))
    world.run()
    note = world.events[-1][2]
    assert note.startswith("0/1 nodes are available: 1 xxxx")
    assert len(note) < 1100


def test_a_pod_that_cannot_be_settled_is_tried_again_and_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Slow(hook.Permit):
        name = "Slow"

        def permit(self, cycle: hook.Cycle, node: mr.Node) -> hook.Wait:
            return hook.Wait(30)

    policy = mr.Policy("test")
    policy.add(Slow())
    world = World(_node(), policy=policy)
    for name in ("one", "two"):
        world.put(new_pod(name))
    world.run()
    broken = world.core.waiting.get("default/one")
    assert broken is not None
    monkeypatch.setattr(broken, "rejected_by", ["no name"])
    broken.reason = "no"
    two = world.core.waiting.get("default/two")
    assert two is not None
    two.allow("Slow")
    world.run()
    assert world.where("two") == "a"
    assert world.events[-1][:2] == ("two", "Scheduled")
    told = [note for name, reason, note in world.events if name == "one"]
    assert len(told) == 1
    assert told[0].startswith("internal error: TypeError")
    world.wait(30)
    assert world.core.waiting.get("default/one") is not None
    assert world.used == [0]
