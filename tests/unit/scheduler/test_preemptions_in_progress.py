"""Making room: a pod waits until the state shows what became of its victims, and takes no more."""

from typing import Any

import pytest
from msgspec.structs import replace

import mooring as mr
from mooring import Node, Pod, hook
from mooring.framework.cycle import Cycle
from mooring.model.pod import PodCondition
from mooring.scheduler.effects import PatchStatus, PreemptVictims, VictimsPreempted
from mooring.scheduler.preemptions_in_progress import PATIENCE_SECONDS, PreemptionsInProgress
from mooring.scheduler.queued_pod import SubQueue
from mooring.testing import make_node, make_pod
from tests.unit.scheduler.world import World


def node(name: str) -> Node:
    return make_node(name, cpu="4", memory="16Gi")


def pod(name: str, cpu: str = "4", priority: int = 0, **spec: Any) -> Pod:
    made = make_pod(name, requests={"cpu": cpu}).raw
    meta = {**made["metadata"], "uid": f"{name}-uid", "creationTimestamp": "2026-01-01T00:00:00Z"}
    whole = {**made["spec"], "priority": priority, **spec}
    return Pod.from_dict({**made, "metadata": meta, "spec": whole})


def terminating(victim: Pod) -> Pod:
    """A victim as the watch shows it when its end has begun."""
    target = PodCondition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
    return replace(
        victim,
        metadata=replace(victim.metadata, deletion_timestamp="2026-01-01T00:00:10Z"),
        status=replace(victim.status, conditions=[target]),
    )


class Crowd(World):
    """Two full nodes, a third with a pod that nobody needs, and a pod that needs a whole node."""

    def __init__(self, **more: Any) -> None:
        self.victims = {name: pod(f"on-{name}", nodeName=name) for name in "ab"}
        self.bystander = pod("bystander", "1", nodeName="c")
        rest = pod("rest", "3", priority=200, nodeName="c")
        super().__init__(*map(node, "abc"), *self.victims.values(), self.bystander, rest, **more)
        self.prompt = False

    def make_room(self) -> PreemptVictims:
        """The pod arrives, and room is to be made for it."""
        self.put(pod("vip", priority=100))
        self.run()
        (evict,) = self.evicts
        self.evicts.clear()
        assert [one.name for one in evict.victims] == [f"on-{evict.node}"]
        return evict

    def wake(self) -> None:
        """Something happens elsewhere that makes the pod worth another try."""
        self.delete(self.bystander)
        self.wait(2)

    def report(self, evict: PreemptVictims, error: str = "") -> None:
        self.do(self.core.report(VictimsPreempted(evict.preemptor, error), self.now))
        self.wait(2)

    @property
    def sub_queue(self) -> SubQueue:
        queued = self.core.queue.get("default/vip")
        assert queued is not None
        return queued.sub_queue

    @property
    def bound(self) -> list[tuple[str, str]]:
        return [(one.pod.name, one.binding.node_name) for one in self.binds]


def test_no_further_victim_is_taken_before_the_watch_shows_the_first_one_gone() -> None:
    world = Crowd()
    evict = world.make_room()
    world.wake()
    assert world.sub_queue is SubQueue.GATED
    world.report(evict)
    assert (world.evicts, world.sub_queue) == ([], SubQueue.GATED)
    world.delete(evict.victims[0])
    world.wait(2)
    assert world.bound == [("vip", evict.node)]
    assert world.evicts == []


def test_what_wakes_the_pod_after_the_report_changes_nothing() -> None:
    world = Crowd()
    evict = world.make_room()
    world.report(evict)
    world.wake()
    assert (world.evicts, world.sub_queue) == ([], SubQueue.GATED)
    world.delete(evict.victims[0])
    world.wait(2)
    assert world.bound == [("vip", evict.node)]


def test_a_victim_that_ends_slowly_is_waited_for() -> None:
    world = Crowd()
    evict = world.make_room()
    world.wake()
    world.report(evict)
    world.put(terminating(evict.victims[0]))
    world.wait(2)
    assert (world.evicts, world.bound, world.sub_queue) == ([], [], SubQueue.UNSCHEDULABLE)
    assert "a terminating pod on the nominated node" in world.events[-1][2]
    world.delete(evict.victims[0])
    world.wait(2)
    assert world.bound == [("vip", evict.node)]


class Forgetful(Crowd):
    """The API server is slow to take what is said about pods' statuses."""

    def __init__(self) -> None:
        self.patches: list[PatchStatus] = []
        super().__init__()

    def _patch(self, effect: PatchStatus) -> None:
        self.patches.append(effect)


def test_a_promise_the_watch_has_not_shown_yet_is_as_good_as_one_it_has() -> None:
    """Otherwise the victim that is ending on the nominated node would not be noticed."""
    world = Forgetful()
    evict = world.make_room()
    world.wake()
    world.put(terminating(evict.victims[0]))
    world.report(evict)
    assert (world.evicts, world.sub_queue) == ([], SubQueue.UNSCHEDULABLE)
    assert [one.nominated_node for one in world.patches] == [evict.node, None]
    world.delete(evict.victims[0])
    world.wait(2)
    assert world.bound == [("vip", evict.node)]


