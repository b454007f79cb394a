"""The sub-queues in which pods wait, and the moves between them.

Used by the queue alone, which has the drawing. Every move asks the plugins first what it must know
(`pre_enqueue`, `order`) and changes something only then; a pod is never in two of them.
"""

import math
from collections import Counter
from collections.abc import Callable
from typing import Final

from mooring.framework.cluster_events import ClusterEvent
from mooring.model.pod import Pod
from mooring.scheduler.backoff import WINDOW, QueueSettings, backs_off
from mooring.scheduler.heap import Heap, Place
from mooring.scheduler.queued_pod import QueuedPod, SubQueue
from mooring.scheduler.requeue_hints import RequeueHints
from mooring.scheduler.unschedulable_pods import UnschedulablePods

#: A pod's place among the pods that are ready, from when it was queued; the smallest first.
Order = Callable[[Pod, float], Place]
#: The plugin that holds a pod back; None if none does.
PreEnqueue = Callable[[Pod], str | None]

# What kube-scheduler's metrics call moves that no change of the cluster brought about.
# parity v1.36.4: framework/events.go
_BACKOFF_OVER: Final = "BackoffComplete"
_EARLY: Final = "PopFromBackoffQ"
_TIME_OVER: Final = "UnschedulableTimeout"


class Patience:
    """Whether plugins had to be interrupted over a pod: the others wait for the next flush.

    A cluster event, or time, may move thousands of pods at once, and plugins are asked about each.
    Who asks them says so; the queue begins anew with each flush, between which others have a turn.
    """

    __slots__ = ("lost",)

    def __init__(self) -> None:
        self.lost = False


