"""A heap whose items can be taken out and moved, for the sub-queues that have an order.

Used by the queue alone. Items are known by identity; one that leaves stays as a dead entry until it
comes up, the dead outnumber the living or nobody is left, so every operation takes O(log n) on
average and most of the work is done by `heapq`. Mostly, items are put in their order: these stand
in a row, which is appended to at its end and taken from at its start, and only those out of order
are in a heap.

    put ──┬── not before the last one of the row ──> row ───┐
          └── before it ───────────────────────────> heap ──┴──> the smaller first one
"""

import heapq
from collections import deque
from collections.abc import Iterator
from typing import Any, Final, Generic, TypeVar

#: Where an item stands: the smallest comes first.
Place = tuple[float, ...]
T = TypeVar("T")
#: So many dead entries are no reason to clean up.
_SLACK: Final = 64


class Heap(Generic[T]):
    """Items in the order of their places; of equal places, the one put first comes first.

    The places in one heap are all tuples or all numbers, which are compared faster.
    """

    __slots__ = ("_heap", "_living", "_number", "_row")

    def __init__(self) -> None:
        self._row: deque[tuple[Any, int, T]] = deque()
        self._heap: list[tuple[Any, int, T]] = []
        self._living: dict[T, tuple[Any, int, T]] = {}
        self._number = 0

    def put(self, item: T, place: Place | float) -> None:
        """Add an item, or move it to another place."""
        if item in self._living:
            self.discard(item)
        self._number += 1
        entry = self._living[item] = (place, self._number, item)
        row = self._row
        if not row or place >= row[-1][0]:
            row.append(entry)
        else:
            heapq.heappush(self._heap, entry)

    def discard(self, item: T) -> None:
        """Take an item out, if it is there."""
        living = self._living
        if living.pop(item, None) is None:
            return
        if not living or len(self._row) + len(self._heap) > 2 * len(living) + _SLACK:
            self._clean()

    def first(self) -> T | None:
        """The first item; it stays."""
        row, heap, living = self._row, self._heap, self._living
        while row and living.get(row[0][2]) is not row[0]:
            row.popleft()
        while heap and living.get(heap[0][2]) is not heap[0]:
            heapq.heappop(heap)
        if not heap:
            return row[0][2] if row else None
        return row[0][2] if row and row[0] < heap[0] else heap[0][2]

    def pop(self) -> T | None:
        """Take the first item out."""
        row, heap, living = self._row, self._heap, self._living
        while row or heap:
            in_row = row and not (heap and heap[0] < row[0])
            entry = row.popleft() if in_row else heapq.heappop(heap)
            item = entry[2]
            if living.get(item) is entry:
                del living[item]
                return item
        return None

    def _clean(self) -> None:
        living = self._living
        self._row = deque(entry for entry in self._row if living.get(entry[2]) is entry)
        self._heap = [entry for entry in self._heap if living.get(entry[2]) is entry]
        heapq.heapify(self._heap)

    def __iter__(self) -> Iterator[T]:
        return iter(list(self._living))

    def __len__(self) -> int:
        return len(self._living)

    def __contains__(self, item: object) -> bool:
        return item in self._living
