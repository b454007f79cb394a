"""What a plugin changes in thought ends with its hook, however the hook ends."""

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import mooring as mr
from mooring import Node, Nodes, Pod, hook
from mooring.config.runtimes import build_profiles, build_runtime
from mooring.errors import MooringError
from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Filtering
from mooring.framework.foreign import Interruption
from mooring.plugins.in_tree import default_registry
from mooring.plugins.preemption.default_preemption import DefaultPreemption, DefaultPreemptionArgs
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod
from tests.unit.framework.deciding import decide_alone
from tests.unit.scheduler.world import World

HOOKS = ("pre_filter", "post_filter", "pre_score", "reserve", "permit", "unreserve")
Do = Callable[[hook.Handle, Cycle], object]


class Thinker(
    hook.PreFilter, hook.PostFilter, hook.PreScore, hook.Reserve, hook.Permit, hook.FilterNodes
):
    """Does something with its handle at one hook, for the pod ``asker``."""

    name = "Thinker"
    handle: hook.Handle

    def __init__(self, at: str, do: Do) -> None:
        self._at = at
        self._do = do
        self.done = 0

    def attach(self, handle: hook.Handle) -> None:
        self.handle = handle

    def _think(self, at: str, cycle: Cycle) -> None:
        if at == self._at and cycle.pod.name == "asker" and not self.done:
            self.done += 1
            self._do(self.handle, cycle)

    def pre_filter(self, cycle: Cycle) -> None:
        self._cycle = cycle
        self._think("pre_filter", cycle)

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Any:
        self._think("filter", self._cycle)
        full = self._at == "post_filter" and pod.name == "asker"
        return [mr.reject("full")] * len(nodes) if full else None

    def post_filter(self, cycle: Cycle, filtering: Filtering) -> mr.Verdict:
        self._think("post_filter", cycle)
        return mr.reject("nothing found")

    def pre_score(self, cycle: Cycle, nodes: Nodes) -> None:
        self._think("pre_score", cycle)

    def reserve(self, cycle: Cycle, node: Node) -> None:
        self._think("reserve", cycle)

    def unreserve(self, cycle: Cycle, node: Node) -> None:
        self._think("unreserve", cycle)

    def permit(self, cycle: Cycle, node: Node) -> str | None:
        self._think("permit", cycle)
        return "no" if self._at == "unreserve" and not self.done else None


class Follower(hook.WhatIf):
    """Counts the pods on the first node, as it is told."""

    name = "Follower"

    def __init__(self) -> None:
        self.counted: list[list[str]] = []

    def pre_filter(self, cycle: Cycle) -> None:
        cycle.data[self.name] = [pod.name for pod in cycle.cluster.pods_on(0)]
        self.counted.append(cycle.data[self.name])

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        if row == 0:
            cycle.data[self.name].append(pod.name)

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        if row == 0:
            cycle.data[self.name].remove(pod.name)


def resident(name: str, node: str, port: int) -> Pod:
    ports = [{"containerPort": port, "hostPort": port}]
    return Pod.from_dict(
        {
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {
                "nodeName": node,
                "containers": [
                    {"name": "c", "ports": ports, "resources": {"requests": {"cpu": "1"}}}
                ],
            },
        }
    )


PODS = [resident(f"{node}{number}", node, 80 + number) for node in "ab" for number in range(3)]
GUEST = make_pod("guest", requests={"cpu": "2"})
SMALL = replace(PODS[1], spec=make_pod("a1", requests={"cpu": "100m"}).spec)


def world_of(at: str, do: Do) -> tuple[World, Thinker, Follower]:
    thinker, follower = Thinker(at, do), Follower()
    policy = mr.Policy("test")
    policy.add(follower)
    policy.add(thinker)
    world = World(make_node("a", cpu="8"), make_node("b", cpu="8"), *PODS, policy=policy)
    return world, thinker, follower


def state(world: World) -> object:
    """Everything that is counted for the residents."""
    columns = world.cluster.columns
    return (
        [[id(pod) for pod in world.cluster.pods_on(row) if pod.name != "asker"] for row in (0, 1)],
        [columns.used(name).tolist() for name in ("cpu", "memory")],
        [columns.usage(row).used["cpu"] for row in (0, 1)],
        [columns.port_mask("127.0.0.1", "TCP", port).tolist() for port in range(79, 84)],
        world.cluster._what_ifs,
    )


