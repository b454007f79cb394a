"""Columns with one number for each node that grow and shrink with the cluster.

`Table` owns the number of rows and every `GrowingColumn` made from it; a row that is taken out is
filled with the last one, so the rows in use are always the first ones. A `SparseColumn` costs as
much as there are numbers in it, however many rows the table has. What is remembered beyond that is
in caches that the `Table` makes, so that it can make them forget. Called by `Columns` and
`PodCounts`; knows nothing of nodes or pods.
"""

import weakref
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from mooring.state.lru_cache import LruCache
from mooring.state.memory_bounds import BOUNDS, MemoryBounds

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_FIRST_CAPACITY = 16
#: Up to so many numbers are added one by one.
_FEW = 8


class GrowingColumn:
    """One array of a table; `view` has the rows in use."""

    __slots__ = ("__weakref__", "_read_only", "_table", "data")

    def __init__(self, table: "Table", dtype: npt.DTypeLike) -> None:
        self._table = table
        self.data: npt.NDArray[Any] = np.zeros(table.capacity, dtype)
        self._read_only: npt.NDArray[Any] | None = None

    @property
    def view(self) -> npt.NDArray[Any]:
        """(n,) the rows in use, read-only; shows later changes until a row comes or goes."""
        found = self._read_only
        if found is None:
            found = self.data[: self._table.size]
            found.flags.writeable = False
            self._read_only = found
        return found

    def resize(self, capacity: int) -> None:
        """Make room for more rows."""
        grown = np.zeros(capacity, self.data.dtype)
        grown[: len(self.data)] = self.data
        self.data = grown

    def forget_view(self) -> None:
        """The number of rows changed."""
        self._read_only = None


class Table:
    """The rows, and all arrays over them.

    Args:
        bounds: how many arrays are kept.
    """

    def __init__(self, bounds: MemoryBounds = BOUNDS) -> None:
        self.size = 0
        self.capacity = _FIRST_CAPACITY
        self.bounds = bounds
        self._zeros: dict[npt.DTypeLike, GrowingColumn] = {}
        self._arrays: weakref.WeakSet[GrowingColumn] = weakref.WeakSet()
        self._sparse_columns: weakref.WeakSet[SparseColumn] = weakref.WeakSet()
        self._lru_caches: weakref.WeakSet[LruCache[Any, Any]] = weakref.WeakSet()

    def new_column(self, dtype: npt.DTypeLike = np.int64) -> GrowingColumn:
        """Another array, zero everywhere."""
        made = GrowingColumn(self, dtype)
        self._arrays.add(made)
        return made

    def zeros(self, dtype: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
        """(n,) zeros; the same array for all who have nothing to say."""
        found = self._zeros.get(dtype)
        if found is None:
            found = self._zeros[dtype] = self.new_column(dtype)
        return found.view

    def new_sparse_column(self, dtype: npt.DTypeLike = np.int32) -> "SparseColumn":
        """Another sparse count, zero everywhere."""
        made = SparseColumn(self, dtype)
        self._sparse_columns.add(made)
        return made

    def new_lru_cache(
        self,
        most: int,
        most_size: int | None = None,
        forgotten: Callable[[V], object] | None = None,
    ) -> LruCache[K, V]:
        """A cache for what is worked out for those who ask; see `LruCache`."""
        made: LruCache[K, V] = LruCache(most, most_size, forgotten)
        self._lru_caches.add(made)
        return made

    def forget_unused(self) -> None:
        """Forget what nobody has asked for since the last call."""
        for cache in self._lru_caches:
            cache.forget_unused()

    def append(self) -> int:
        """Another row, zero everywhere; returns its number."""
        if self.size == self.capacity:
            self.capacity *= 2
            for column in self._sparse_columns:
                column.trim()
            for array in self._arrays:
                array.resize(self.capacity)
        self.size += 1
        self._forget_views()
        return self.size - 1

    def remove(self, row: int) -> None:
        """Take a row out; the last row takes its number, with all that is counted there."""
        last = self.size - 1
        for column in self._sparse_columns:
            column.move(last, row)
        for array in self._arrays:
            array.data[row] = array.data[last]
            array.data[last] = 0
        self.size = last
        self._forget_views()

    def _forget_views(self) -> None:
        for array in self._arrays:
            array.forget_view()


class SparseColumn:
    """A number for each row, most of them zero: a dict, and an array where that pays.

    Invariant: an array is kept only while at least one row in `MemoryBounds.array_share` (half of
    that once there is an array) has a number. So a column never costs more than a fixed amount for
    each number in it.
    """

    __slots__ = ("__weakref__", "_array", "_dtype", "_table", "rows")

    def __init__(self, table: Table, dtype: npt.DTypeLike) -> None:
        self._table = table
        self._dtype = dtype
        self._array: GrowingColumn | None = None
        #: The numbers that are not zero.
        self.rows: dict[int, int] = {}

    def add(self, row: int, count: int) -> None:
        """Count so many more, or fewer, in a row."""
        self.set(row, self.rows.get(row, 0) + count)

    def set(self, row: int, number: int) -> None:
        """Note the number of a row."""
        rows = self.rows
        if number:
            rows[row] = number
        else:
            rows.pop(row, None)
        if self._array is not None:
            self._array.data[row] = number
            self.trim()

    def trim(self) -> None:
        """Give up the array if it does not pay any more."""
        table = self._table
        if 2 * len(self.rows) * table.bounds.array_share < table.size:
            self._array = None

    def move(self, source: int, target: int) -> None:
        """A row got the number of one without counts; the array moves with the table."""
        count = self.rows.pop(source, 0)
        if count:
            self.rows[target] = count

    @property
    def array(self) -> npt.NDArray[Any]:
        """(n,) the numbers of all rows, read-only; do not keep it."""
        kept = self._kept()
        if kept is not None:
            return kept.view
        table = self._table
        if not self.rows:
            return table.zeros(self._dtype)
        found = np.zeros(table.size, self._dtype)
        fill(found, (self,))
        found.flags.writeable = False
        return found

    def add_to(self, data: npt.NDArray[Any], times: int = 1) -> None:
        """Add all numbers, so many times, to an array."""
        kept = self._kept()
        if kept is not None:
            data += kept.view if times == 1 else kept.view * data.dtype.type(times)
        else:
            for row, number in self.rows.items():
                data[row] += number * times

    def mark(self, mask: npt.NDArray[np.bool_]) -> None:
        """Make a mask true in all rows that have a number."""
        kept = self._kept()
        if kept is not None:
            mask |= kept.view != 0
        else:
            for row in self.rows:
                mask[row] = True

    def _kept(self) -> GrowingColumn | None:
        """The array, if one pays; it is made when somebody first reads the numbers."""
        if self._array is None:
            table, rows = self._table, self.rows
            if not rows or len(rows) * table.bounds.array_share < table.size:
                return None
            self._array = table.new_column(self._dtype)
            fill(self._array.data, (self,))
        return self._array

    def __bool__(self) -> bool:
        return bool(self.rows)


def fill(data: npt.NDArray[Any], columns: Iterable[SparseColumn]) -> None:
    """Add the counts of some columns to an array."""
    for column in columns:
        rows = column.rows
        if len(rows) < _FEW:  # most columns of a cluster where every pod has labels of its own
            for row, count in rows.items():
                data[row] += count
        else:
            where = np.fromiter(rows.keys(), np.intp, len(rows))
            data[where] += np.fromiter(rows.values(), np.int64, len(rows)).astype(data.dtype)
