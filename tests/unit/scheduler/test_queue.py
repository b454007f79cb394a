"""The scheduling queue: parts and moves."""

import pytest

from mooring import Pod
from mooring.framework.cluster_events import hints_of
from mooring.plugins.queueing.scheduling_gates import SchedulingGates
from mooring.scheduler.queue import Queue, QueueSettings
from mooring.scheduler.queued_pod import SubQueue
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
    reject,
    sub_queue_of,
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
    queue.on_event(ADD_NODE, 100)
    assert taken(queue, 100) is queued
    assert (queued.attempts, queued.since, queued.first_tried) == (2, 13, 10)


def test_a_pod_that_is_done_is_out() -> None:
    queue = make_queue()
    queue.add(a_pod(), 0)
    queued = taken(queue)
    assert (queued.sub_queue, len(queue.in_flight)) == (SubQueue.IN_FLIGHT, 1)
    assert queue.get("default/pod") is queued
    queue.done(queued)
    queue.done(queued)
    assert queued.sub_queue is SubQueue.OUT
    assert (len(queue), len(queue.in_flight), queue.get("default/pod")) == (0, 0, None)


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
    old = reject(queue, a_pod(life=1), "Nodes")
    queue.add(a_pod(life=2), 1)
    assert old.sub_queue is SubQueue.OUT
    assert queue.counts()["unschedulable"] == 0
    new = taken(queue)
    assert (new.pod.uid, new.attempts) == ("pod-2", 1)
    assert queue.rejected == {}


def test_a_pod_created_anew_while_the_old_one_is_in_flight() -> None:
    queue = make_queue()
    queue.add(a_pod(life=1), 0)
    old = taken(queue)
    queue.update(old.pod, a_pod(life=2), 1)
    new = taken(queue, 1)
    assert new is not old
    assert queue.requeue(old, {"Nodes"}, 2) is SubQueue.OUT
    queue.done(old)
    assert queue.get("default/pod") is new
    assert len(queue.in_flight) == 1
    assert queue.requeue(new, {"Nodes"}, 3) is SubQueue.UNSCHEDULABLE


def test_the_end_of_an_older_pod_leaves_the_new_one() -> None:
    queue = make_queue()
    queue.add(a_pod(life=2), 0)
    queue.remove(a_pod(life=1))
    assert taken(queue).pod.uid == "pod-2"


def test_an_update_of_an_unknown_pod_adds_it() -> None:
    queue = make_queue()
    queue.update(None, a_pod(), 4)
    assert taken(queue, 4).since == 4


@pytest.mark.parametrize(
    "sub_queue", [p for p in SubQueue if p not in (SubQueue.IN_FLIGHT, SubQueue.OUT)]
)
def test_a_pod_can_be_removed_from_every_sub_queue(sub_queue: SubQueue) -> None:
    gates = Gates()
    queue = make_queue(gates)
    if sub_queue is SubQueue.GATED:
        gates.closed.add("pod")
    queue.add(a_pod(), 0)
    if sub_queue not in (SubQueue.ACTIVE, SubQueue.GATED):
        queued = taken(queue)
        if sub_queue is SubQueue.BACKOFF:
            queue.on_event(ADD_NODE, 0)
        queue.requeue(queued, {"Nodes"}, 0, error=sub_queue is SubQueue.ERROR_BACKOFF)
    assert sub_queue_of(queue, "pod") is sub_queue
    queue.remove(a_pod())
    assert (len(queue), set(queue.counts().values()), queue.next_time()) == (0, {0}, None)
    assert queue.rejected == {}
    queue.flush(1000)
    assert queue.pop(1000) is None


def test_a_pod_that_goes_while_in_flight_does_not_come_back() -> None:
    queue = make_queue()
    queue.add(a_pod(), 0)
    queued = taken(queue)
    queue.remove(a_pod())
    assert queue.get("default/pod") is None
    assert queue.requeue(queued, {"Nodes"}, 1) is SubQueue.OUT
    assert (len(queue), len(queue.in_flight)) == (0, 0)


def test_a_pod_that_goes_in_its_second_attempt_is_counted_out_once() -> None:
    queue = make_queue()
    queued = reject(queue, a_pod(), "Nodes")
    queue.on_event(ADD_NODE, 60)
    assert taken(queue, 60) is queued
    queue.remove(a_pod())
    assert queue.rejected == {}


# -- failed attempts


def test_a_rejected_pod_waits_for_a_change_that_helps() -> None:
    queue = make_queue()
    queued = reject(queue, a_pod(), "Nodes", now=0)
    assert sub_queue_of(queue, "pod") is SubQueue.UNSCHEDULABLE
    queue.on_event(ADD_CLASS, 60)
    assert sub_queue_of(queue, "pod") is SubQueue.UNSCHEDULABLE
    queue.on_event(DELETE_POD, 60)
    assert taken(queue, 60) is queued


