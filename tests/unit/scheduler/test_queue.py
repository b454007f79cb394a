"""The scheduling queue: parts and moves."""

import pytest

from mooring import Pod
from mooring.framework.happenings import wakes_of
from mooring.plugins.scheduling_gates import SchedulingGates
from mooring.scheduler.queue import Queue, QueueSettings
from mooring.scheduler.queued_pod import Part
from mooring.testing import make_pod
from tests.unit.scheduler.queues import (
    ADD_CLASS,
    ADD_NODE,
    DELETE_POD,
    PROFILE,
    Gates,
    a_pod,
    by_priority,
    make_queue,
    node_for,
    part_of,
    refuse,
    taken,
)


def names(queue: Queue, now: float) -> list[str]:
    found = []
    while (queued := queue.pop(now)) is not None:
        found.append(queued.pod.name)
    return found


# -- order and attempts


def test_pods_are_taken_by_priority_and_then_by_age() -> None:
    queue = make_queue()
    for number, (name, priority) in enumerate([("a", 0), ("b", 5), ("c", 5), ("d", -1)]):
        queue.add(a_pod(name, priority=priority), float(number))
    assert queue.counts() == {"active": 4, "backoff": 0, "unschedulable": 0, "gated": 0}
    assert names(queue, 9) == ["b", "c", "a", "d"]
    assert queue.pop(9) is None


def test_a_changed_pod_finds_its_new_place() -> None:
    queue = make_queue()
    queue.add(a_pod("a"), 0)
    queue.add(a_pod("b"), 1)
    new = a_pod("b", priority=7)
    queue.update(a_pod("b"), new, 2)
    queued = taken(queue, 3)
    assert queued.pod is new
    assert queued.since == 1


def test_attempts_and_times_are_kept() -> None:
    queue = make_queue()
    queue.add(a_pod(), 10)
    queued = taken(queue, 12)
    assert (queued.attempts, queued.since, queued.first_tried) == (1, 10, 10)
    queue.requeue(queued, {"Nodes"}, 13)
    assert (queued.attempts, queued.since, queued.first_tried) == (1, 13, 10)
    queue.happened(ADD_NODE, 100)
    assert taken(queue, 100) is queued
    assert (queued.attempts, queued.since, queued.first_tried) == (2, 13, 10)


def test_a_pod_that_is_done_is_out() -> None:
    queue = make_queue()
    queue.add(a_pod(), 0)
    queued = taken(queue)
    assert (queued.part, len(queue.flights)) == (Part.IN_FLIGHT, 1)
    assert queue.pending("default/pod") is queued
    queue.done(queued)
    queue.done(queued)
    assert queued.part is Part.OUT
    assert (len(queue), len(queue.flights), queue.pending("default/pod")) == (0, 0, None)


# -- names and unique ids


def test_a_pod_that_is_added_again_is_one_pod() -> None:
    queue = make_queue()
    queue.add(a_pod(), 0)
    again = a_pod(labels={"new": "yes"})
    queue.add(again, 5)
    assert len(queue) == 1
    assert taken(queue).pod is again
    assert queue.pop(5) is None


def test_a_pod_created_anew_takes_the_place_of_the_old_one() -> None:
    queue = make_queue()
    old = refuse(queue, a_pod(life=1), "Nodes")
    queue.add(a_pod(life=2), 1)
    assert old.part is Part.OUT
    assert queue.counts()["unschedulable"] == 0
    new = taken(queue)
    assert (new.pod.uid, new.attempts) == ("pod-2", 1)
    assert queue.refused == {}


def test_a_pod_created_anew_while_the_old_one_is_in_flight() -> None:
    queue = make_queue()
    queue.add(a_pod(life=1), 0)
    old = taken(queue)
    queue.update(old.pod, a_pod(life=2), 1)
    new = taken(queue, 1)
    assert new is not old
    assert queue.requeue(old, {"Nodes"}, 2) is Part.OUT
    queue.done(old)
    assert queue.pending("default/pod") is new
    assert len(queue.flights) == 1
    assert queue.requeue(new, {"Nodes"}, 3) is Part.UNSCHEDULABLE


def test_the_end_of_an_older_pod_leaves_the_new_one() -> None:
    queue = make_queue()
    queue.add(a_pod(life=2), 0)
    queue.remove(a_pod(life=1))
    assert taken(queue).pod.uid == "pod-2"