def test_a_search_that_finds_nothing_takes_the_promise_back() -> None:
    world = Crowd()
    evict = world.make_room()
    world.report(evict)
    nominations = world.cluster.nominations
    assert nominations.node_of("default/vip") == evict.node
    for name, victim in world.victims.items():
        world.put(pod(victim.name, priority=300, nodeName=name))
    world.wait(PATIENCE_SECONDS)
    assert nominations.node_of("default/vip") is None
    assert not world.pods["default/vip"].status.nominated_node_name


def test_a_pod_that_may_take_nobody_keeps_the_promise_it_has() -> None:
    promised = pod("polite", priority=100, preemptionPolicy="Never")
    status = replace(promised.status, nominated_node_name="a")
    world = Crowd()
    world.put(replace(promised, status=status))
    world.run()
    assert "preemptionPolicy=Never" in world.events[-1][2]
    assert world.cluster.nominations.node_of("default/polite") == "a"


def test_an_eviction_that_failed_is_tried_again_at_once() -> None:
    world = Crowd()
    evict = world.make_room()
    world.report(evict, "default/on-a: the API server is away")
    (again,) = world.evicts
    assert again.preemptor.name == "vip"


def test_a_victim_the_watch_never_shows_gone_does_not_hold_the_pod_for_ever() -> None:
    world = Crowd()
    evict = world.make_room()
    world.report(evict)
    due = world.core.next_time()
    assert due is not None
    assert due <= world.now + PATIENCE_SECONDS
    world.wait(PATIENCE_SECONDS - 3)
    assert world.evicts == []
    world.wait(3)
    (again,) = world.evicts
    assert again.preemptor.name == "vip"


def test_a_new_pod_of_a_victims_name_is_not_the_victim() -> None:
    world = Crowd()
    evict = world.make_room()
    world.wake()
    world.report(evict)
    raw = evict.victims[0].raw
    world.put(Pod.from_dict({**raw, "metadata": {**raw["metadata"], "uid": "another"}}))
    world.wait(2)
    assert [one.victims[0].uid for one in world.evicts] in (["another"], ["on-b-uid"])


def test_all_victims_must_be_seen() -> None:
    small = [pod(f"small-{index}", "2", nodeName="a") for index in range(2)]
    world = World(node("a"), *small, pod("vip", priority=100))
    world.prompt = False
    world.run()
    evict = world.evicts.pop()
    assert len(evict.victims) == 2
    world.do(world.core.report(VictimsPreempted(evict.preemptor), world.now))
    world.delete(small[0])
    world.wait(2)
    assert (world.evicts, world.binds) == ([], [])
    world.delete(small[1])
    world.wait(2)
    assert [one.pod.name for one in world.binds] == ["vip"]


class Shared(World):
    """One node with four places, all taken, and two pods that want one each."""

    def __init__(self) -> None:
        self.low = [pod(f"low-{index}", "1", nodeName="a") for index in range(4)]
        super().__init__(node("a"), *self.low)
        self.prompt = False

    def ask(self, name: str) -> PreemptVictims | None:
        """A pod arrives; whom it takes, if anybody."""
        self.put(pod(name, "1", priority=100))
        self.run()
        return self.evicts.pop() if self.evicts else None

    def told(self, evict: PreemptVictims, error: str = "") -> None:
        self.do(self.core.report(VictimsPreempted(evict.preemptor, error), self.now))
        self.wait(2)

    def gone(self, evict: PreemptVictims) -> None:
        for victim in evict.victims:
            self.delete(victim)
        self.wait(2)


def marked(world: World, evict: PreemptVictims) -> None:
    """Victims get their condition before they are deleted, which changes their place in line."""
    for victim in evict.victims:
        doomed = terminating(victim)
        world.put(replace(doomed, metadata=victim.metadata))
        world.run()


def test_a_pod_does_not_take_more_while_its_node_is_emptied_for_another() -> None:
    world = Shared()
    first = world.ask("first")
    assert first is not None
    world.gone(first)
    second = world.ask("second")
    assert second is not None
    marked(world, second)
    # The first one's place is free, but the second one's is not, which is nominated there as well.
    world.told(first)
    assert (world.evicts, world.binds) == ([], [])
    world.told(second)
    world.gone(second)
    assert sorted(one.pod.name for one in world.binds) == ["first", "second"]
    assert world.evicts == []
    assert len(world.cluster.pods_on(0)) == 4


def test_who_comes_later_takes_nobody_for_one_who_is_on_the_way_out() -> None:
    world = Shared()
    first = world.ask("first")
    assert first is not None
    marked(world, first)
    # The search would spare the one that is going, and take two others.
    assert world.ask("second") is None
    world.told(first)
    world.gone(first)
    (second,) = world.evicts
    world.evicts.clear()
    assert len(second.victims) == 1
    world.told(second)
    world.gone(second)
    assert sorted(one.pod.name for one in world.binds) == ["first", "second"]
    assert world.evicts == []
    assert len(world.cluster.pods_on(0)) == 4


