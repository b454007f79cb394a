"""Columns with one number for each node that grow and shrink with the cluster.

`Table` owns the number of rows and every `GrowingColumn` made from it; a row that is taken out is
filled with the last one, so the rows in use are always the first ones. A `SparseColumn` costs as
much as there are numbers in it, however many rows the table has; who keeps it moves its numbers. A
fork shares columns until one side writes (see `copy_on_write`). What is remembered beyond that is
in caches that the `Table` makes, so that it can make them forget. Called by `Columns` and
`PodCounts`; knows nothing of nodes or pods.
"""

import weakref
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from mooring.state.copy_on_write import Owner
from mooring.state.lru_cache import LruCache
from mooring.state.memory_bounds import BOUNDS, MemoryBounds

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_FIRST_CAPACITY = 16
#: Up to so many numbers are added one by one.
_FEW = 8


class GrowingColumn:
    """One array of a table; `view` has the rows in use.

    Attributes:
        table: the table.
        data: the numbers, those of rows to come as well; to be written only through `writable`.
        cells: the same numbers; to read or write one of them costs half as much here.
        shared: whether a fork may have the same array.
    """

    __slots__ = ("__weakref__", "_read_only", "cells", "data", "shared", "table")

    def __init__(
        self, table: "Table", dtype: npt.DTypeLike, data: npt.NDArray[Any] | None = None
    ) -> None:
        self.table = table
        self.shared = data is not None
        self.data: npt.NDArray[Any] = np.zeros(table.capacity, dtype) if data is None else data
        self.cells = self.data.data
        self._read_only: npt.NDArray[Any] | None = None

    @property
    def view(self) -> npt.NDArray[Any]:
        """(n,) the rows in use, read-only.

        Shows later changes until a row comes or goes, or the state is forked; it never shows those
        of another state.
        """
        found = self._read_only
        if found is None:
            found = self.data[: self.table.size]
            found.flags.writeable = False
            self._read_only = found
            self.table.viewed.add(self)
        return found

    def writable(self) -> npt.NDArray[Any]:
        """The numbers, for writing now."""
        if self.shared:
            self.data = self.data.copy()
            self.cells = self.data.data
            self.shared = False
            self._read_only = None
        return self.data

    def resize(self, capacity: int) -> None:
        """Make room for more rows."""
        grown = np.zeros(capacity, self.data.dtype)
        grown[: len(self.data)] = self.data
        self.data = grown
        self.cells = grown.data
        self.shared = False

    def forget_view(self) -> None:
        """The number of rows changed."""
        self._read_only = None