def test_an_update_of_an_unknown_pod_adds_it() -> None:
    queue = make_queue()
    queue.update(None, a_pod(), 4)
    assert taken(queue, 4).since == 4


@pytest.mark.parametrize("part", [p for p in Part if p not in (Part.IN_FLIGHT, Part.OUT)])
def test_a_pod_can_be_removed_from_every_part(part: Part) -> None:
    gates = Gates()
    queue = make_queue(gates)
    if part is Part.GATED:
        gates.closed.add("pod")
    queue.add(a_pod(), 0)
    if part not in (Part.ACTIVE, Part.GATED):
        queued = taken(queue)
        if part is Part.BACKOFF:
            queue.happened(ADD_NODE, 0)
        queue.requeue(queued, {"Nodes"}, 0, error=part is Part.ERROR_BACKOFF)
    assert part_of(queue, "pod") is part
    queue.remove(a_pod())
    assert (len(queue), set(queue.counts().values()), queue.next_time()) == (0, {0}, None)
    assert queue.refused == {}
    queue.flush(1000)
    assert queue.pop(1000) is None


def test_a_pod_that_goes_while_in_flight_does_not_come_back() -> None:
    queue = make_queue()
    queue.add(a_pod(), 0)
    queued = taken(queue)
    queue.remove(a_pod())
    assert queue.pending("default/pod") is None
    assert queue.requeue(queued, {"Nodes"}, 1) is Part.OUT
    assert (len(queue), len(queue.flights)) == (0, 0)


def test_a_pod_that_goes_in_its_second_attempt_is_counted_out_once() -> None:
    queue = make_queue()
    queued = refuse(queue, a_pod(), "Nodes")
    queue.happened(ADD_NODE, 60)
    assert taken(queue, 60) is queued
    queue.remove(a_pod())
    assert queue.refused == {}


# -- failed attempts


def test_a_refused_pod_waits_for_a_change_that_helps() -> None:
    queue = make_queue()
    queued = refuse(queue, a_pod(), "Nodes", now=0)
    assert part_of(queue, "pod") is Part.UNSCHEDULABLE
    queue.happened(ADD_CLASS, 60)
    assert part_of(queue, "pod") is Part.UNSCHEDULABLE
    queue.happened(DELETE_POD, 60)
    assert taken(queue, 60) is queued


def test_a_pod_is_put_back_once() -> None:
    queue = make_queue()
    queued = refuse(queue, a_pod(), "Nodes")
    assert queue.requeue(queued, (), 5, error=True) is Part.UNSCHEDULABLE
    assert (queued.since, queued.errors, queued.refusals) == (0, 0, 1)


def test_the_pod_comes_back_as_it_is_known_now() -> None:
    queue = make_queue()
    queue.add(a_pod(), 0)
    queued = taken(queue)
    new = a_pod(labels={"a": "b"})
    queue.requeue(queued, {"Nodes"}, 1, pod=new)
    assert queued.pod is new


def test_an_update_in_flight_is_what_comes_back() -> None:
    queue = make_queue()
    queue.add(a_pod(), 0)
    queued = taken(queue)
    new = a_pod(labels={"a": "b"})
    queue.update(a_pod(), new, 1)
    assert queue.requeue(queued, {"Nodes"}, 2) is Part.UNSCHEDULABLE
    assert queued.pod is new


def test_a_failed_binding_brings_a_pod_back_that_was_done() -> None:
    queue = make_queue()
    queue.add(a_pod(), 0)
    queued = taken(queue)
    queue.done(queued)
    assert queue.requeue(queued, {"Nodes"}, 5, flown=True) is Part.BACKOFF
    assert queue.pending("default/pod") is queued
    assert queue.requeue(queued, {"Nodes"}, 6, flown=True) is Part.BACKOFF
    assert queued.since == 5


def test_a_failed_binding_does_not_bring_back_a_pod_whose_name_is_taken() -> None:
    queue = make_queue()
    queue.add(a_pod(life=1), 0)
    queued = taken(queue)
    queue.done(queued)
    queue.add(a_pod(life=2), 1)
    assert queue.requeue(queued, (), 5, error=True, flown=True) is Part.OUT
    assert taken(queue, 5).pod.uid == "pod-2"


