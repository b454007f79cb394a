"""Which cluster events requeue which pods, also those that happen while a pod is being decided."""

from collections.abc import Sequence
from typing import Any

import pytest

from mooring import Node, Pod
from mooring.framework.cluster_events import EVERY_EVENT, ClusterEvent
from mooring.framework.hook import Action, RequeueHint
from mooring.scheduler.in_flight_pods import InFlightPods
from mooring.scheduler.queue import Queue, QueueSettings
from mooring.scheduler.queued_pod import QueuedPod, SubQueue
from mooring.testing import make_node
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

LABELLED = ClusterEvent(Node, Action.UPDATE_NODE_LABEL, make_node("n"), make_node("n"))
TAINTED = ClusterEvent(Node, Action.UPDATE_NODE_TAINT, make_node("n"), make_node("n"))


@pytest.mark.parametrize(
    ("plugins", "event", "requeues"),
    [
        (["Nodes"], ADD_NODE, True),
        (["Nodes"], DELETE_POD, True),
        (["Nodes"], ADD_CLASS, False),
        (["Nodes"], LABELLED, False),
        (["Never"], ADD_NODE, False),
        (["Never", "Nodes"], ADD_NODE, True),
        (["Choosy"], node_for("pod"), True),
        (["Choosy"], node_for("other"), False),
        (["Choosy"], ADD_CLASS, False),
        (["Extender"], ADD_CLASS, True),
        (["Extender", "Never"], TAINTED, True),
    ],
)
def test_only_what_helps_a_rejector_wakes_a_pod(
    plugins: Sequence[str], event: ClusterEvent, requeues: bool
) -> None:
    queue = make_queue()
    queued = reject(queue, a_pod(), *plugins)
    queue.on_event(event, 60)
    assert (queued.sub_queue is SubQueue.ACTIVE) is requeues
    # And the same while it is in binding_cycle.
    queue = make_queue()
    queue.add(a_pod(), 0)
    queued = taken(queue)
    queue.on_event(event, 0)
    sub_queue = queue.requeue(queued, plugins, 0)
    assert sub_queue is (SubQueue.BACKOFF if requeues else SubQueue.UNSCHEDULABLE)


def test_several_updates_at_once() -> None:
    queue = make_queue()
    queued = reject(queue, a_pod(), "Choosy")
    both = node_for("pod")._replace(actions=Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT)
    queue.on_event(both, 60)
    assert queued.sub_queue is SubQueue.ACTIVE


def broken(pod: Pod, old: Any, new: Any) -> bool:
    raise ValueError("no idea")


def test_a_hint_that_fails_wakes_the_pod_and_is_told() -> None:
    told: list[tuple[str, Exception]] = []
    hints = {PROFILE: {"Broken": [RequeueHint(Node, Action.ADD, broken)]}}
    queue = Queue(
        by_priority, hints, Gates(), QueueSettings(), lambda *failure: told.append(failure)
    )
    queued = reject(queue, a_pod(), "Broken")
    queue.on_event(ADD_NODE, 60)
    assert queued.sub_queue is SubQueue.ACTIVE
    assert [(plugin, str(error)) for plugin, error in told] == [("Broken", "no idea")]


def test_a_hint_that_fails_needs_nobody_to_tell() -> None:
    hints = {PROFILE: {"Broken": [RequeueHint(Node, Action.ADD, broken)]}}
    queue = Queue(by_priority, hints, Gates(), QueueSettings())
    queued = reject(queue, a_pod(), "Broken")
    queue.on_event(ADD_NODE, 60)
    assert queued.sub_queue is SubQueue.ACTIVE


def test_profiles_do_not_share_plugins() -> None:
    hints: dict[str, dict[str, Sequence[RequeueHint]]] = {
        PROFILE: {"P": ()},
        "other": {"P": EVERY_EVENT},
    }
    queue = Queue(by_priority, hints, Gates(), QueueSettings())
    raw = a_pod("other").raw
    other = Pod.from_dict({**raw, "spec": {**raw["spec"], "schedulerName": "other"}})
    reject(queue, a_pod("mine"), "P")
    reject(queue, other, "P")
    assert queue.rejected == {("P", PROFILE): 1, ("P", "other"): 1}
    queue.on_event(ADD_NODE, 60)
    assert sub_queue_of(queue, "mine") is SubQueue.UNSCHEDULABLE
    assert sub_queue_of(queue, "other") is SubQueue.ACTIVE


# -- several plugins