class Table:
    """The rows, and all arrays over them.

    Args:
        bounds: how many arrays are kept.

    Attributes:
        size: how many rows there are.
        capacity: for how many rows there is room.
        bounds: how many arrays are kept.
        owner: who may write to entries since the last fork.
        viewed: the arrays whose views have as many rows as there are now.
    """

    def __init__(self, bounds: MemoryBounds = BOUNDS) -> None:
        self.size = 0
        self.capacity = _FIRST_CAPACITY
        self.bounds = bounds
        self.owner = Owner()
        self.viewed: weakref.WeakSet[GrowingColumn] = weakref.WeakSet()
        self._zeros: dict[npt.DTypeLike, GrowingColumn] = {}
        self._arrays: weakref.WeakSet[GrowingColumn] = weakref.WeakSet()
        self._with_array: weakref.WeakSet[SparseColumn] = weakref.WeakSet()
        self._lru_caches: weakref.WeakSet[LruCache[Any, Any]] = weakref.WeakSet()

    def fork(self) -> "Table":
        """A table with as many rows; whoever has columns forks those that are to be there."""
        forked = Table(self.bounds)
        forked.size, forked.capacity = self.size, self.capacity
        self.owner = Owner()
        return forked

    def new_column(self, dtype: npt.DTypeLike = np.int64) -> GrowingColumn:
        """Another array, zero everywhere."""
        made = GrowingColumn(self, dtype)
        self._arrays.add(made)
        return made

    def fork_column(self, column: GrowingColumn) -> GrowingColumn:
        """The column of the table that this one was forked from; to be called right then."""
        column.shared = True
        made = GrowingColumn(self, column.data.dtype, column.data)
        self._arrays.add(made)
        return made

    def zeros(self, dtype: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
        """(n,) zeros; the same array for all who have nothing to say."""
        found = self._zeros.get(dtype)
        if found is None:
            found = self._zeros[dtype] = self.new_column(dtype)
        return found.view

    def new_array_of(self, column: "SparseColumn") -> GrowingColumn:
        """An array for the numbers of a sparse column, which gives it up if it does not pay."""
        made = self.new_column(column.dtype)
        fill(made.data, (column,))
        self._with_array.add(column)
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
            for column in list(self._with_array):
                column.trim(self)
                if not column.has_array(self):
                    self._with_array.discard(column)
            for array in self._arrays:
                array.resize(self.capacity)
        self.size += 1
        self._forget_views()
        return self.size - 1

    def remove(self, row: int) -> None:
        """Take a row out; the last row takes its number, with all that arrays have there.

        Whoever keeps sparse columns moves what they have in the last row first.
        """
        last = self.size - 1
        for array in self._arrays:
            data = array.writable()
            data[row] = data[last]
            data[last] = 0
        self.size = last
        self._forget_views()

    def _forget_views(self) -> None:
        for array in self.viewed:
            array.forget_view()
        self.viewed.clear()


class SparseColumn:
    """A number for each row, most of them zero: a dict, and an array where that pays.

    Invariant: an array is kept only while at least one row in `MemoryBounds.array_share` (half of
    that once there is an array) has a number. So a column never costs more than a fixed amount for
    each number in it.

    It may be in several forks, whose tables have different numbers of rows: readers say in which
    one they are, and only its owner may write to it. An array belongs to the table that read it
    last.

    Attributes:
        owner: who may write to it.
        dtype: what kind of numbers it has.
        rows: the numbers that are not zero.
    """

    __slots__ = ("__weakref__", "_array", "dtype", "owner", "rows")

    def __init__(self, owner: Owner, dtype: npt.DTypeLike = np.int32) -> None:
        self.owner = owner
        self.dtype = dtype
        self.rows: dict[int, int] = {}
        self._array: GrowingColumn | None = None

    def copy(self, owner: Owner) -> Self:
        """The same numbers for another owner."""
        made = self._new(owner)
        made.rows = self.rows.copy()
        return made

    def _new(self, owner: Owner) -> Self:
        return type(self)(owner, self.dtype)

    def add(self, row: int, count: int) -> None:
        """Count so many more, or fewer, in a row."""
        rows = self.rows
        number = rows.get(row, 0) + count
        if number and self._array is None:  # mostly
            rows[row] = number
        else:
            self.set(row, number)

    def set(self, row: int, number: int) -> None:
        """Note the number of a row."""
        rows = self.rows
        if number:
            rows[row] = number
        else:
            rows.pop(row, None)
        if self._array is not None:
            self._array.data[row] = number
            self.trim(self._array.table)

    def move(self, source: int, target: int) -> None:
        """A row gets the number of one without numbers; the array moves with the table."""
        number = self.rows.pop(source, 0)
        if number:
            self.rows[target] = number

    def trim(self, table: Table) -> None:
        """Give up the array in a table if it does not pay any more."""
        if 2 * len(self.rows) * table.bounds.array_share < table.size and self.has_array(table):
            self._array = None

    def has_array(self, table: Table) -> bool:
        """Whether there is an array in a table."""
        return self._array is not None and self._array.table is table

    def array(self, table: Table) -> npt.NDArray[Any]:
        """(n,) the numbers of all rows of a table, read-only; do not keep it."""
        kept = self._kept(table)
        if kept is not None:
            return kept.view
        if not self.rows:
            return table.zeros(self.dtype)
        found = np.zeros(table.size, self.dtype)
        fill(found, (self,))
        found.flags.writeable = False
        return found

    def add_to(self, data: npt.NDArray[Any], table: Table) -> None:
        """Add all numbers to an array over the rows of a table."""
        kept = self._kept(table)
        if kept is not None:
            data += kept.view
        else:
            for row, number in self.rows.items():
                data[row] += number

    def _kept(self, table: Table) -> GrowingColumn | None:
        """The array, if one pays; it is made when somebody first reads the numbers."""
        array = self._array
        if array is None or array.table is not table:
            rows = self.rows
            if not rows or len(rows) * table.bounds.array_share < table.size:
                return None
            array = self._array = table.new_array_of(self)
        return array

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
