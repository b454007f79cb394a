"""Whatever happens, the queue has every pod in the part where a plain description says it is.

The description keeps one record for each pod and looks at all of them at every step. From it follow
the promises: no pod is lost or doubled, backoffs have the right length, and a change that helps is
never missed, even while the pod is being decided.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mooring import Node, Pod
from mooring.framework.cluster_events import ClusterEvent
from mooring.framework.hook import Action, RequeueHint
from mooring.model.storage import StorageClass
from mooring.scheduler.in_flight_pods import InFlightPods
from mooring.scheduler.queue import Queue, QueueSettings
from mooring.scheduler.queued_pod import QueuedPod, SubQueue
from mooring.testing import make_node, make_pod

PROFILE = "default-scheduler"
NAMES = st.sampled_from(["p", "q", "r", "s"])
PLUGINS = st.sets(st.sampled_from(["A", "B", "Odd", "Extender"]), max_size=3)
FIRST, MOST, LONGEST = 1, 10, 30


def helps_odd(pod: Pod, old: Any, new: Any) -> bool:
    return pod.priority % 2 == 1


WAKES = {
    "A": [RequeueHint(Node, Action.ADD)],
    "B": [RequeueHint(Node, Action.DELETE), RequeueHint(Pod, Action.UPDATE_POD_LABEL)],
    "Odd": [RequeueHint(Node, Action.ADD, helps_odd)],
    "Gate": [RequeueHint(StorageClass, Action.ADD)],
}
NODE = make_node("n")
CHANGES = {
    "node added": ClusterEvent(Node, Action.ADD, None, NODE),
    "node gone": ClusterEvent(Node, Action.DELETE, NODE, None),
    "class added": ClusterEvent(StorageClass, Action.ADD, None, StorageClass()),
}
#: The plugins that know that a change helps; "Odd" says so for odd priorities only.
HELPED = {
    "node added": {"A", "Odd", "Extender"},
    "node gone": {"B", "Extender"},
    "class added": {"Gate", "Extender"},
    "own labels": {"B", "Extender"},
    "own annotations": {"Extender"},
    "own status": set(),
}


@dataclass(eq=False)
class Entry:
    """What the description knows of a pod."""

    pod: Pod
    since: float
    sub_queue: SubQueue = SubQueue.OUT
    plugins: set[str] = field(default_factory=set)
    gate: bool = False
    rejections: int = 0
    errors: int = 0
    attempts: int = 0
    flushed_at: float = -math.inf
    seen: list[str] = field(default_factory=list)
    forced: bool = False
    queued: QueuedPod | None = None

    @property
    def until(self) -> float:
        count = self.errors or self.rejections
        wait = min(FIRST * 2 ** (count - 1), MOST) if count else 0
        return math.floor(self.since + wait) if count else -math.inf

    @property
    def place(self) -> tuple[float, ...]:
        """Where it stands in its part."""
        until = self.until if self.sub_queue is SubQueue.BACKOFF else 0
        return (until, -self.pod.priority, self.since)

    @property
    def deadline(self) -> float:
        return max(self.since, self.flushed_at) + LONGEST

    def helped_by(self, change: str) -> set[str]:
        odd = self.pod.priority % 2 == 1
        return {one for one in HELPED[change] & self.plugins if one != "Odd" or odd}


class QueueMachine(RuleBasedStateMachine):
    """Drives a queue and its description side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.closed: set[str] = set()
        self.queue = Queue(
            lambda pod, since: (-pod.priority, since),
            {PROFILE: WAKES},
            lambda pod: "Gate" if pod.name in self.closed else None,
            QueueSettings(initial_backoff=FIRST, max_backoff=MOST, max_unschedulable=LONGEST),
        )
        # So few that they overflow now and then.
        self.queue.in_flight = InFlightPods(most_changes=4)
        self.known: dict[str, Entry] = {}
        self.lives = 0
        self.labels = 0
        self.flying: list[tuple[QueuedPod, Entry]] = []
        self.binding: list[tuple[QueuedPod, Entry]] = []

    # -- the description

    def enter(self, entry: Entry, sub_queue: SubQueue) -> None:
        """To a sub_queue, past the gate."""
        if entry.pod.name in self.closed:
            entry.gate, entry.sub_queue = True, SubQueue.GATED
            entry.plugins.add("Gate")
        else:
            entry.gate, entry.sub_queue = False, sub_queue

    def retry(self, entry: Entry) -> None:
        if entry.until >= math.floor(self.now):
            self.enter(entry, SubQueue.BACKOFF if entry.plugins else SubQueue.ERROR_BACKOFF)
        else:
            self.enter(entry, SubQueue.ACTIVE)

    def tell(self, entry: Entry, change: str, *, own: bool = False) -> None:
        if entry.gate and not own and not HELPED[change] & {"Gate"}:
            return
        if entry.helped_by(change):
            self.retry(entry)

    def pass_time(self) -> None:
        for entry in self.known.values():
            if (
                entry.sub_queue in (SubQueue.BACKOFF, SubQueue.ERROR_BACKOFF)
                and entry.until + 1 <= self.now
            ):
                entry.sub_queue = SubQueue.ACTIVE
        for entry in self.known.values():
            held = entry.sub_queue in (SubQueue.UNSCHEDULABLE, SubQueue.GATED)
            if held and entry.deadline <= self.now:
                entry.flushed_at = self.now
                self.retry(entry)

    # -- what is done to both

    @rule(name=NAMES, priority=st.integers(0, 3))
    def add(self, name: str, priority: int) -> None:
        known = self.known.get(name)
        if known is not None and known.sub_queue is not SubQueue.IN_FLIGHT:
            return
        self.lives += 1
        raw = make_pod(name, priority=priority).raw
        metadata = {**raw["metadata"], "uid": f"{name}-{self.lives}"}
        entry = Entry(Pod.from_dict({**raw, "metadata": metadata}), self.now)
        self.queue.add(entry.pod, self.now)
        self.enter(entry, SubQueue.ACTIVE)
        self.known[name] = entry

    @precondition(lambda self: self.known)
    @rule(data=st.data(), change=st.sampled_from(["own labels", "own annotations", "own status"]))
    def update(self, data: st.DataObject, change: str) -> None:
        entry = self.known[data.draw(st.sampled_from(sorted(self.known)))]
        old = entry.pod
        self.labels += 1
        metadata = {**old.raw["metadata"], "resourceVersion": str(self.labels)}
        if change != "own status":
            metadata[change.removeprefix("own ")] = {"version": str(self.labels)}
        status = {"startTime": str(self.labels)}
        entry.pod = Pod.from_dict({**old.raw, "metadata": metadata, "status": status})
        self.queue.update(old, entry.pod, self.now)
        if entry.sub_queue is SubQueue.IN_FLIGHT:
            self.see(change, entry)
        elif entry.sub_queue in (SubQueue.UNSCHEDULABLE, SubQueue.GATED):
            self.tell(entry, change, own=True)

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.known)))
        self.queue.remove(self.known.pop(name).pod)

    @rule()
    def pop(self) -> None:
        self.pass_time()
        queued = self.queue.pop(self.now)
        ready = [one for one in self.known.values() if one.sub_queue is SubQueue.ACTIVE]
        if not ready:
            ready = [one for one in self.known.values() if one.sub_queue is SubQueue.BACKOFF]
        if queued is None:
            assert not ready
            return
        entry = self.known[queued.pod.name]
        assert entry in ready
        assert entry.place == min(one.place for one in ready)
        entry.sub_queue, entry.queued = SubQueue.IN_FLIGHT, queued
        entry.attempts += 1
        entry.seen, entry.forced = [], False
        self.flying.append((queued, entry))

    def land(self, data: st.DataObject) -> tuple[QueuedPod, Entry, bool]:
        """One of the pods in flight, and whether it still waits."""
        queued, entry = self.flying.pop(data.draw(st.integers(0, len(self.flying) - 1)))
        return queued, entry, self.known.get(entry.pod.name) is entry

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        queued, entry, waits = self.land(data)
        self.queue.done(queued)
        if waits:
            del self.known[entry.pod.name]
            self.binding.append((queued, entry))

    @precondition(lambda self: self.flying)
    @rule(data=st.data(), plugins=PLUGINS, error=st.booleans())
    def requeue(self, data: st.DataObject, plugins: set[str], error: bool) -> None:
        queued, entry, waits = self.land(data)
        # More happened than is kept; a pod that was activated, too, is no exception.
        overrun = queued not in self.queue.in_flight._started
        sub_queue = self.queue.requeue(queued, plugins, self.now, error=error)
        if not waits:
            assert sub_queue is SubQueue.OUT
            return
        self.fail(entry, set() if error else plugins)
        helped = set().union(*(entry.helped_by(change) for change in entry.seen))
        if overrun or helped or entry.forced or not entry.plugins:
            assert sub_queue is not SubQueue.UNSCHEDULABLE
            self.retry(entry)
        else:
            entry.gate, entry.sub_queue = False, SubQueue.UNSCHEDULABLE

    @precondition(lambda self: self.binding)
    @rule(data=st.data())
    def binding_failed(self, data: st.DataObject) -> None:
        queued, entry = self.binding.pop(data.draw(st.integers(0, len(self.binding) - 1)))
        sub_queue = self.queue.requeue(queued, (), self.now, error=True, bind_failed=True)
        if entry.pod.name in self.known:
            assert sub_queue is SubQueue.OUT
            return
        self.known[entry.pod.name] = entry
        self.fail(entry, set())
        self.retry(entry)

    def fail(self, entry: Entry, plugins: set[str]) -> None:
        entry.plugins = set(plugins)
        entry.since, entry.flushed_at = self.now, -math.inf
        if entry.plugins:
            entry.rejections, entry.errors = entry.rejections + 1, 0
        else:
            entry.errors += 1

    @rule(change=st.sampled_from(sorted(CHANGES)))
    def on_event(self, change: str) -> None:
        self.queue.on_event(CHANGES[change], self.now)
        for entry in self.known.values():
            if entry.sub_queue in (SubQueue.UNSCHEDULABLE, SubQueue.GATED):
                self.tell(entry, change)
        self.see(change)

    def see(self, change: str, only: Entry | None = None) -> None:
        for _, entry in self.flying:
            if only is None or only is entry:
                entry.seen.append(change)

    @rule(names=st.sets(NAMES))
    def activate(self, names: set[str]) -> None:
        entries = [self.known[name] for name in sorted(names) if name in self.known]
        self.queue.activate([entry.pod for entry in entries], self.now)
        for entry in entries:
            if entry.sub_queue is SubQueue.IN_FLIGHT:
                entry.forced = True
            elif entry.sub_queue in (SubQueue.BACKOFF, SubQueue.ERROR_BACKOFF):
                entry.sub_queue = SubQueue.ACTIVE
            elif entry.sub_queue is not SubQueue.ACTIVE:
                self.enter(entry, SubQueue.ACTIVE)

    @rule(name=NAMES)
    def gate(self, name: str) -> None:
        self.closed ^= {name}

    @rule(seconds=st.sampled_from([0.1, 0.5, 1, 2.25, 7, 31]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.queue.flush(self.now)
        self.pass_time()

    @precondition(lambda self: self.queue.next_time() is not None)
    @rule()
    def wait_for_the_next_time(self) -> None:
        time = self.queue.next_time()
        assert time is not None
        assert time > self.now - 1e-9, "what was due was done"
        before = {entry.pod.uid: entry.sub_queue for entry in self.known.values()}
        self.queue.flush(time - 1e-6)
        assert before == {queued.pod.uid: queued.sub_queue for queued in self.queue}
        flushed = [queued for queued in self.queue if queued.sub_queue is SubQueue.GATED]
        self.now = time
        self.queue.flush(time)
        self.pass_time()
        moved = before != {queued.pod.uid: queued.sub_queue for queued in self.queue}
        assert moved or any(queued.flushed_at == time for queued in flushed)

    # -- what is always true

    @invariant()
    def every_pod_is_where_it_should_be(self) -> None:
        assert {queued.pod.name: queued.sub_queue for queued in self.queue} == {
            name: entry.sub_queue for name, entry in self.known.items()
        }
        for queued in self.queue:
            entry = self.known[queued.pod.name]
            assert queued.pod is entry.pod
            assert queued.backoff_until == entry.until
            assert queued.attempts == entry.attempts
            assert (queued.gate == "Gate") is entry.gate
            if queued.sub_queue is not SubQueue.IN_FLIGHT:
                assert queued.unschedulable_plugins == entry.plugins

    @invariant()
    def no_pod_is_in_two_parts(self) -> None:
        parts = self.queue._sub_queues
        found: list[QueuedPod] = [
            *parts._active._living,
            *parts._backoff._living,
            *parts._error_backoff._living,
            *parts.unschedulable,
            *(queued for queued in self.queue.in_flight if queued.sub_queue is SubQueue.IN_FLIGHT),
        ]
        assert len(found) == len(set(found)) == len(self.known)
        assert set(found) == set(self.queue)
        assert set(self.queue.in_flight) == {queued for queued, _ in self.flying}

    @invariant()
    def the_figures_are_right(self) -> None:
        parts = [entry.sub_queue for entry in self.known.values()]
        assert self.queue.counts() == {
            "active": parts.count(SubQueue.ACTIVE),
            "backoff": parts.count(SubQueue.BACKOFF) + parts.count(SubQueue.ERROR_BACKOFF),
            "unschedulable": parts.count(SubQueue.UNSCHEDULABLE),
            "gated": parts.count(SubQueue.GATED),
        }
        blamed = [
            plugin
            for entry in self.known.values()
            if entry.sub_queue is not SubQueue.IN_FLIGHT
            for plugin in entry.plugins
        ]
        assert self.queue.rejected == {(name, PROFILE): blamed.count(name) for name in blamed}

    def teardown(self) -> None:
        """With open gates and enough time, every pod is taken exactly once."""
        for queued, entry in self.flying:
            self.queue.done(queued)
            if self.known.get(entry.pod.name) is entry:
                del self.known[entry.pod.name]
        self.closed.clear()
        self.queue.flush(self.now + LONGEST)
        later = self.now + LONGEST + MOST + 1
        taken = []
        while (last := self.queue.pop(later)) is not None:
            taken.append(last.pod.name)
        assert sorted(taken) == sorted(self.known)
        assert self.queue.next_time() is None


TestQueue = QueueMachine.TestCase
TestQueue.settings = settings(max_examples=100, stateful_step_count=60, deadline=None)
