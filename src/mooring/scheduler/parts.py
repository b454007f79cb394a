"""The parts of the queue in which pods wait, and the moves between them.

Used by the queue alone, which has the drawing. Every move asks the plugins first what it must know
(`pre_enqueue`, `order`) and changes something only then; a pod is never in two parts.
"""

from collections import Counter
from collections.abc import Callable
from typing import Final

from mooring.framework.happenings import Happening
from mooring.model.pod import Pod
from mooring.scheduler.backoff import WINDOW, QueueSettings, backs_off
from mooring.scheduler.heap import Heap, Place
from mooring.scheduler.held import Held
from mooring.scheduler.queued_pod import Part, QueuedPod
from mooring.scheduler.waking import Strategy, Wakes

#: A pod's place among the pods that are ready, from when it was queued; the smallest first.
Order = Callable[[Pod, float], Place]
#: The plugin that holds a pod back; None if none does.
PreEnqueue = Callable[[Pod], str | None]

# What kube-scheduler's metrics call moves that no change of the cluster brought about.
# parity v1.36.4: framework/events.go
_BACKOFF_OVER: Final = "BackoffComplete"
_EARLY: Final = "PopFromBackoffQ"
_TIME_OVER: Final = "UnschedulableTimeout"


class Parts:
    """All pods that wait, each in one part.

    Args:
        order: orders the pods that are ready.
        pre_enqueue: holds pods back.
        settings: how long pods wait.

    Attributes:
        incoming: how often pods came to a part and why: the part's name in metrics, the reason.
        refused: how many of the pods each plugin refused: plugin, profile.
    """

    def __init__(self, order: Order, pre_enqueue: PreEnqueue, settings: QueueSettings) -> None:
        self.incoming: Counter[tuple[str, str]] = Counter()
        self.refused: Counter[tuple[str, str]] = Counter()
        self._order = order
        self._pre_enqueue = pre_enqueue
        self._settings = settings
        self._active: Heap[QueuedPod] = Heap()
        self._backoff: Heap[QueuedPod] = Heap()
        self._error_backoff: Heap[QueuedPod] = Heap()
        self._held = Held()
        self._gated = 0

    # -- moves

    def admit(self, queued: QueuedPod, event: str, now: float) -> None:
        """Make a pod ready, unless a plugin holds it back."""
        if self._passes(queued, event):
            self.make_ready(queued, event, now)

    def make_ready(self, queued: QueuedPod, event: str, now: float) -> None:
        """Make a pod ready that comes from backoff: nobody holds it back."""
        place = self._order(queued.pod, queued.since)
        self._detach(queued)
        queued.part = Part.ACTIVE
        if queued.first_tried is None:
            queued.first_tried = now
        self._active.put(queued, place)
        self.incoming["active", event] += 1

    def retry(self, queued: QueuedPod, strategy: Strategy, event: str, now: float) -> None:
        """Try a pod again: now, or when its backoff is over."""
        # parity v1.36.4: backend/queue/scheduling_queue.go requeuePodWithQueueingStrategy
        if strategy is Strategy.SKIP:
            self._hold(queued, event)
        elif strategy is Strategy.AFTER_BACKOFF and backs_off(queued, now):
            if self._passes(queued, event):
                self._back_off(queued, event)
        else:
            self.admit(queued, event, now)

    def take(self) -> QueuedPod | None:
        """Take out the first pod that is ready; if none is, the first that was refused."""
        # parity v1.36.4: backend/queue/active_queue.go unlockedPop
        queued = self._active.first()
        if queued is None:
            queued = self._backoff.first()
            if queued is None:
                return None
            self.incoming["active", _EARLY] += 1
        self.drop(queued)
        return queued

    def drop(self, queued: QueuedPod) -> None:
        """Take a pod out."""
        self._detach(queued)
        for plugin in queued.refusers:
            left = self.refused[plugin, queued.profile] - 1
            if left:
                self.refused[plugin, queued.profile] = left
            else:
                del self.refused[plugin, queued.profile]

    def reorder(self, queued: QueuedPod) -> None:
        """A pod changed, and with it perhaps its place."""
        if queued.part is Part.ACTIVE:
            self._active.put(queued, self._order(queued.pod, queued.since))
        elif queued.part is Part.BACKOFF:
            self._backoff.put(queued, self._backoff_place(queued))

    def flush(self, now: float) -> None:
        """Move the pods whose backoff is over and those that were held too long."""
        for heap in (self._backoff, self._error_backoff):
            while (queued := heap.first()) is not None and queued.backoff_until + WINDOW <= now:
                self.make_ready(queued, _BACKOFF_OVER, now)
        late = []
        while (queued := self._held.first()) is not None and self._settings.deadline(queued) <= now:
            self._detach(queued)
            late.append(queued)
        for queued in late:
            queued.flushed, queued.flushed_at = True, now
            self.retry(queued, Strategy.AFTER_BACKOFF, _TIME_OVER, now)

    # -- what is there

    def concerned(self, wakes: Wakes, happening: Happening) -> list[QueuedPod]:
        """The held pods whose refusers want to know of such a change."""
        return self._held.concerned(wakes, happening)

    def next_time(self) -> float | None:
        """When `flush` has something to do."""
        times = [
            queued.backoff_until + WINDOW
            for heap in (self._backoff, self._error_backoff)
            if (queued := heap.first()) is not None
        ]
        held = self._held.first()
        if held is not None:
            times.append(self._settings.deadline(held))
        return min(times, default=None)

    def counts(self) -> dict[str, int]:
        """How many pods wait in each part, under the names of kube-scheduler's metrics."""
        return {
            "active": len(self._active),
            "backoff": len(self._backoff) + len(self._error_backoff),
            "unschedulable": len(self._held) - self._gated,
            "gated": self._gated,
        }

    # -- steps of moves

    def _passes(self, queued: QueuedPod, event: str) -> bool:
        """Whether no plugin holds the pod back; otherwise it is put to the gated ones."""
        # parity v1.36.4: backend/queue/scheduling_queue.go runPreEnqueuePlugin
        gate = self._pre_enqueue(queued.pod)
        if gate is None:
            queued.gate = ""
            return True
        if gate not in queued.refusers:
            queued.plugins |= {gate}
            self.refused[gate, queued.profile] += 1
        queued.gate = gate
        queued.flushed = False
        self._hold(queued, event)
        return False

    def _hold(self, queued: QueuedPod, event: str) -> None:
        self._detach(queued)
        queued.part = Part.GATED if queued.gate else Part.UNSCHEDULABLE
        self._gated += queued.part is Part.GATED
        self._held.put(queued, self._settings.deadline(queued))
        self.incoming["unschedulable", event] += 1

    def _back_off(self, queued: QueuedPod, event: str) -> None:
        # parity v1.36.4: backend/queue/backoff_queue.go add
        if queued.refusers:
            place = self._backoff_place(queued)
            self._detach(queued)
            queued.part = Part.BACKOFF
            self._backoff.put(queued, place)
        else:
            self._detach(queued)
            queued.part = Part.ERROR_BACKOFF
            self._error_backoff.put(queued, (queued.backoff_until,))
        self.incoming["backoff", event] += 1

    def _backoff_place(self, queued: QueuedPod) -> Place:
        return (queued.backoff_until, *self._order(queued.pod, queued.since))

    def _detach(self, queued: QueuedPod) -> None:
        if queued.part is Part.ACTIVE:
            self._active.discard(queued)
        elif queued.part is Part.BACKOFF:
            self._backoff.discard(queued)
        elif queued.part is Part.ERROR_BACKOFF:
            self._error_backoff.discard(queued)
        elif queued.held:
            self._gated -= queued.part is Part.GATED
            self._held.discard(queued)
        queued.part = Part.OUT
