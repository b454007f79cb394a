"""Events that wait to be written: in which order, how many, and how many at a time.

`events` puts them in and takes them out; there is no I/O and no clock here.

    put ──> waiting, bounded ──take──> being written ──done──> out
               ^                            │
               └── after the one before ── one about the same object is being written

Events about one object are written one after the other. While more important writes wait, events
are held back; the longer the first one has waited, the more of them are written all the same, and
when too many wait, holding back ends.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

from mooring.kube.event_cache import CachedEvent

#: An event that is held back has a writer for each so many seconds that it has waited.
_PATIENCE_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLimits:
    """How much a recorder takes on.

    Attributes:
        queued: so many events may wait; further ones are left out.
        held: so many may be held back; with more, holding back ends.
        workers: so many are written at the same time.
        remembered: so many normal events are remembered to find repeats.
        warnings_remembered: so many warnings; each takes half a kilobyte. With fewer than there are
            unschedulable pods, every change that might help them makes a new event of each.
    """

    queued: int = 20_000
    held: int = 10_000
    workers: int = 8
    remembered: int = 10_000
    warnings_remembered: int = 50_000


DEFAULT_EVENT_LIMITS = EventLimits()


class EventQueue:
    """The events that wait.

    Args:
        limits: how many.

    Attributes:
        held_back: more important writes wait.
    """

    def __init__(self, limits: EventLimits) -> None:
        self.held_back = False
        self._limits = limits
        # With when each was put.
        self._waiting: deque[tuple[CachedEvent, float]] = deque()
        # By object: what is being written has a place, and those behind it are in there.
        self._being_written: dict[str, deque[tuple[CachedEvent, float]]] = {}
        self._behind = 0

    def __len__(self) -> int:
        """How many wait or are being written."""
        return len(self._waiting) + self._behind + len(self._being_written)

    def put(self, event: CachedEvent, now: float) -> bool:
        """Add an event at the end; False if too many wait. `now` is of a clock that only grows."""
        if len(self._waiting) + self._behind >= self._limits.queued:
            return False
        self._waiting.append((event, now))
        return True

    def writers(self, now: float) -> int:
        """How many events may be written at the same time now; none if none waits."""
        waiting = self._waiting
        if not waiting:
            return 0
        most = self._limits.workers
        if not self.held_back or len(waiting) > self._limits.held:
            return most
        return min(int((now - waiting[0][1]) / _PATIENCE_SECONDS), most)

    def take(self) -> CachedEvent | None:
        """The next event to write; None if all that wait must wait for others. Then call `done`."""
        while self._waiting:
            first = self._waiting.popleft()
            about = _about(first[0])
            behind = self._being_written.get(about)
            if behind is None:
                self._being_written[about] = deque()
                return first[0]
            behind.append(first)
            self._behind += 1
        return None

    def done(self, event: CachedEvent) -> None:
        """An event is written, or given up; the next one about the same object may follow."""
        behind = self._being_written.pop(_about(event))
        self._behind -= len(behind)
        self._waiting.extendleft(reversed(behind))


def _about(event: CachedEvent) -> str:
    regarding = event.key.regarding
    return regarding.uid or f"{regarding.kind}/{regarding.namespace}/{regarding.name}"