def test_a_pod_is_put_back_once() -> None:
    queue = make_queue()
    queued = reject(queue, a_pod(), "Nodes")
    assert queue.requeue(queued, (), 5, error=True) is SubQueue.UNSCHEDULABLE
    assert (queued.since, queued.errors, queued.rejections) == (0, 0, 1)


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
    assert queue.requeue(queued, {"Nodes"}, 2) is SubQueue.UNSCHEDULABLE
    assert queued.pod is new


def test_a_failed_binding_brings_a_pod_back_that_was_done() -> None:
    queue = make_queue()
    queue.add(a_pod(), 0)
    queued = taken(queue)
    queue.done(queued)
    assert queue.requeue(queued, {"Nodes"}, 5, bind_failed=True) is SubQueue.BACKOFF
    assert queue.get("default/pod") is queued
    assert queue.requeue(queued, {"Nodes"}, 6, bind_failed=True) is SubQueue.BACKOFF
    assert queued.since == 5


def test_a_failed_binding_does_not_bring_back_a_pod_whose_name_is_taken() -> None:
    queue = make_queue()
    queue.add(a_pod(life=1), 0)
    queued = taken(queue)
    queue.done(queued)
    queue.add(a_pod(life=2), 1)
    assert queue.requeue(queued, (), 5, error=True, bind_failed=True) is SubQueue.OUT
    assert taken(queue, 5).pod.uid == "pod-2"


# -- pods change


def test_a_rejected_pod_is_woken_by_its_own_change_if_that_helps() -> None:
    queue = make_queue()
    reject(queue, a_pod("a"), "Labels")
    reject(queue, a_pod("b"), "Nodes")
    reject(queue, a_pod("c"), "Labels")
    for name in "ab":
        queue.update(a_pod(name), a_pod(name, labels={"new": "yes"}), 30)
    assert [sub_queue_of(queue, name) for name in "abc"] == [
        SubQueue.ACTIVE,
        SubQueue.UNSCHEDULABLE,
        SubQueue.UNSCHEDULABLE,
    ]


def test_an_update_without_the_pod_before_is_compared_with_the_one_known() -> None:
    queue = make_queue()
    queued = reject(queue, a_pod(), "Labels")
    queue.update(None, a_pod(labels={"new": "yes"}), 30)
    assert queued.sub_queue is SubQueue.ACTIVE


def test_a_change_of_the_status_alone_wakes_nobody() -> None:
    queue = make_queue()
    old = a_pod()
    queued = reject(queue, old, "Extender")
    metadata = {**old.raw["metadata"], "resourceVersion": "7", "generation": 3}
    new = Pod.from_dict({**old.raw, "metadata": metadata, "status": {"startTime": "now"}})
    queue.update(old, new, 60)
    assert (queued.sub_queue, queued.pod) == (SubQueue.UNSCHEDULABLE, new)
    annotated = Pod.from_dict({**new.raw, "metadata": {**metadata, "annotations": {"a": "b"}}})
    queue.update(new, annotated, 60)
    assert sub_queue_of(queue, "pod") is SubQueue.ACTIVE


# -- held back


def test_a_pod_is_held_back_until_its_plugin_is_told_something() -> None:
    gates = Gates()
    gates.closed.add("pod")
    queue = make_queue(gates)
    queue.add(a_pod(), 0)
    queued = queue.get("default/pod")
    assert queued is not None
    assert (queued.sub_queue, queued.gate, queued.first_tried) == (SubQueue.GATED, "Gate", None)
    assert queue.counts() == {"active": 0, "backoff": 0, "unschedulable": 0, "gated": 1}
    queue.on_event(ADD_NODE, 1)
    assert gates.asked == ["pod"]
    queue.on_event(ADD_CLASS, 2)
    assert (gates.asked, queued.sub_queue) == (["pod", "pod"], SubQueue.GATED)
    gates.closed.clear()
    queue.on_event(ADD_CLASS, 3)
    assert (queued.sub_queue, queued.gate, queued.first_tried) == (SubQueue.ACTIVE, "", 3)
    assert taken(queue, 3).attempts == 1


def test_a_rejected_pod_is_held_back_when_it_is_woken() -> None:
    gates = Gates()
    queue = make_queue(gates)
    queued = reject(queue, a_pod(), "Nodes")
    gates.closed.add("pod")
    queue.on_event(ADD_NODE, 50)
    assert (queued.sub_queue, sorted(queued.unschedulable_plugins)) == (
        SubQueue.GATED,
        ["Gate", "Nodes"],
    )
    queue.on_event(ADD_NODE, 60)
    assert sub_queue_of(queue, "pod") is SubQueue.GATED
    gates.closed.clear()
    queue.on_event(ADD_NODE, 70)
    assert sub_queue_of(queue, "pod") is SubQueue.GATED, (
        "what does not concern the gate does not open it"
    )
    queue.on_event(ADD_CLASS, 80)
    assert sub_queue_of(queue, "pod") is SubQueue.ACTIVE


