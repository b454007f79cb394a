"""Which changes wake which pods, also those that happen while a pod is being decided."""

from collections.abc import Sequence
from typing import Any

import pytest

from mooring import Node, Pod
from mooring.framework.happenings import EVERY_CHANGE, Happening
from mooring.framework.hook import Action, Wake
from mooring.scheduler.inflight import InFlight
from mooring.scheduler.queue import Queue, QueueSettings
from mooring.scheduler.queued_pod import Part, QueuedPod
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
    part_of,
    refuse,
    taken,
)

LABELLED = Happening(Node, Action.UPDATE_NODE_LABEL, make_node("n"), make_node("n"))
TAINTED = Happening(Node, Action.UPDATE_NODE_TAINT, make_node("n"), make_node("n"))


@pytest.mark.parametrize(
    ("plugins", "happening", "wakes"),
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
def test_only_what_helps_a_refuser_wakes_a_pod(
    plugins: Sequence[str], happening: Happening, wakes: bool
) -> None:
    queue = make_queue()
    queued = refuse(queue, a_pod(), *plugins)
    queue.happened(happening, 60)
    assert (queued.part is Part.ACTIVE) is wakes
    # And the same while it is in flight.
    queue = make_queue()
    queue.add(a_pod(), 0)
    queued = taken(queue)
    queue.happened(happening, 0)
    part = queue.requeue(queued, plugins, 0)
    assert part is (Part.BACKOFF if wakes else Part.UNSCHEDULABLE)


def test_several_updates_at_once() -> None:
    queue = make_queue()
    queued = refuse(queue, a_pod(), "Choosy")
    both = node_for("pod")._replace(actions=Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT)
    queue.happened(both, 60)
    assert queued.part is Part.ACTIVE


def broken(pod: Pod, old: Any, new: Any) -> bool:
    raise ValueError("no idea")


def test_a_hint_that_fails_wakes_the_pod_and_is_told() -> None:
    told: list[tuple[str, Exception]] = []
    wakes = {PROFILE: {"Broken": [Wake(Node, Action.ADD, broken)]}}
    queue = Queue(
        by_priority, wakes, Gates(), QueueSettings(), lambda *failure: told.append(failure)
    )
    queued = refuse(queue, a_pod(), "Broken")
    queue.happened(ADD_NODE, 60)
    assert queued.part is Part.ACTIVE
    assert [(plugin, str(error)) for plugin, error in told] == [("Broken", "no idea")]


def test_a_hint_that_fails_needs_nobody_to_tell() -> None:
    wakes = {PROFILE: {"Broken": [Wake(Node, Action.ADD, broken)]}}
    queue = Queue(by_priority, wakes, Gates(), QueueSettings())
    queued = refuse(queue, a_pod(), "Broken")
    queue.happened(ADD_NODE, 60)
    assert queued.part is Part.ACTIVE


def test_profiles_do_not_share_plugins() -> None:
    wakes: dict[str, dict[str, Sequence[Wake]]] = {
        PROFILE: {"P": ()},
        "other": {"P": EVERY_CHANGE},
    }
    queue = Queue(by_priority, wakes, Gates(), QueueSettings())
    raw = a_pod("other").raw
    other = Pod.from_dict({**raw, "spec": {**raw["spec"], "schedulerName": "other"}})
    refuse(queue, a_pod("mine"), "P")
    refuse(queue, other, "P")
    assert queue.refused == {("P", PROFILE): 1, ("P", "other"): 1}
    queue.happened(ADD_NODE, 60)
    assert part_of(queue, "mine") is Part.UNSCHEDULABLE
    assert part_of(queue, "other") is Part.ACTIVE


# -- plugins for which a pod waits


@pytest.mark.parametrize(
    ("pending", "plugins", "part"),
    [
        (["Nodes"], [], Part.ACTIVE),
        (["Nodes"], ["Nodes", "Never"], Part.ACTIVE),
        (["Never"], ["Nodes"], Part.BACKOFF),
        (["Never"], ["Never"], Part.UNSCHEDULABLE),
    ],
)
def test_what_a_pod_waits_for_ends_its_backoff(
    pending: Sequence[str], plugins: Sequence[str], part: Part
) -> None:
    queue = make_queue()
    queue.add(a_pod(), 0)
    queued = taken(queue)
    queue.requeue(queued, plugins, 0, pending=pending)
    assert (queued.refusals, queued.part) == (1, Part.UNSCHEDULABLE)
    queue.happened(ADD_NODE, 0)
    assert queued.part is part
    # And the same while it is in flight, whatever happened before.
    queue = make_queue()
    queue.add(a_pod(), 0)
    queued = taken(queue)
    queue.happened(DELETE_POD, 0)
    queue.activate([a_pod()] if part is Part.BACKOFF else [], 0)
    queue.happened(ADD_NODE, 0)
    assert queue.requeue(queued, plugins, 0, pending=pending) is part


# -- in flight


def test_what_happened_before_a_pod_was_taken_is_not_counted() -> None:
    queue = make_queue()
    queue.add(a_pod("first"), 0)
    first = taken(queue)
    queue.happened(ADD_NODE, 0)
    queue.add(a_pod("second"), 0)
    second = taken(queue)
    assert queue.requeue(second, {"Nodes"}, 0) is Part.UNSCHEDULABLE
    assert queue.requeue(first, {"Nodes"}, 0) is Part.BACKOFF


def test_what_happened_is_not_counted_twice() -> None:
    queue = make_queue()
    queue.add(a_pod(), 0)
    queued = taken(queue)
    queue.happened(ADD_NODE, 0)
    queue.requeue(queued, {"Nodes"}, 0)
    assert taken(queue, 50) is queued
    assert queue.requeue(queued, {"Nodes"}, 50) is Part.UNSCHEDULABLE


def test_an_update_in_flight_is_told_to_that_pod_alone() -> None:
    queue = make_queue()
    for name in "ab":
        queue.add(a_pod(name), 0)
    a, b = taken(queue), taken(queue)
    queue.update(a_pod("a"), a_pod("a", labels={"new": "yes"}), 0)
    assert queue.requeue(b, {"Labels"}, 0) is Part.UNSCHEDULABLE
    assert queue.requeue(a, {"Labels"}, 0) is Part.BACKOFF


def test_changes_are_kept_as_long_as_somebody_may_ask() -> None:
    queue = make_queue()
    queue.happened(ADD_NODE, 0)
    assert queue.flights.changes == 0
    for name in "abc":
        queue.add(a_pod(name), 0)
    a = taken(queue)
    queue.happened(ADD_NODE, 0)
    b = taken(queue)
    queue.happened(ADD_NODE, 0)
    queue.happened(ADD_NODE, 0)
    c = taken(queue)
    assert queue.flights.changes == 3
    queue.done(b)
    assert queue.flights.changes == 3
    queue.done(a)
    assert queue.flights.changes == 0
    queue.happened(ADD_NODE, 0)
    assert queue.flights.changes == 1
    queue.done(c)
    assert (queue.flights.changes, len(queue.flights)) == (0, 0)


def started(flights: InFlight, name: str) -> QueuedPod:
    queued = QueuedPod(a_pod(name), 0)
    flights.start(queued)
    return queued


def test_of_too_many_changes_the_oldest_are_forgotten_but_not_that_they_were() -> None:
    flights = InFlight(most_changes=3)
    old = started(flights, "old")
    flights.record(ADD_CLASS)
    young = started(flights, "young")
    for happening in (ADD_NODE, DELETE_POD, LABELLED):
        flights.record(happening)
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
    flights = InFlight(most_changes=200_000)
    queued = started(flights, "pod")
    for _ in range(150_000):
        flights.record(ADD_NODE)
    assert flights.finish(queued)
    assert flights.changes == 0
