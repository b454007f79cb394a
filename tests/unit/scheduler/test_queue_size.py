"""The work that a large queue does, counted and not timed."""

import math
from collections.abc import Iterator
from typing import Any

import pytest

from mooring import Node, Pod
from mooring.framework.hook import Action, RequeueHint
from mooring.model.storage import StorageClass
from mooring.scheduler.queue import Queue, QueueSettings
from tests.unit.scheduler.queues import ADD_CLASS, ADD_NODE, PROFILE, a_pod, taken

PODS = 30_000
#: Comparisons of numbers that one operation may take on average: a few for each level of a heap.
FEW = 8 * math.log2(PODS)


class Counted(float):
    """A number that counts how often it is compared."""

    compared = 0

    def __lt__(self, other: object) -> bool:
        Counted.compared += 1
        return float(self) < float(other)  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return float(self) == float(other)  # type: ignore[arg-type]

    __hash__ = float.__hash__


class Work:
    """Counts what plugins are asked."""

    def __init__(self) -> None:
        self.gates = 0
        self.orders = 0
        self.hints = 0

    def gate(self, pod: Pod) -> str | None:
        self.gates += 1
        return None

    def order(self, pod: Pod, since: float) -> tuple[float, ...]:
        self.orders += 1
        return (Counted(-pod.priority), Counted(since))

    def helps(self, pod: Pod, old: Any, new: Any) -> bool:
        self.hints += 1
        return pod.priority == 0


@pytest.fixture(scope="module")
def pods() -> list[Pod]:
    # A scattered order: the priorities go round and round.
    return [a_pod(f"p{number}", priority=number * 7919 % 1000) for number in range(PODS)]


@pytest.fixture
def work() -> Iterator[Work]:
    Counted.compared = 0
    yield Work()
    Counted.compared = 0


def make_queue(work: Work) -> Queue:
    hints = {
        PROFILE: {
            "Nodes": [RequeueHint(Node, Action.ADD, work.helps)],
            "Classes": [RequeueHint(StorageClass, Action.ADD, work.helps)],
        }
    }
    return Queue(work.order, hints, work.gate, QueueSettings())


def test_every_operation_looks_at_few_pods(pods: list[Pod], work: Work) -> None:
    queue = make_queue(work)
    for number, pod in enumerate(pods):
        queue.add(pod, number / PODS)
    assert Counted.compared < PODS * FEW
    assert (work.orders, work.gates) == (PODS, PODS)

    Counted.compared = 0
    for pod in pods[: PODS // 3]:
        queue.update(pod, pod, 1)
    for pod in pods[: PODS // 3]:
        queue.remove(pod)
    assert Counted.compared < PODS * FEW
    assert work.gates == PODS

    Counted.compared = 0
    taken_pods = [taken(queue, 1) for _ in range(PODS - PODS // 3)]
    assert Counted.compared < PODS * FEW
    order = [(-queued.pod.priority, queued.since) for queued in taken_pods]
    assert order == sorted(order)

    Counted.compared = 0
    for queued in taken_pods:
        queue.requeue(queued, (), 1, error=True)
    queue.flush(100)
    assert queue.counts()["active"] == PODS - PODS // 3
    assert Counted.compared < PODS * FEW


def test_a_change_is_shown_only_to_pods_whom_it_may_concern(pods: list[Pod], work: Work) -> None:
    queue = make_queue(work)
    for number, pod in enumerate(pods[:10_000]):
        queue.add(pod, 0)
        queue.requeue(taken(queue), {"Classes" if number < 100 else "Nodes"}, 0)
    assert queue.counts()["unschedulable"] == 10_000
    asked = work.gates, work.orders

    queue.on_event(ADD_CLASS, 60)
    assert work.hints == 100
    woken = sum(pod.priority == 0 for pod in pods[:100])
    assert queue.counts()["active"] == woken
    assert (work.gates, work.orders) == (asked[0] + woken, asked[1] + woken)

    looked_at: list[Pod] = []
    queue.on_event(ADD_NODE._replace(actions=Action.DELETE), 60, among=looked_at.append)  # type: ignore[arg-type]
    assert looked_at == []

    queue.on_event(ADD_NODE, 60)
    assert work.hints == 100 + 9_900


def test_what_happens_while_thousands_are_in_flight_is_kept_once(
    pods: list[Pod], work: Work
) -> None:
    queue = make_queue(work)
    for pod in pods[:5000]:
        queue.add(pod, 0)
    flying = [taken(queue) for _ in range(5000)]
    for _ in range(1000):
        queue.on_event(ADD_NODE, 0)
    assert (len(queue.in_flight), queue.in_flight.changes, work.hints) == (5000, 1000, 0)
    for queued in flying:
        queue.done(queued)
    assert (len(queue.in_flight), queue.in_flight.changes, work.hints) == (0, 0, 0)
