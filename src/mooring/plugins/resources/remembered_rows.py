"""What was computed for every node, kept until the node changes.

Used by plugins whose answer for a node depends on the node's row and on few things of the pod: for
the next pod that is alike, only the rows that changed since are computed again. Never grows without
bound: kinds of pods that nobody asks about are forgotten.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from mooring.framework.arrays import Rows
from mooring.state.columns import Columns
from mooring.state.lru_cache import LruCache, size_of

K = TypeVar("K", bound=Hashable)
T = TypeVar("T", bound=np.generic)

#: If more than this part of the rows changed, computing all of them is faster.
_MANY = 4


def at_rows(column: npt.NDArray[T], rows: Rows | None) -> npt.NDArray[T]:
    """Some rows of a column; all if no rows are given."""
    return column if rows is None else column[rows]


class _RememberedColumn(Generic[T]):
    __slots__ = ("newest", "values", "version")

    def __init__(self, values: npt.NDArray[T], version: int, newest: int) -> None:
        self.values = values
        self.version = version
        self.newest = newest


class RememberedRows(Generic[K, T]):
    """One value for each row, for each kind of pod.

    Args:
        compute: the values of some rows (all if None) for a kind of pod. It may read nothing but
            these rows of the columns and the kind.
    """

    def __init__(self, compute: Callable[[Columns, Rows | None, K], npt.NDArray[T]]) -> None:
        self._compute = compute
        self._columns: Columns | None = None
        self._kept: LruCache[K, _RememberedColumn[T]] = LruCache(0)

    def read(self, columns: Columns, kind: K) -> npt.NDArray[T]:
        """(n,) the values of all rows as they are now; the array is read-only and never changes."""
        if columns is not self._columns:
            self._columns = columns
            self._kept = columns.table.new_lru_cache(columns.bounds.kinds, columns.bounds.key_bytes)
        kept = self._kept.get(kind)
        # A node that changes has a new generation; only where rows came or went, all are stale.
        if kept is None or kept.version != columns.rows_version:
            return self._read_all(columns, kind)
        generation = columns.generation
        rows = (generation > kept.newest).nonzero()[0]
        if len(rows) * _MANY > len(generation):
            return self._read_all(columns, kind)
        if len(rows):
            # A copy, because a record of an earlier decision may still hold the old values.
            values = kept.values.copy()
            values[rows] = self._compute(columns, rows, kind)
            values.flags.writeable = False
            kept.values, kept.newest = values, int(generation[rows].max())
        return kept.values

    def _read_all(self, columns: Columns, kind: K) -> npt.NDArray[T]:
        values = self._compute(columns, None, kind)
        values.flags.writeable = False
        newest = int(columns.generation.max(initial=0))
        self._kept.put(kind, _RememberedColumn(values, columns.rows_version, newest), size_of(kind))
        return values
