"""The scheduling queue and time: backoff, pods that wait too long, what is next."""

import pytest

from mooring.scheduler.queue import Queue, QueueSettings
from mooring.scheduler.queued_pod import QueuedPod, SubQueue
from tests.unit.scheduler.queues import (
    ADD_CLASS,
    ADD_NODE,
    Gates,
    a_pod,
    make_queue,
    reject,
    sub_queue_of,
    taken,
)


def fail(queue: Queue, now: float) -> QueuedPod:
    """The next attempt fails for no plugin's reason."""
    queued = taken(queue, now)
    queue.requeue(queued, (), now, error=True)
    return queued


@pytest.mark.parametrize(
    ("attempts", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (6, 10), (5000, 10)]
)
def test_the_backoff_doubles_up_to_its_limit(attempts: int, seconds: float) -> None:
    assert QueueSettings().backoff(attempts) == seconds


def test_the_configured_backoff() -> None:
    settings = QueueSettings(initial_backoff=3, max_backoff=20)
    assert [settings.backoff(attempts) for attempts in (1, 2, 3, 4)] == [3, 6, 12, 20]


@pytest.mark.parametrize(("began", "over"), [(100.0, 102.0), (100.3, 102.0), (100.999, 102.0)])
def test_a_backoff_ends_with_its_second(began: float, over: float) -> None:
    queue = make_queue()
    queue.add(a_pod(), began)
    queued = fail(queue, began)
    assert queued.sub_queue is SubQueue.ERROR_BACKOFF
    assert queue.next_time() == over
    queue.flush(over - 0.001)
    assert queued.sub_queue is SubQueue.ERROR_BACKOFF
    queue.flush(over)
    assert (queued.sub_queue, queue.next_time()) == (SubQueue.ACTIVE, None)


def test_pods_leave_backoff_in_the_order_of_their_ends() -> None:
    queue = make_queue()
    for name in "abc":
        queue.add(a_pod(name), 0)
    flying = [taken(queue) for _ in range(3)]
    for queued, now in zip(flying, (0.0, 5.0, 3.0), strict=True):
        queue.requeue(queued, (), now, error=True)
    assert queue.next_time() == 2
    queue.flush(2)
    assert queue.next_time() == 5
    queue.flush(5)
    assert [sub_queue_of(queue, name) for name in "abc"] == [
        SubQueue.ACTIVE,
        SubQueue.ERROR_BACKOFF,
        SubQueue.ACTIVE,
    ]


def test_errors_and_rejections_are_counted_apart() -> None:
    queue = make_queue()
    queue.add(a_pod(), 0)
    ends = []
    for now, error in ((0, True), (100, True), (200, False), (300, False), (400, True)):
        queued = taken(queue, now)
        queue.on_event(ADD_NODE, now)
        queue.requeue(queued, {"Nodes"}, now, error=error)
        ends.append(queued.backoff_until - now)
    assert ends == [1, 2, 1, 2, 1], (
        "an error after rejections starts again, and so did the rejections"
    )
    assert (queued.errors, queued.rejections, queued.attempts) == (1, 2, 5)


def test_an_error_forgets_who_rejected_before() -> None:
    queue = make_queue()
    queued = reject(queue, a_pod(), "Nodes")
    queue.on_event(ADD_NODE, 60)
    fail(queue, 60)
    assert (queued.sub_queue, queued.unschedulable_plugins, queue.rejected) == (
        SubQueue.ERROR_BACKOFF,
        frozenset(),
        {},
    )


def test_nobody_to_blame_is_an_error() -> None:
    queue = make_queue()
    queue.add(a_pod(), 0)
    assert queue.requeue(taken(queue), (), 0) is SubQueue.ERROR_BACKOFF


def test_a_woken_pod_waits_for_the_rest_of_its_backoff() -> None:
    queue = make_queue()
    queued = reject(queue, a_pod(), "Nodes", now=10.5)
    queue.on_event(ADD_NODE, 11.9)
    assert (queued.sub_queue, queue.next_time()) == (SubQueue.BACKOFF, 12)
    queue = make_queue()
    queued = reject(queue, a_pod(), "Nodes", now=10.5)
    queue.on_event(ADD_NODE, 12)
    assert queued.sub_queue is SubQueue.ACTIVE


def test_no_backoff_at_all() -> None:
    queue = make_queue(max_backoff=0)
    queue.add(a_pod(), 0)
    assert fail(queue, 0).sub_queue is SubQueue.ACTIVE