def test_who_comes_later_may_take_the_same_one_and_another() -> None:
    world = Shared()
    first = world.ask("first")
    assert first is not None
    second = world.ask("second")
    assert second is not None
    assert {one.uid for one in first.victims} < {one.uid for one in second.victims}
    assert len(second.victims) == 2


def test_who_waits_for_the_victims_of_another_is_tried_when_their_eviction_fails() -> None:
    world = Shared()
    first = world.ask("first")
    assert first is not None
    world.gone(first)
    second = world.ask("second")
    assert second is not None
    world.told(first)
    world.told(second, "default/low-1: the API server is away")
    assert world.evicts
    assert {one.preemptor.name for one in world.evicts} <= {"first", "second"}


class Keeper(hook.Permit):
    """Lets pods of no priority wait."""

    name = "Keeper"

    def permit(self, cycle: Cycle, node: Node) -> Any:
        return hook.Wait(600) if cycle.pod.priority == 0 else None


def test_a_victim_that_only_waits_for_permission_is_sent_back_without_a_deletion() -> None:
    policy = mr.Policy("keeper")
    policy.add(Keeper())
    world = World(node("a"), pod("low"), policy=policy)
    world.run()
    assert len(world.core.waiting) == 1
    world.put(pod("vip", priority=100))
    world.run()
    (evict,) = world.evicts
    assert evict.victims == ()
    world.wait(2)
    assert world.where("vip") == "a"
    assert len(world.core.waiting) == 0


def test_forty_pods_take_forty_victims_however_late_the_watch_is() -> None:
    """Each deletion hints all the others, and reports come long before what the watch shows."""
    count = 40
    names = [f"n{index:02}" for index in range(count)]
    victims = [pod(f"on-{name}", nodeName=name) for name in names]
    world = World(*map(node, names), *victims)
    world.prompt = False
    world.put(*(pod(f"vip-{index:02}", priority=100) for index in range(count)))
    world.run()
    evicts = list(world.evicts)
    taken: list[Pod] = []
    world.evicts.clear()
    assert len(evicts) == count
    for one in evicts:
        world.do(world.core.report(VictimsPreempted(one.preemptor), world.now))
        world.wait(0.1)
        taken += one.victims
    for victim in taken:
        world.delete(victim)
        world.wait(0.1)
    world.wait(20)
    assert world.evicts == []
    assert len({one.binding.node_name for one in world.binds}) == count


@pytest.fixture
def evictions() -> PreemptionsInProgress:
    return PreemptionsInProgress()


VIP = pod("vip", priority=100)


def test_it_is_over_when_it_was_reported_and_every_victim_was_seen(
    evictions: PreemptionsInProgress,
) -> None:
    evictions.start(VIP, "a", ["x", "y"])
    assert evictions.leaving("a") == {"x", "y"}
    assert evictions.seen("x") == []
    assert evictions.leaving("a") == {"y"}
    assert not evictions.reported(VIP, 5.0)
    assert evictions.next_time() == 5.0 + PATIENCE_SECONDS
    assert evictions.seen("unknown") == []
    assert evictions.seen("y") == [VIP]
    assert (evictions.next_time(), len(evictions)) == (None, 0)


def test_victims_may_be_seen_before_the_report(evictions: PreemptionsInProgress) -> None:
    evictions.start(VIP, "a", ["x"])
    assert evictions.seen("x") == []
    assert evictions.reported(VIP, 5.0)
    assert len(evictions) == 0


def test_one_victim_may_make_room_for_several(evictions: PreemptionsInProgress) -> None:
    other = pod("other", priority=100)
    for one in (VIP, other):
        evictions.start(one, "a", ["x"])
        assert not evictions.reported(one, 5.0)
    assert evictions.seen("x") == [VIP, other]


def test_patience_ends_for_those_that_were_reported(evictions: PreemptionsInProgress) -> None:
    other = pod("other", priority=100)
    evictions.start(VIP, "a", ["x"])
    evictions.start(other, "a", ["x", "y"])
    assert not evictions.reported(VIP, 5.0)
    assert evictions.late(4.0 + PATIENCE_SECONDS) == []
    assert evictions.late(5.0 + PATIENCE_SECONDS) == [VIP]
    assert evictions.late(1e9) == []
    assert evictions.leaving("a") == {"x", "y"}
    assert evictions.seen("x") == []
    assert evictions.reported(pod("unknown"), 6.0)


def test_a_failure_is_the_end(evictions: PreemptionsInProgress) -> None:
    evictions.start(VIP, "a", ["x", "y"])
    assert evictions.reported(VIP, 5.0, failed=True)
    assert evictions.leaving("a") == set()
    assert (evictions.seen("x"), evictions.seen("y"), len(evictions)) == ([], [], 0)
