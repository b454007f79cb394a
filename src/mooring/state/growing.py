"""Arrays with one element for each node that grow and shrink with the cluster, and sparse counts.

`Table` owns the number of rows and every `Growing` array made from it; a row that is taken out is
filled with the last one, so the rows in use are always the first ones. Called by `Columns` and
`PodCounts`; knows nothing of nodes or pods.
"""

import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

_FIRST_CAPACITY = 16


class Growing:
    """One array of a table; `view` is the part in use."""

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
    """The rows, and all arrays over them."""

    def __init__(self) -> None:
        self.size = 0
        self.capacity = _FIRST_CAPACITY
        self._arrays: weakref.WeakSet[Growing] = weakref.WeakSet()
        self._tallies: weakref.WeakSet[Tally] = weakref.WeakSet()

    def new(self, dtype: npt.DTypeLike = np.int64) -> Growing:
        """Another array, zero everywhere."""
        made = Growing(self, dtype)
        self._arrays.add(made)
        return made

    def tally(self) -> "Tally":
        """Another sparse count, zero everywhere."""
        made = Tally(self)
        self._tallies.add(made)
        return made

    def append(self) -> int:
        """Another row, zero everywhere; returns its number."""
        if self.size == self.capacity:
            self.capacity *= 2
            for array in self._arrays:
                array.resize(self.capacity)
        self.size += 1
        self._forget_views()
        return self.size - 1

    def remove(self, row: int) -> None:
        """Take a row out; the last row takes its number, with all that is counted there."""
        last = self.size - 1
        for tally in self._tallies:
            tally.move(last, row)
        for array in self._arrays:
            array.data[row] = array.data[last]
            array.data[last] = 0
        self.size = last
        self._forget_views()

    def _forget_views(self) -> None:
        for array in self._arrays:
            array.forget_view()


class Tally:
    """A count for each row, most of them zero: a dict, and an array once somebody wants one."""

    __slots__ = ("__weakref__", "_array", "_table", "rows")

    def __init__(self, table: Table) -> None:
        self._table = table
        self._array: Growing | None = None
        #: The counts that are not zero.
        self.rows: dict[int, int] = {}

    def add(self, row: int, count: int) -> None:
        """Count so many more, or fewer, in a row."""
        rows = self.rows
        now = rows.get(row, 0) + count
        if now:
            rows[row] = now
        else:
            rows.pop(row, None)
        if self._array is not None:
            self._array.data[row] = now

    def move(self, source: int, target: int) -> None:
        """A row got the number of one without counts; the array moves with the table."""
        count = self.rows.pop(source, 0)
        if count:
            self.rows[target] = count

    @property
    def array(self) -> npt.NDArray[np.int32]:
        """(n,) the counts of all rows."""
        if self._array is None:
            self._array = self._table.new(np.int32)
            fill(self._array.data, (self,))
        return self._array.view

    def __bool__(self) -> bool:
        return bool(self.rows)


def fill(data: npt.NDArray[Any], tallies: Iterable[Tally]) -> None:
    """Add the counts of some tallies to an array."""
    for tally in tallies:
        rows = tally.rows
        if len(rows) == 1:  # most tallies of a cluster where every pod has labels of its own
            for row, count in rows.items():
                data[row] += count
        elif rows:
            where = np.fromiter(rows.keys(), np.intp, len(rows))
            data[where] += np.fromiter(rows.values(), np.int64, len(rows)).astype(data.dtype)
