"""Pods that are being decided, and the cluster events meanwhile.

An event that would have requeued a pod must not be lost because the pod was just being decided: the
decision may have looked at the state before it. So changes are kept while pods are in flight, and
a pod that comes back rejected is shown those since its start. Used by the queue alone.

    changes   ── c1 ── c2 ── c3 ── c4          a linked chain; each pod holds the link that was last
                 ^           ^    (last)       when it started, and what no pod holds is freed
                 pod a       pod b
"""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

from mooring.framework.cluster_events import ClusterEvent
from mooring.scheduler.queued_pod import QueuedPod

#: So many changes are kept; a pod that started before them is tried again whatever they were.
MOST_CHANGES: Final = 20_000


class _Link:
    """One change in the chain."""

    __slots__ = ("event", "next", "number", "only")

    def __init__(
        self, number: int, event: ClusterEvent | None = None, only: QueuedPod | None = None
    ) -> None:
        self.number = number
        self.event = event
        self.only = only
        self.next: _Link | None = None


class InFlightPods:
    """The pods between `pop` and their end.

    Args:
        most_changes: how many changes are kept at most.
    """

    def __init__(self, most_changes: int = MOST_CHANGES) -> None:
        self._most = most_changes
        self._last = _Link(0)
        # In the order they started, so the first one holds the oldest changes.
        self._started: OrderedDict[QueuedPod, _Link] = OrderedDict()
        self._helped: set[QueuedPod] = set()

    def start(self, queued: QueuedPod) -> None:
        """A pod is being decided from now on."""
        self._started[queued] = self._last

    def finish(self, queued: QueuedPod) -> bool:
        """It is not any more; says whether it was."""
        started = self._started.pop(queued, None) is not None
        if queued in self._helped:
            self._helped.remove(queued)
            return True
        return started

    def record(self, event: ClusterEvent, only: QueuedPod | None = None) -> None:
        """An event happened; if `only` is given, to that pod alone."""
        if not self._started:
            return
        link = _Link(self._last.number + 1, event, only)
        self._last.next = link
        self._last = link
        while self.changes > self._most:
            oldest, _ = self._started.popitem(last=False)
            self._helped.add(oldest)

    def help(self, queued: QueuedPod) -> None:
        """Whatever happens, the pod is to be tried again if it comes back."""
        self._helped.add(queued)

    def helped(self, queued: QueuedPod) -> bool:
        """Whether the pod is to be tried again whatever happened."""
        return queued in self._helped

    def since(self, queued: QueuedPod) -> Iterator[ClusterEvent]:
        """What happened since the pod started, in order."""
        start = self._started.get(queued)
        link = start.next if start is not None else None
        while link is not None:
            if link.event is not None and (link.only is None or link.only is queued):
                yield link.event
            link = link.next

    @property
    def recording(self) -> bool:
        """Whether changes are kept, as there are pods that they may help."""
        return bool(self._started)

    @property
    def changes(self) -> int:
        """How many changes are kept."""
        if not self._started:
            return 0
        return self._last.number - next(iter(self._started.values())).number

    def __iter__(self) -> Iterator[QueuedPod]:
        yield from self._started
        yield from self._helped - self._started.keys()

    def __len__(self) -> int:
        return len(self._started) + len(self._helped - self._started.keys())

    def __contains__(self, queued: object) -> bool:
        return queued in self._started or queued in self._helped
