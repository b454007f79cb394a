"""Which occurrences are told as one event: the rules of client-go's ``tools/events``, without I/O.

`events` calls it. The first occurrence is created, the second makes it a series, further ones are
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
    Occurrence,
    Reference,
    cut_note,
    event_body,
    event_name,
    series_patch,
)

# parity v1.36.4: client-go/tools/events/event_broadcaster.go finishTime
FINISH_NS: Final = 6 * 60 * 1_000_000_000


class Group:
    """One event with its repeats.

    Attributes:
        occurrence: what happened.
        name: the event's.
        count: how often it happened.
        last_ns: when last, nanoseconds since 1970.
        written: the count the API server knows; 0 before the event exists.
        queued: it waits to be written, or is being written.
    """

    __slots__ = ("began_ns", "count", "last_ns", "name", "note", "occurrence", "queued", "written")

    def __init__(self, occurrence: Occurrence, note: str, now_ns: int) -> None:
        self.occurrence = occurrence
        self.note = cut_note(note)
        self.name = event_name(occurrence.regarding.name, now_ns)
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
        return event_body(self.name, self.began_ns, self.occurrence, self.note, series)

    def patch(self) -> bytes:
        """The series as it is to be written."""
        return series_patch(self.count, self.last_ns)


class EventGroups:
    """The events of the last minutes.

    Args:
        limit: so many of each type are remembered; the longest silent ones are forgotten first.
            Rare warnings are not forgotten because of many normal events.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # In the order of their last occurrence. A plain dict would search through all it has
        # forgotten to find its first one.
        self._by_type: dict[str, OrderedDict[Occurrence, Group]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_type.values()))

    def observe(self, occurrence: Occurrence, note: str, now_ns: int) -> Group:
        """Count an occurrence; write the group if it is `pending`.

        Call `finished` before: what is over must not be continued.
        """
        groups = self._by_type.get(occurrence.type)
        if groups is None:
            groups = self._by_type[occurrence.type] = OrderedDict()
        group = groups.get(occurrence)
        if group is None:
            group = groups[occurrence] = Group(occurrence, note, now_ns)
        else:
            groups.move_to_end(occurrence)
            group.count += 1
            group.last_ns = now_ns
        return group

    def finished(self, now_ns: int) -> Iterator[Group]:
        """Forget what was silent for six minutes or is too much; write the series among it."""
        for groups in self._by_type.values():
            while groups:
                oldest = next(iter(groups.values()))
                if len(groups) <= self._limit and oldest.last_ns > now_ns - FINISH_NS:
                    break
                del groups[oldest.occurrence]
                if oldest.count > oldest.written:
                    yield oldest

    def gone(self, is_gone: Callable[[Reference], bool]) -> Iterator[Group]:
        """Forget what is about objects that are gone; write the series among it.

        What waits to be created is not forgotten.
        """
        for groups in self._by_type.values():
            over = [
                group
                for occurrence, group in groups.items()
                if not group.pending and is_gone(occurrence.regarding)
            ]
            for group in over:
                del groups[group.occurrence]
                if group.count > group.written:
                    yield group

    def forget(self, group: Group) -> None:
        """Begin anew with the next occurrence: this event could not be written."""
        groups = self._by_type[group.occurrence.type]
        if groups.get(group.occurrence) is group:
            del groups[group.occurrence]

    def series(self) -> Iterator[Group]:
        """All series that go on now."""
        for groups in self._by_type.values():
            yield from (group for group in groups.values() if group.count > 1)
