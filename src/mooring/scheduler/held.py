"""Pods that wait for a change: refused in their last attempt, or held back outside the queue.

Used by the queue alone. Pods are found by who refused them, so that a change is looked at only for
the pods of plugins that want to know of it; ten thousand others cost nothing.
"""

from collections.abc import Iterator

from mooring.framework.happenings import Happening
from mooring.scheduler.heap import Heap
from mooring.scheduler.queued_pod import QueuedPod
from mooring.scheduler.waking import Refuser, Wakes


class Held:
    """The unschedulable and the gated pods."""

    def __init__(self) -> None:
        # Dicts stand for sets that keep their order, so that a run can be repeated exactly.
        self._by_refuser: dict[Refuser, dict[QueuedPod, None]] = {}
        self._refusers: dict[QueuedPod, tuple[Refuser, ...]] = {}
        self._deadlines: Heap[QueuedPod] = Heap()

    def put(self, queued: QueuedPod, deadline: float) -> None:
        """A pod waits, at most until the deadline."""
        # parity v1.36.4: backend/queue/scheduling_queue.go movePodsToActiveOrBackoffQueue: what
        # does not concern the plugin that holds a pod back cannot let it go.
        names = (queued.gate,) if queued.gate else sorted(queued.refusers)
        refusers = tuple((queued.profile, name) for name in names)
        self.discard(queued)
        self._refusers[queued] = refusers
        for refuser in refusers:
            self._by_refuser.setdefault(refuser, {})[queued] = None
        self._deadlines.put(queued, (deadline,))

    def discard(self, queued: QueuedPod) -> None:
        """A pod does not wait here any more."""
        for refuser in self._refusers.pop(queued, ()):
            pods = self._by_refuser[refuser]
            del pods[queued]
            if not pods:
                del self._by_refuser[refuser]
        self._deadlines.discard(queued)

    def concerned(self, wakes: Wakes, happening: Happening) -> list[QueuedPod]:
        """The pods whose refusers want to know of such a change."""
        found: dict[QueuedPod, None] = {}
        for refuser, pods in self._by_refuser.items():
            if wakes.told(refuser, happening):
                found.update(pods)
        return list(found)

    def first(self) -> QueuedPod | None:
        """The pod whose deadline comes first."""
        return self._deadlines.first()

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(list(self._refusers))

    def __len__(self) -> int:
        return len(self._refusers)
