"""A heap whose items can be taken out and moved, for the sub-queues that have an order.

Used by the queue alone. Items are known by identity; one that leaves stays in the heap as a dead
entry until it comes up or the dead outnumber the living, so every operation takes O(log n) on
average and most of the work is done by `heapq`.
"""

import heapq
from typing import Final, Generic, TypeVar

#: Where an item stands: the smallest comes first.
Place = tuple[float, ...]
T = TypeVar("T")
#: So many dead entries are no reason to clean up.
_SLACK: Final = 64


class Heap(Generic[T]):
    """Items in the order of their places; of equal places, the one put first comes first."""

    __slots__ = ("_entries", "_living", "_number")

    def __init__(self) -> None:
        self._entries: list[tuple[Place, int, T]] = []
        self._living: dict[T, tuple[Place, int, T]] = {}
        self._number = 0

    def put(self, item: T, place: Place) -> None:
        """Add an item, or move it to another place."""
        self._number += 1
        entry = (place, self._number, item)
        heapq.heappush(self._entries, entry)
        self._living[item] = entry
        self._clean()

    def discard(self, item: T) -> None:
        """Take an item out, if it is there."""
        if self._living.pop(item, None) is not None:
            self._clean()

    def first(self) -> T | None:
        """The first item; it stays."""
        entries, living = self._entries, self._living
        while entries:
            entry = entries[0]
            if living.get(entry[2]) is entry:
                return entry[2]
            heapq.heappop(entries)
        return None

    def pop(self) -> T | None:
        """Take the first item out."""
        entries, living = self._entries, self._living
        while entries:
            entry = heapq.heappop(entries)
            item = entry[2]
            if living.get(item) is entry:
                del living[item]
                return item
        return None

    def _clean(self) -> None:
        if len(self._entries) > 2 * len(self._living) + _SLACK:
            self._entries = list(self._living.values())
            heapq.heapify(self._entries)

    def __len__(self) -> int:
        return len(self._living)

    def __contains__(self, item: object) -> bool:
        return item in self._living
