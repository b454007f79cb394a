"""Which records become one event: the cache of client-go's ``tools/events``, without I/O.

`events` calls it. The first record is created, the second makes it a series, further ones are
only counted; six minutes after the last one the final count is written and all is forgotten.

    new ──observe──> single ──observe──> series ──observe──> series, only counted
                       │                    │
                       │                    │
              6 min, or the object is gone  │
                   forgotten           6 min, too many, or the object is gone: written, forgotten
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final

from mooring.kube.event_body import (
    EventKey,
    ObjectReference,
    cut_note,
    event_body,
    event_name,
    series_patch,
)

# parity v1.36.4: client-go/tools/events/event_broadcaster.go finishTime
FINISH_NS: Final = 6 * 60 * 1_000_000_000


class CachedEvent:
    """One event with its repeats.

    Attributes:
        key: what is the same in all repeats.
        name: the event's.
        count: how often it happened.
        last_ns: when last, nanoseconds since 1970.
        written: the count the API server knows; 0 before the event exists.
        queued: it waits to be written, or is being written.
    """

    __slots__ = ("began_ns", "count", "key", "last_ns", "name", "note", "queued", "written")

    def __init__(self, key: EventKey, note: str, now_ns: int) -> None:
        self.key = key
        self.note = cut_note(note)
        self.name = event_name(key.regarding.name, now_ns)
        self.began_ns = now_ns
        self.last_ns = now_ns
        self.count = 1
        self.written = 0
        self.queued = False

    @property
    def pending(self) -> bool:
        """Whether it must be written soon: the event itself, or that it is a series."""
        return self.written == 0 or (self.written == 1 and self.count > 1)

    def body(self) -> bytes:
        """The event as it is to be created."""
        series = self.patch() if self.count > 1 else b""
        return event_body(self.name, self.began_ns, self.key, self.note, series)

    def patch(self) -> bytes:
        """The series as it is to be written."""
        return series_patch(self.count, self.last_ns)


class EventCache:
    """The events of the last minutes.

    Args:
        limit: so many of each type are remembered; the longest silent ones are forgotten first.
            Rare warnings are not forgotten because of many normal events.
        warnings: so many warnings, if it is another number: each unschedulable pod has one, and
            they are repeated.
    """

    def __init__(self, limit: int, warnings: int | None = None) -> None:
        self._limit = limit
        self._warnings = limit if warnings is None else warnings
        # In the order of their last record. A plain dict would search through all it has
        # forgotten to find its first one.
        self._by_type: dict[str, OrderedDict[EventKey, CachedEvent]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_type.values()))

    def observe(self, key: EventKey, note: str, now_ns: int) -> CachedEvent:
        """Count one more record of an event; write the event if it is `pending`.

        Call `finished` before: what is over must not be continued.
        """
        cached = self._by_type.get(key.type)
        if cached is None:
            cached = self._by_type[key.type] = OrderedDict()
        event = cached.get(key)
        if event is None:
            event = cached[key] = CachedEvent(key, note, now_ns)
        else:
            cached.move_to_end(key)
            event.count += 1
            event.last_ns = now_ns
        return event

    def finished(self, now_ns: int) -> Iterator[CachedEvent]:
        """Forget what was silent for six minutes or is too much; write the series among it."""
        for type_, cached in self._by_type.items():
            limit = self._warnings if type_ == "Warning" else self._limit
            while cached:
                oldest = next(iter(cached.values()))
                if len(cached) <= limit and oldest.last_ns > now_ns - FINISH_NS:
                    break
                del cached[oldest.key]
                if oldest.count > oldest.written:
                    yield oldest

    def gone(self, is_gone: Callable[[ObjectReference], bool]) -> Iterator[CachedEvent]:
        """Forget what is about objects that are gone; write the series among it.

        What waits to be created is not forgotten.
        """
        for cached in self._by_type.values():
            over = [
                event
                for key, event in cached.items()
                if not event.pending and is_gone(key.regarding)
            ]
            for event in over:
                del cached[event.key]
                if event.count > event.written:
                    yield event

    def forget(self, event: CachedEvent) -> None:
        """Begin anew with the next record: this event could not be written."""
        cached = self._by_type[event.key.type]
        if cached.get(event.key) is event:
            del cached[event.key]

    def series(self) -> Iterator[CachedEvent]:
        """All series that go on now."""
        for cached in self._by_type.values():
            yield from (event for event in cached.values() if event.count > 1)
