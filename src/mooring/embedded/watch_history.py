"""The changes of a resource that watches can still be sent: its watch history.

`store` adds to it and compacts it; `http.watches` reads it.
"""

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Literal

from mooring.embedded.stored_object import StoredObject

WatchEventType = Literal["ADDED", "MODIFIED", "DELETED"]


class WatchEvent:
    """One change.

    Attributes:
        type: as watches call it.
        item: the object as it is now; of a deleted one, as it last was, with a version of its own.
        old: the object as it was before; None if it is new.
    """

    __slots__ = ("item", "old", "type")

    def __init__(self, kind: WatchEventType, item: StoredObject, old: StoredObject | None) -> None:
        self.type = kind
        self.item = item
        self.old = old

    @property
    def version(self) -> int:
        """The store's version after this change."""
        return self.item.version


class WatchHistory:
    """The changes of one resource, oldest first; old ones are compacted.

    Attributes:
        start: the number of the oldest change that is remembered; changes are numbered from 0.
        compacted: the version up to which changes are compacted.
    """

    def __init__(self, size: int, version: int) -> None:
        self._events: deque[WatchEvent] = deque()
        self._size = size
        self.start = 0
        self.compacted = version

    @property
    def end(self) -> int:
        """The number that the next change will get."""
        return self.start + len(self._events)

    def add(self, event: WatchEvent) -> None:
        """Remember a change."""
        self._events.append(event)
        if len(self._events) > self._size:
            self.compact(1)

    def compact(self, count: int | None = None) -> None:
        """Forget the oldest changes; all of them if no number is given."""
        for _ in range(len(self._events) if count is None else count):
            self.compacted = self._events.popleft().version
            self.start += 1

    def since(self, number: int) -> Iterator[WatchEvent]:
        """The changes from a number on; it must not be compacted."""
        # From the near end: a watch is seldom far behind.
        count = self.end - number
        newest = islice(reversed(self._events), count)
        return reversed(list(newest))

    def number_after(self, version: int) -> int | None:
        """The number of the first change after a version; None if it is compacted."""
        if version < self.compacted:
            return None
        later = 0
        for event in reversed(self._events):
            if event.version <= version:
                break
            later += 1
        return self.end - later