# -- pods change


def test_a_refused_pod_is_woken_by_its_own_change_if_that_helps() -> None:
    queue = make_queue()
    refuse(queue, a_pod("a"), "Labels")
    refuse(queue, a_pod("b"), "Nodes")
    refuse(queue, a_pod("c"), "Labels")
    for name in "ab":
        queue.update(a_pod(name), a_pod(name, labels={"new": "yes"}), 30)
    assert [part_of(queue, name) for name in "abc"] == [
        Part.ACTIVE,
        Part.UNSCHEDULABLE,
        Part.UNSCHEDULABLE,
    ]


def test_an_update_without_the_pod_before_is_compared_with_the_one_known() -> None:
    queue = make_queue()
    queued = refuse(queue, a_pod(), "Labels")
    queue.update(None, a_pod(labels={"new": "yes"}), 30)
    assert queued.part is Part.ACTIVE


def test_a_change_of_the_status_alone_wakes_nobody() -> None:
    queue = make_queue()
    old = a_pod()
    queued = refuse(queue, old, "Extender")
    metadata = {**old.raw["metadata"], "resourceVersion": "7", "generation": 3}
    new = Pod.from_dict({**old.raw, "metadata": metadata, "status": {"startTime": "now"}})
    queue.update(old, new, 60)
    assert (queued.part, queued.pod) == (Part.UNSCHEDULABLE, new)
    annotated = Pod.from_dict({**new.raw, "metadata": {**metadata, "annotations": {"a": "b"}}})
    queue.update(new, annotated, 60)
    assert part_of(queue, "pod") is Part.ACTIVE


# -- held back


def test_a_pod_is_held_back_until_its_plugin_is_told_something() -> None:
    gates = Gates()
    gates.closed.add("pod")
    queue = make_queue(gates)
    queue.add(a_pod(), 0)
    queued = queue.pending("default/pod")
    assert queued is not None
    assert (queued.part, queued.gate, queued.first_tried) == (Part.GATED, "Gate", None)
    assert queue.counts() == {"active": 0, "backoff": 0, "unschedulable": 0, "gated": 1}
    queue.happened(ADD_NODE, 1)
    assert gates.asked == ["pod"]
    queue.happened(ADD_CLASS, 2)
    assert (gates.asked, queued.part) == (["pod", "pod"], Part.GATED)
    gates.closed.clear()
    queue.happened(ADD_CLASS, 3)
    assert (queued.part, queued.gate, queued.first_tried) == (Part.ACTIVE, "", 3)
    assert taken(queue, 3).attempts == 1


def test_a_refused_pod_is_held_back_when_it_is_woken() -> None:
    gates = Gates()
    queue = make_queue(gates)
    queued = refuse(queue, a_pod(), "Nodes")
    gates.closed.add("pod")
    queue.happened(ADD_NODE, 50)
    assert (queued.part, sorted(queued.refusers)) == (Part.GATED, ["Gate", "Nodes"])
    queue.happened(ADD_NODE, 60)
    assert part_of(queue, "pod") is Part.GATED
    gates.closed.clear()
    queue.happened(ADD_NODE, 70)
    assert part_of(queue, "pod") is Part.GATED, "what does not concern the gate does not open it"
    queue.happened(ADD_CLASS, 80)
    assert part_of(queue, "pod") is Part.ACTIVE


def test_a_pod_that_failed_is_held_back_instead_of_backing_off() -> None:
    gates = Gates()
    queue = make_queue(gates)
    queue.add(a_pod(), 0)
    queued = taken(queue)
    gates.closed.add("pod")
    assert queue.requeue(queued, (), 1, error=True) is Part.GATED


def test_pods_that_leave_backoff_are_not_asked_again() -> None:
    gates = Gates()
    queue = make_queue(gates)
    queue.add(a_pod(), 0)
    queue.requeue(taken(queue), (), 0, error=True)
    gates.closed.add("pod")
    assert len(gates.asked) == 2
    queue.flush(100)
    assert (part_of(queue, "pod"), len(gates.asked)) == (Part.ACTIVE, 2)


def gated(*gates: str) -> Pod:
    return make_pod(spec={"schedulingGates": [{"name": name} for name in gates]})