@pytest.mark.parametrize(
    ("plugins", "sub_queue"),
    [
        (["Nodes"], SubQueue.BACKOFF),
        (["Nodes", "Never"], SubQueue.BACKOFF),
        (["Never"], SubQueue.UNSCHEDULABLE),
    ],
)
def test_an_event_helps_if_it_helps_one_of_those_that_rejected(
    plugins: Sequence[str], sub_queue: SubQueue
) -> None:
    queue = make_queue()
    queue.add(a_pod(), 0)
    queued = taken(queue)
    queue.requeue(queued, plugins, 0)
    assert (queued.rejections, queued.sub_queue) == (1, SubQueue.UNSCHEDULABLE)
    queue.on_event(ADD_NODE, 0)
    assert queued.sub_queue is sub_queue
    # And the same while it is in flight, whatever happened before.
    queue = make_queue()
    queue.add(a_pod(), 0)
    queued = taken(queue)
    queue.on_event(DELETE_POD, 0)
    queue.activate([a_pod()] if sub_queue is SubQueue.BACKOFF else [], 0)
    queue.on_event(ADD_NODE, 0)
    assert queue.requeue(queued, plugins, 0) is sub_queue


# -- in flight


def test_what_happened_before_a_pod_was_taken_is_not_counted() -> None:
    queue = make_queue()
    queue.add(a_pod("first"), 0)
    first = taken(queue)
    queue.on_event(ADD_NODE, 0)
    queue.add(a_pod("second"), 0)
    second = taken(queue)
    assert queue.requeue(second, {"Nodes"}, 0) is SubQueue.UNSCHEDULABLE
    assert queue.requeue(first, {"Nodes"}, 0) is SubQueue.BACKOFF


def test_what_happened_is_not_counted_twice() -> None:
    queue = make_queue()
    queue.add(a_pod(), 0)
    queued = taken(queue)
    queue.on_event(ADD_NODE, 0)
    queue.requeue(queued, {"Nodes"}, 0)
    assert taken(queue, 50) is queued
    assert queue.requeue(queued, {"Nodes"}, 50) is SubQueue.UNSCHEDULABLE


def test_an_update_in_flight_is_told_to_that_pod_alone() -> None:
    queue = make_queue()
    for name in "ab":
        queue.add(a_pod(name), 0)
    a, b = taken(queue), taken(queue)
    queue.update(a_pod("a"), a_pod("a", labels={"new": "yes"}), 0)
    assert queue.requeue(b, {"Labels"}, 0) is SubQueue.UNSCHEDULABLE
    assert queue.requeue(a, {"Labels"}, 0) is SubQueue.BACKOFF


def test_changes_are_kept_as_long_as_somebody_may_ask() -> None:
    queue = make_queue()
    queue.on_event(ADD_NODE, 0)
    assert queue.in_flight.changes == 0
    for name in "abc":
        queue.add(a_pod(name), 0)
    a = taken(queue)
    queue.on_event(ADD_NODE, 0)
    b = taken(queue)
    queue.on_event(ADD_NODE, 0)
    queue.on_event(ADD_NODE, 0)
    c = taken(queue)
    assert queue.in_flight.changes == 3
    queue.done(b)
    assert queue.in_flight.changes == 3
    queue.done(a)
    assert queue.in_flight.changes == 0
    queue.on_event(ADD_NODE, 0)
    assert queue.in_flight.changes == 1
    queue.done(c)
    assert (queue.in_flight.changes, len(queue.in_flight)) == (0, 0)


def started(flights: InFlightPods, name: str) -> QueuedPod:
    queued = QueuedPod(a_pod(name), 0)
    flights.start(queued)
    return queued


def test_of_too_many_changes_the_oldest_are_forgotten_but_not_that_they_were() -> None:
    flights = InFlightPods(most_changes=3)
    old = started(flights, "old")
    flights.record(ADD_CLASS)
    young = started(flights, "young")
    for event in (ADD_NODE, DELETE_POD, LABELLED):
        flights.record(event)
    assert flights.changes == 3
    assert (flights.helped(old), list(flights.since(old))) == (True, [])
    assert (flights.helped(young), list(flights.since(young))) == (
        False,
        [ADD_NODE, DELETE_POD, LABELLED],
    )
    assert (list(flights), len(flights), old in flights) == ([young, old], 2, True)
    assert flights.finish(old)
    assert not flights.finish(old)
    assert (len(flights), flights.helped(old)) == (1, False)


def test_a_long_chain_of_changes_is_freed() -> None:
    flights = InFlightPods(most_changes=200_000)
    queued = started(flights, "pod")
    for _ in range(150_000):
        flights.record(ADD_NODE)
    assert flights.finish(queued)
    assert flights.changes == 0
