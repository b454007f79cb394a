"""Plugins that hang over many pods of the queue hang over one at a time: others come in between."""

import math
from collections.abc import Sequence

import pytest

import mooring as mr
from mooring import Node, Pod, hook
from mooring.framework import foreign
from mooring.framework.cycle import Cycle
from mooring.scheduler.queue import Queue, QueueSettings
from mooring.scheduler.sub_queues import Patience
from mooring.testing import make_node, make_pod
from tests.unit.scheduler.queues import ADD_NODE, PROFILE, WAKES, Gates
from tests.unit.scheduler.world import World

CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}


class Hanging:
    """Plugins that hang over every pod until they are interrupted; notes over which."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.on = False
        self.patience = Patience()

    def order(self, pod: Pod, since: float) -> tuple[float, ...]:
        if self.on:
            self.asked.append(pod.name)
            self.patience.lost = True
        return (-pod.priority, since)

    def rejected(self, names: str) -> Queue:
        """A queue in which plugin "Nodes" rejected these pods."""
        queue = Queue(self.order, {PROFILE: WAKES}, Gates(), QueueSettings(), None, self.patience)
        for name in names:
            queue.add(make_pod(name), 0)
        for _ in names:
            queued = queue.pop(0)
            assert queued is not None
            queue.requeue(queued, {"Nodes"}, 0)
        self.on = True
        return queue


def test_pods_that_an_event_helps_wait_for_their_turn_when_plugins_hang_over_the_first() -> None:
    plugins = Hanging()
    queue = plugins.rejected("abc")
    queue.on_event(ADD_NODE, 50)
    assert plugins.asked == ["a"]
    assert queue.next_time() == -math.inf
    queue.on_event(ADD_NODE, 50)
    assert plugins.asked == ["a"]
    queue.flush(50)
    assert plugins.asked == ["a", "b"]
    queue.flush(50)
    assert plugins.asked == ["a", "b", "c"]
    assert queue.counts() == {"active": 3, "backoff": 0, "unschedulable": 0, "gated": 0}
    assert queue.next_time() is None


def test_a_pod_that_is_gone_before_its_turn_has_none() -> None:
    plugins = Hanging()
    queue = plugins.rejected("ab")
    queue.on_event(ADD_NODE, 50)
    queue.remove(make_pod("b"))
    queue.flush(50)
    assert plugins.asked == ["a"]
    assert len(queue) == 1


def test_pods_that_are_to_be_tried_at_once_wait_for_their_turn_as_well() -> None:
    plugins = Hanging()
    queue = plugins.rejected("abc")
    queue.activate([make_pod(name) for name in "abc"], 50)
    assert plugins.asked == ["a"]
    queue.flush(50)
    queue.flush(50)
    assert queue.counts()["active"] == 3


def test_pods_whose_time_is_over_wait_for_their_turn_when_plugins_hang_over_the_first() -> None:
    plugins = Hanging()
    queue = plugins.rejected("abc")
    for count in (1, 2, 3):
        queue.flush(1000)
        assert len(plugins.asked) == count
        queued = queue.pop(1000)
        assert queued is not None
        assert len(plugins.asked) == count
    assert queue.counts()["unschedulable"] == 0


class Interrupted(hook.QueueSort, hook.PreEnqueue, hook.PreFilter, hook.Requeues):
    """Is interrupted whenever it is asked at one of its hooks, as if it hung there."""

    name = "Interrupted"

    def __init__(self, hangs: str) -> None:
        self.asked: list[str] = []
        self.on = False
        self._hangs = hangs

    def _ask(self, where: str, pod: Pod) -> None:
        if self.on and where == self._hangs:
            self.asked.append(pod.name)
            raise foreign.Interruption("it took too long")

    def sort_key(self, pod: Pod, since: float) -> tuple[float, ...]:
        self._ask("sort_key", pod)
        return (since,)

    def pre_enqueue(self, pod: Pod) -> None:
        self._ask("pre_enqueue", pod)

    def pre_filter(self, cycle: Cycle) -> mr.Verdict:
        return mr.reject("no")

    def requeue_on(self) -> Sequence[hook.RequeueHint]:
        return (hook.RequeueHint(Node, hook.Action.ADD, self._helps),)

    def _helps(self, pod: Pod, old: object, new: object) -> bool:
        self._ask("helps", pod)
        return True


@pytest.mark.parametrize("hangs", ["sort_key", "pre_enqueue", "helps"])
def test_each_hook_of_the_queue_hangs_over_one_pod_at_a_time(hangs: str) -> None:
    plugin = Interrupted(hangs)
    policy = mr.Policy("interrupted")
    policy.add(plugin)
    plugins = {"queueSort": {"disabled": [{"name": "PrioritySort"}]}}
    profile = {"schedulerName": PROFILE, "plugins": plugins}
    world = World(make_node("a"), config={**CONFIG, "profiles": [profile]}, policy=policy)
    world.put(*(make_pod(name) for name in "abc"))
    world.run()
    assert world.core.queue.counts()["unschedulable"] == 3
    world.now += 30
    plugin.on = True
    world.put(make_node("b"))
    assert len(plugin.asked) == 1
    world.core.tick(world.now)
    assert len(plugin.asked) == (1 if hangs == "helps" else 2)
    world.core.tick(world.now)
    world.core.tick(world.now)
    assert world.core.queue.counts()["unschedulable"] == 0