# -- nothing better to do


def test_rejected_pods_leave_backoff_early_when_nothing_is_ready() -> None:
    queue = make_queue()
    for name, priority in (("low", 1), ("high", 5)):
        queued = reject(queue, a_pod(name, priority=priority), "Nodes")
        queue.on_event(ADD_NODE, 0)
        assert queued.sub_queue is SubQueue.BACKOFF
    queue.add(a_pod("ready"), 0)
    assert [taken(queue, 0.5).pod.name for _ in range(3)] == ["ready", "high", "low"]


def test_the_end_of_the_backoff_counts_more_than_the_order() -> None:
    queue = make_queue()
    for name, priority, now in (("low", 1, 0.0), ("high", 5, 1.0)):
        queue.add(a_pod(name, priority=priority), now)
        queued = taken(queue, now)
        queue.on_event(ADD_NODE, now)
        queue.requeue(queued, {"Nodes"}, now)
    assert [taken(queue, 1.0).pod.name for _ in range(2)] == ["low", "high"]


def test_a_pod_in_backoff_that_changes_finds_its_new_place() -> None:
    queue = make_queue()
    for name in "ab":
        reject(queue, a_pod(name), "Nodes")
    queue.on_event(ADD_NODE, 0)
    queue.update(a_pod("b"), a_pod("b", priority=3), 0)
    assert sub_queue_of(queue, "b") is SubQueue.BACKOFF
    assert [taken(queue).pod.name for _ in range(2)] == ["b", "a"]


def test_pods_that_failed_never_leave_backoff_early() -> None:
    queue = make_queue()
    queue.add(a_pod(), 0)
    fail(queue, 0)
    queue.update(a_pod(), a_pod(priority=3), 0)
    assert queue.pop(1.9) is None
    assert taken(queue, 2.0).pod.priority == 3


# -- pods that wait too long


def test_a_rejected_pod_is_tried_again_after_five_minutes() -> None:
    queue = make_queue()
    queued = reject(queue, a_pod(), "Never", now=7)
    assert queue.next_time() == 307
    queue.flush(306.9)
    assert (queued.sub_queue, queued.flushed) == (SubQueue.UNSCHEDULABLE, False)
    queue.flush(307)
    assert (queued.sub_queue, queued.flushed) == (SubQueue.ACTIVE, True)
    assert queue.incoming["active", "UnschedulableTimeout"] == 1
    queue.requeue(taken(queue, 307), {"Never"}, 308)
    assert (queued.flushed, queue.next_time()) == (False, 608)


def test_after_a_short_wait_the_backoff_counts() -> None:
    queue = make_queue(max_unschedulable=2, initial_backoff=5)
    queued = reject(queue, a_pod(), "Never")
    queue.flush(2)
    assert (queued.sub_queue, queue.next_time()) == (SubQueue.BACKOFF, 6)


def test_a_pod_that_is_held_back_is_looked_at_every_five_minutes() -> None:
    gates = Gates()
    gates.closed.add("pod")
    queue = make_queue(gates)
    queue.add(a_pod(), 0)
    queued = queue.get("default/pod")
    assert queued is not None
    for now in (300, 600):
        assert queue.next_time() == now
        queue.flush(now)
        assert (queued.sub_queue, queued.flushed) == (SubQueue.GATED, False)
    assert (len(gates.asked), queue.next_time()) == (3, 900)
    gates.closed.clear()
    queue.flush(900)
    assert queued.sub_queue is SubQueue.ACTIVE


def test_no_time_at_all_ends() -> None:
    gates = Gates()
    gates.closed.add("pod")
    queue = make_queue(gates, max_unschedulable=0)
    queue.add(a_pod(), 0)
    queue.flush(0)
    assert sub_queue_of(queue, "pod") is SubQueue.GATED


def test_being_told_in_vain_does_not_prolong_the_wait() -> None:
    gates = Gates()
    gates.closed.add("pod")
    queue = make_queue(gates)
    queue.add(a_pod(), 0)
    queue.on_event(ADD_CLASS, 100)
    assert queue.next_time() == 300


def test_popping_lets_time_pass() -> None:
    queue = make_queue()
    queue.add(a_pod("failed", priority=5), 0)
    fail(queue, 0)
    queue.add(a_pod("ready"), 0)
    assert taken(queue, 2).pod.name == "failed"


def test_nothing_is_next_in_an_empty_queue() -> None:
    queue = make_queue()
    queue.add(a_pod(), 0)
    assert queue.next_time() is None