def remove_one(handle: hook.Handle, cycle: Cycle) -> None:
    handle.remove_pod(cycle, cycle.cluster.pods_on(0)[0], 0)


def add_one(handle: hook.Handle, cycle: Cycle) -> None:
    handle.add_pod(cycle, GUEST, 1)


def swap(handle: hook.Handle, cycle: Cycle) -> None:
    """What if a pod asked for less?"""
    handle.remove_pod(cycle, cycle.cluster.pods_on(0)[1], 0)
    handle.add_pod(cycle, SMALL, 0)


def much(handle: hook.Handle, cycle: Cycle) -> None:
    for row in (1, 0):
        for pod in cycle.cluster.pods_on(row)[1:3]:
            handle.remove_pod(cycle, pod, row)
    handle.add_pod(cycle, PODS[2], 0)
    handle.add_pod(cycle, PODS[1], 1)


def nothing(handle: hook.Handle, cycle: Cycle) -> None:
    """Everything is taken back in another order than it was done."""
    one, two = cycle.cluster.pods_on(0)[:2]
    handle.remove_pod(cycle, one, 0)
    handle.remove_pod(cycle, two, 0)
    handle.add_pod(cycle, one, 0)
    handle.add_pod(cycle, two, 0)


def fail() -> None:
    raise ZeroDivisionError("in the middle")


def interrupt() -> None:
    raise Interruption("it did not return within 1 second")