class SubQueues:
    """All pending pods, each in one sub-queue.

    Args:
        order: orders the pods that are ready.
        pre_enqueue: holds pods back.
        settings: how long pods wait.
        patience: whether plugins hang.

    Attributes:
        incoming: how often pods came to a sub-queue and why: its name in metrics, the reason.
        rejected: how many of the pods each plugin rejected: plugin, profile.
        unschedulable: those that wait for a cluster event.
        due: before that, `flush` has nothing to do; it may find that there is nothing then, either.
    """

    def __init__(
        self, order: Order, pre_enqueue: PreEnqueue, settings: QueueSettings, patience: Patience
    ) -> None:
        self.incoming: Counter[tuple[str, str]] = Counter()
        self.rejected: Counter[tuple[str, str]] = Counter()
        self._order = order
        self._pre_enqueue = pre_enqueue
        self._settings = settings
        self._patience = patience
        self._active: Heap[QueuedPod] = Heap()
        self._backoff: Heap[QueuedPod] = Heap()
        self._error_backoff: Heap[QueuedPod] = Heap()
        self.unschedulable = UnschedulablePods()
        self._gated = 0
        self.due = math.inf

    # -- moves

    def admit(self, queued: QueuedPod, event: str, now: float) -> None:
        """Make a pod ready, unless a plugin holds it back."""
        if self._passes(queued, event):
            self.make_ready(queued, event, now)

    def make_ready(self, queued: QueuedPod, event: str, now: float) -> None:
        """Make a pod ready that comes from backoff: nobody holds it back."""
        place = self._order(queued.pod, queued.since)
        self._detach(queued)
        queued.sub_queue = SubQueue.ACTIVE
        if queued.first_tried is None:
            queued.first_tried = now
        self._active.put(queued, place)
        self.incoming["active", event] += 1

    def retry(self, queued: QueuedPod, event: str, now: float) -> None:
        """Try a pod again: now, or when its backoff is over."""
        # parity v1.36.4: backend/queue/scheduling_queue.go requeuePodWithQueueingStrategy
        if backs_off(queued, now):
            if self._passes(queued, event):
                self._back_off(queued, event)
        else:
            self.admit(queued, event, now)

    def hold(self, queued: QueuedPod, event: str) -> None:
        """Let a pod wait for a cluster event."""
        self._detach(queued)
        queued.sub_queue = SubQueue.GATED if queued.gate else SubQueue.UNSCHEDULABLE
        self._gated += queued.sub_queue is SubQueue.GATED
        deadline = self._settings.deadline(queued)
        self.unschedulable.put(queued, deadline)
        self.due = min(self.due, deadline)
        self.incoming["unschedulable", event] += 1

    def pop(self) -> QueuedPod | None:
        """Take out the first pod that is ready; if none is, the first that was rejected."""
        # parity v1.36.4: backend/queue/active_queue.go unlockedPop
        queued = self._active.pop()
        if queued is None:
            queued = self._backoff.pop()
            if queued is None:
                return None
            self.incoming["active", _EARLY] += 1
        queued.sub_queue = SubQueue.OUT
        if queued.unschedulable_plugins:
            self._count_rejected_no_more(queued)
        return queued

    def drop(self, queued: QueuedPod) -> None:
        """Take a pod out."""
        self._detach(queued)
        self._count_rejected_no_more(queued)

    def _count_rejected_no_more(self, queued: QueuedPod) -> None:
        for plugin in queued.unschedulable_plugins:
            left = self.rejected[plugin, queued.profile] - 1
            if left:
                self.rejected[plugin, queued.profile] = left
            else:
                del self.rejected[plugin, queued.profile]

    def reorder(self, queued: QueuedPod) -> None:
        """A pod changed, and with it perhaps its place."""
        if queued.sub_queue is SubQueue.ACTIVE:
            self._active.put(queued, self._order(queued.pod, queued.since))
        elif queued.sub_queue is SubQueue.BACKOFF:
            self._backoff.put(queued, self._backoff_place(queued))

    def flush(self, now: float) -> None:
        """Move the pods whose backoff is over and those that were unschedulable for too long."""
        if now < self.due:
            return
        self._move_due(now)
        due = self.next_time()
        self.due = math.inf if due is None else due

    def _move_due(self, now: float) -> None:
        for heap in (self._backoff, self._error_backoff):
            while (queued := heap.first()) is not None and queued.backoff_until + WINDOW <= now:
                if self._patience.lost:
                    return
                self.make_ready(queued, _BACKOFF_OVER, now)
        for _ in range(len(self.unschedulable)):
            queued = self.unschedulable.first()
            if queued is None or self._settings.deadline(queued) > now or self._patience.lost:
                return
            self._detach(queued)
            queued.flushed, queued.flushed_at = True, now
            self.retry(queued, _TIME_OVER, now)

    # -- what is there

    def concerned_by(self, hints: RequeueHints, event: ClusterEvent) -> list[QueuedPod]:
        """The unschedulable pods that plugins with a hint for such an event rejected."""
        return self.unschedulable.concerned_by(hints, event)

    def next_time(self) -> float | None:
        """When `flush` has something to do."""
        times = [
            queued.backoff_until + WINDOW
            for heap in (self._backoff, self._error_backoff)
            if (queued := heap.first()) is not None
        ]
        first = self.unschedulable.first()
        if first is not None:
            times.append(self._settings.deadline(first))
        return min(times, default=None)

    def counts(self) -> dict[str, int]:
        """How many pods are pending in each part, under the names of kube-scheduler's metrics."""
        return {
            "active": len(self._active),
            "backoff": len(self._backoff) + len(self._error_backoff),
            "unschedulable": len(self.unschedulable) - self._gated,
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
        if gate not in queued.unschedulable_plugins:
            queued.unschedulable_plugins |= {gate}
            self.rejected[gate, queued.profile] += 1
        queued.gate = gate
        queued.flushed = False
        self.hold(queued, event)
        return False

    def _back_off(self, queued: QueuedPod, event: str) -> None:
        # parity v1.36.4: backend/queue/backoff_queue.go add
        if queued.unschedulable_plugins:
            place = self._backoff_place(queued)
            self._detach(queued)
            queued.sub_queue = SubQueue.BACKOFF
            self._backoff.put(queued, place)
        else:
            self._detach(queued)
            queued.sub_queue = SubQueue.ERROR_BACKOFF
            self._error_backoff.put(queued, (queued.backoff_until,))
        self.incoming["backoff", event] += 1
        self.due = min(self.due, queued.backoff_until + WINDOW)

    def _backoff_place(self, queued: QueuedPod) -> Place:
        return (queued.backoff_until, *self._order(queued.pod, queued.since))

    def _detach(self, queued: QueuedPod) -> None:
        if queued.sub_queue is SubQueue.ACTIVE:
            self._active.discard(queued)
        elif queued.sub_queue is SubQueue.BACKOFF:
            self._backoff.discard(queued)
        elif queued.sub_queue is SubQueue.ERROR_BACKOFF:
            self._error_backoff.discard(queued)
        elif queued.waits_for_event:
            self._gated -= queued.sub_queue is SubQueue.GATED
            self.unschedulable.discard(queued)
        queued.sub_queue = SubQueue.OUT