def test_a_pod_that_failed_is_held_back_instead_of_backing_off() -> None:
    gates = Gates()
    queue = make_queue(gates)
    queue.add(a_pod(), 0)
    queued = taken(queue)
    gates.closed.add("pod")
    assert queue.requeue(queued, (), 1, error=True) is SubQueue.GATED


def test_pods_that_leave_backoff_are_not_asked_again() -> None:
    gates = Gates()
    queue = make_queue(gates)
    queue.add(a_pod(), 0)
    queue.requeue(taken(queue), (), 0, error=True)
    gates.closed.add("pod")
    assert len(gates.asked) == 2
    queue.flush(100)
    assert (sub_queue_of(queue, "pod"), len(gates.asked)) == (SubQueue.ACTIVE, 2)


def gated(*gates: str) -> Pod:
    return make_pod(spec={"schedulingGates": [{"name": name} for name in gates]})


def test_kubernetes_scheduling_gates() -> None:
    plugin = SchedulingGates()

    def gate(pod: Pod) -> str | None:
        return None if plugin.pre_enqueue(pod) is None else plugin.name

    hints = {PROFILE: {plugin.name: hints_of(plugin)}}
    queue = Queue(by_priority, hints, gate, QueueSettings())
    queue.add(gated("a", "b"), 0)
    assert sub_queue_of(queue, "pod") is SubQueue.GATED
    queue.update(gated("a", "b"), gated("b"), 1)
    assert sub_queue_of(queue, "pod") is SubQueue.GATED
    queue.update(gated("b"), gated(), 2)
    assert sub_queue_of(queue, "pod") is SubQueue.ACTIVE


# -- activate


def test_activated_pods_do_not_wait() -> None:
    gates = Gates()
    queue = make_queue(gates)
    reject(queue, a_pod("rejected"), "Never")
    queue.add(a_pod("failed"), 0)
    queue.requeue(taken(queue), (), 0, error=True)
    queue.add(a_pod("flies"), 0)
    flies = taken(queue)
    gates.closed.add("gated")
    queue.add(a_pod("gated"), 0)
    queue.add(a_pod("ready"), 0)
    gates.asked.clear()
    everybody = ("rejected", "failed", "flies", "gated", "ready", "unknown")
    queue.activate([a_pod(name) for name in everybody], 0)
    assert sub_queue_of(queue, "rejected") is SubQueue.ACTIVE
    assert sub_queue_of(queue, "failed") is SubQueue.ACTIVE
    assert sub_queue_of(queue, "gated") is SubQueue.GATED
    assert sub_queue_of(queue, "ready") is SubQueue.ACTIVE
    assert gates.asked == ["rejected", "gated"]
    assert queue.requeue(flies, {"Never"}, 0) is SubQueue.BACKOFF


def test_another_pod_of_the_same_name_is_not_activated() -> None:
    queue = make_queue()
    queued = reject(queue, a_pod(life=2), "Never")
    queue.activate([a_pod(life=1)], 0)
    assert queued.sub_queue is SubQueue.UNSCHEDULABLE


# -- only some pods


def test_a_promise_that_is_given_up_helps_pods_of_no_higher_priority() -> None:
    queue = make_queue()
    for name, priority in (("low", 1), ("same", 5), ("high", 9)):
        reject(queue, a_pod(name, priority=priority), "Nodes")
    queue.nomination_removed(a_pod("gone", priority=5), 60)
    assert sub_queue_of(queue, "low") is SubQueue.ACTIVE
    assert sub_queue_of(queue, "same") is SubQueue.ACTIVE
    assert sub_queue_of(queue, "high") is SubQueue.UNSCHEDULABLE


def test_a_change_can_be_told_to_some() -> None:
    queue = make_queue()
    reject(queue, a_pod("a"), "Nodes")
    reject(queue, a_pod("b"), "Nodes")
    queue.on_event(ADD_NODE, 60, among=lambda pod: pod.name == "b")
    assert sub_queue_of(queue, "a") is SubQueue.UNSCHEDULABLE
    assert sub_queue_of(queue, "b") is SubQueue.ACTIVE


# -- figures


def test_the_figures_for_metrics() -> None:
    gates = Gates()
    queue = make_queue(gates)
    reject(queue, a_pod("a"), "Nodes", "Never")
    reject(queue, a_pod("b"), "Nodes")
    gates.closed.add("c")
    queue.add(a_pod("c"), 0)
    assert queue.rejected == {("Nodes", PROFILE): 2, ("Never", PROFILE): 1, ("Gate", PROFILE): 1}
    queue.on_event(node_for("nobody"), 0)
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
    assert queue.rejected == {("Nodes", PROFILE): 1, ("Gate", PROFILE): 1}
    assert sorted(queued.pod.name for queued in queue) == ["a", "b", "c"]