def test_kubernetes_scheduling_gates() -> None:
    plugin = SchedulingGates()

    def gate(pod: Pod) -> str | None:
        return None if plugin.pre_enqueue(pod) is None else plugin.name

    wakes = {PROFILE: {plugin.name: wakes_of(plugin)}}
    queue = Queue(by_priority, wakes, gate, QueueSettings())
    queue.add(gated("a", "b"), 0)
    assert part_of(queue, "pod") is Part.GATED
    queue.update(gated("a", "b"), gated("b"), 1)
    assert part_of(queue, "pod") is Part.GATED
    queue.update(gated("b"), gated(), 2)
    assert part_of(queue, "pod") is Part.ACTIVE


# -- activate


def test_activated_pods_do_not_wait() -> None:
    gates = Gates()
    queue = make_queue(gates)
    refuse(queue, a_pod("refused"), "Never")
    queue.add(a_pod("failed"), 0)
    queue.requeue(taken(queue), (), 0, error=True)
    queue.add(a_pod("flies"), 0)
    flies = taken(queue)
    gates.closed.add("gated")
    queue.add(a_pod("gated"), 0)
    queue.add(a_pod("ready"), 0)
    gates.asked.clear()
    everybody = ("refused", "failed", "flies", "gated", "ready", "unknown")
    queue.activate([a_pod(name) for name in everybody], 0)
    assert part_of(queue, "refused") is Part.ACTIVE
    assert part_of(queue, "failed") is Part.ACTIVE
    assert part_of(queue, "gated") is Part.GATED
    assert part_of(queue, "ready") is Part.ACTIVE
    assert gates.asked == ["refused", "gated"]
    assert queue.requeue(flies, {"Never"}, 0) is Part.BACKOFF


def test_another_pod_of_the_same_name_is_not_activated() -> None:
    queue = make_queue()
    queued = refuse(queue, a_pod(life=2), "Never")
    queue.activate([a_pod(life=1)], 0)
    assert queued.part is Part.UNSCHEDULABLE


# -- only some pods


def test_a_promise_that_is_given_up_helps_pods_of_no_higher_priority() -> None:
    queue = make_queue()
    for name, priority in (("low", 1), ("same", 5), ("high", 9)):
        refuse(queue, a_pod(name, priority=priority), "Nodes")
    queue.happened_to_promise(a_pod("gone", priority=5), 60)
    assert part_of(queue, "low") is Part.ACTIVE
    assert part_of(queue, "same") is Part.ACTIVE
    assert part_of(queue, "high") is Part.UNSCHEDULABLE


def test_a_change_can_be_told_to_some() -> None:
    queue = make_queue()
    refuse(queue, a_pod("a"), "Nodes")
    refuse(queue, a_pod("b"), "Nodes")
    queue.happened(ADD_NODE, 60, among=lambda pod: pod.name == "b")
    assert part_of(queue, "a") is Part.UNSCHEDULABLE
    assert part_of(queue, "b") is Part.ACTIVE


# -- figures


def test_the_figures_for_metrics() -> None:
    gates = Gates()
    queue = make_queue(gates)
    refuse(queue, a_pod("a"), "Nodes", "Never")
    refuse(queue, a_pod("b"), "Nodes")
    gates.closed.add("c")
    queue.add(a_pod("c"), 0)
    assert queue.refused == {("Nodes", PROFILE): 2, ("Never", PROFILE): 1, ("Gate", PROFILE): 1}
    queue.happened(node_for("nobody"), 0)
    assert queue.counts() == {"active": 0, "backoff": 2, "unschedulable": 0, "gated": 1}
    taken(queue)
    queue.flush(5)
    assert queue.counts() == {"active": 1, "backoff": 0, "unschedulable": 0, "gated": 1}
    assert queue.incoming == {
        ("active", "UnschedulablePodAdd"): 2,
        ("unschedulable", "UnschedulablePodAdd"): 1,
        ("unschedulable", "ScheduleAttemptFailure"): 2,
        ("backoff", "NodeAdd"): 2,
        ("active", "PopFromBackoffQ"): 1,
        ("active", "BackoffComplete"): 1,
    }
    assert queue.refused == {("Nodes", PROFILE): 1, ("Gate", PROFILE): 1}
    assert sorted(queued.pod.name for queued in queue) == ["a", "b", "c"]