ENDS: dict[str, Callable[[], object]] = {
    "returns": lambda: None,
    "raises": fail,
    "exits": lambda: sys.exit(3),
    "is interrupted": interrupt,
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("change", [remove_one, add_one, swap, much, nothing])
@pytest.mark.parametrize("at", HOOKS)
def test_the_state_is_as_before(at: str, change: Do, end: str) -> None:
    def do(handle: hook.Handle, cycle: Cycle) -> None:
        change(handle, cycle)
        ENDS[end]()

    world, thinker, follower = world_of(at, do)
    before = state(world)
    world.put(make_pod("asker"))
    world.run()
    assert thinker.done == 1
    assert state(world) == before
    # Who follows what-ifs is told that they are over.
    assert all(sorted(one) == ["a0", "a1", "a2"] for one in follower.counted if "asker" not in one)
    world.wait(300)
    assert state(world) == before
    told = [note for name, reason, note in world.events if reason == "FailedScheduling"]
    hook_failed = end != "returns" and at != "unreserve"
    assert any(f"plugin Thinker failed in {at} for pod" in one for one in told) == hook_failed


steps = st.lists(
    st.tuples(st.booleans(), st.integers(0, len(PODS) + 1), st.integers(-1, 2)), max_size=12
)


@given(steps, st.sampled_from(list(ENDS)))
def test_so_it_is_after_any_steps(steps: list[tuple[bool, int, int]], end: str) -> None:
    def do(handle: hook.Handle, cycle: Cycle) -> None:
        for add, place, row in steps:
            step = handle.add_pod if add else handle.remove_pod
            with suppress(MooringError):
                step(cycle, [*PODS, GUEST, SMALL][place], row)
        ENDS[end]()

    world, thinker, _ = world_of("post_filter", do)
    before = state(world)
    world.put(make_pod("asker"))
    world.run()
    assert thinker.done == 1
    assert state(world) == before


MISTAKES: dict[str, Do] = {
    "there already": lambda handle, cycle: handle.add_pod(cycle, PODS[0], 0),
    "not there": lambda handle, cycle: handle.remove_pod(cycle, PODS[0], 1),
    "no such node": lambda handle, cycle: handle.add_pod(cycle, GUEST, 2),
    "a row from the end": lambda handle, cycle: handle.add_pod(cycle, GUEST, -1),
    "no row": lambda handle, cycle: handle.add_pod(cycle, GUEST, "a"),  # type: ignore[arg-type]
    "no pod": lambda handle, cycle: handle.add_pod(cycle, "guest", 0),  # type: ignore[arg-type]
    "another decision": lambda handle, cycle: handle.add_pod(
        Cycle(make_pod("x"), cycle.cluster), GUEST, 0
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_to_the_plugin_and_changes_nothing(mistake: str) -> None:
    def do(handle: hook.Handle, cycle: Cycle) -> None:
        with pytest.raises(MooringError):
            MISTAKES[mistake](handle, cycle)

    world, thinker, _ = world_of("post_filter", do)
    before = state(world)
    world.put(make_pod("asker"))
    world.run()
    assert thinker.done == 1
    assert state(world) == before


@pytest.mark.parametrize("change", [add_one, remove_one])
def test_a_filter_may_not_begin_a_what_if(change: Do) -> None:
    """It is asked in the middle of those of others."""
    world, thinker, _ = world_of("filter", change)
    before = state(world)
    world.put(make_pod("asker"))
    world.run()
    assert thinker.done == 1
    assert state(world) == before
    assert any("only in a hook that gets the cycle" in note for _, _, note in world.events)


def test_nor_may_who_is_asked_about_no_decision() -> None:
    kept: list[Cycle] = []
    world, thinker, _ = world_of("pre_filter", lambda _, cycle: kept.append(cycle))
    world.put(make_pod("asker"))
    world.run()
    before = state(world)
    for change in (add_one, remove_one):
        with pytest.raises(MooringError, match="only in a hook that gets the cycle"):
            change(thinker.handle, kept[0])
    assert state(world) == before


def test_the_end_of_the_stack_leaves_no_what_if_half_done() -> None:
    def deeper(handle: hook.Handle, cycle: Cycle) -> None:
        handle.remove_pod(cycle, PODS[0], 0)
        handle.add_pod(cycle, PODS[0], 0)
        deeper(handle, cycle)

    world, thinker, _ = world_of("post_filter", deeper)
    before = state(world)
    world.put(make_pod("asker"))
    world.run()
    assert thinker.done == 1
    assert state(world) == before


def test_a_plugin_that_fails_when_it_is_told_does_not_keep_others_from_it() -> None:
    class Clumsy(hook.WhatIf):
        name = "Clumsy"

        def pre_filter(self, cycle: Cycle) -> None:
            pass

        def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
            fail()

        def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
            pass

    policy = mr.Policy("test")
    policy.add(Clumsy())
    policy.add(Thinker("post_filter", remove_one))
    world = World(make_node("a", cpu="8"), make_node("b", cpu="8"), *PODS, policy=policy)
    before = state(world)
    world.put(make_pod("asker"))
    world.run()
    assert state(world) == before
    assert any("plugin Clumsy failed in add_pod" in note for _, _, note in world.events)


def test_a_plugin_of_another_profile_may_be_asked_with_any_handle_it_was_given() -> None:
    """A policy's plugin is attached to each profile, and most keep the last handle."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler"}, {"schedulerName": "other"}],
    }
    thinker = Thinker("post_filter", nothing)
    policy = mr.Policy("test")
    policy.add(thinker)
    world = World(
        make_node("a", cpu="8"), make_node("b", cpu="8"), *PODS, policy=policy, config=config
    )
    world.put(make_pod("asker"))
    world.run()
    assert thinker.done == 1
    assert not any("failed in post_filter" in note for _, _, note in world.events)


class Mine(DefaultPreemption):
    """Preempts as the default plugin does, and is foreign."""

    name = "Mine"


def make_mine(handle: hook.Handle) -> DefaultPreemption:
    """A foreign function that makes the default plugin."""
    return DefaultPreemption(DefaultPreemptionArgs(), handle)


@pytest.mark.parametrize("factory", [Mine, make_mine])
def test_who_extends_the_default_preemption_finds_victims(factory: Any) -> None:
    registry = default_registry()
    registry.add(factory, "Mine", points=["postFilter"])
    points = {"enabled": [{"name": "Mine"}], "disabled": [{"name": "DefaultPreemption"}]}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", "plugins": {"postFilter": points}}],
    }
    cluster = Cluster()
    for thing in (make_node("a", cpu="3"), *PODS[:3]):
        cluster.put(thing)
    profile = build_profiles(config, registry)["default-scheduler"]
    runtime = build_runtime(profile, registry, cluster, lambda: 0)
    found = decide_alone(
        runtime, make_pod("asker", requests={"cpu": "1"}, priority=5)
    ).post_filter_result.preemption
    assert found is not None
    assert [len(one.victims) for one in found.candidates.values()] == [1]
    assert [pod.name for pod in cluster.pods_on(0)] == ["a0", "a1", "a2"]
