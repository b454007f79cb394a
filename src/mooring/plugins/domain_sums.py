"""How many pods of a sort are in each topology domain, kept up to date as pods come and go.

The state counts them on each node. A sum over all nodes costs as much as there are nodes; after the
first time only the rows that changed since are looked at. Shared by topology spread and pod
affinity; knows nothing of their rules.
"""

from collections.abc import Callable, Hashable
from typing import Final, Generic, Protocol, TypeVar

import numpy as np

from mooring.framework.arrays import Amounts, Mask
from mooring.state.aspects import Aspect
from mooring.state.columns import Columns
from mooring.state.counts import Counts
from mooring.state.lru_cache import LruCache, size_of
from mooring.state.node_labels import Ids

#: If more rows changed, all of them are summed up anew.
_MANY: Final = 48


class DomainSums:
    """The sums of one count over all nodes with the same value of a label.

    Args:
        ids: (n,) the domain of each node.
        size: how many domains there are; the first has the nodes without the label.
        counted: (n,) the nodes that count; None for all.
    """

    __slots__ = ("_counted", "_ids", "_position", "_seen", "_size", "_sums")

    def __init__(self, ids: Ids, size: int, counted: Mask | None = None) -> None:
        self._ids = ids
        self._size = size
        self._counted = counted
        self._position = -1
        self._seen: Counts = np.zeros(0, np.int32)
        self._sums: Amounts = np.zeros(0, np.int64)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes once it was read."""
        return 8 * (len(self._ids) + self._size)

    def read(
        self, columns: Columns, at: Callable[[int], int], counts: Callable[[], Counts]
    ) -> Amounts:
        """(n_values,) the sums as they are now, read-only; valid until the next change.

        Args:
            columns: the nodes.
            at: the count of one row.
            counts: (n,) the counts of all rows.
        """
        log = columns.row_log
        if self._position == log.end:
            return self._sums
        rows = log.since(self._position) if self._position >= 0 else None
        if rows is None or len(rows) > _MANY:
            self._sum_up(counts())
        else:
            self._look_at(rows, at)
        self._position = log.end
        return self._sums

    def _sum_up(self, counts: Counts) -> None:
        self._seen = counts.copy() if self._counted is None else np.where(self._counted, counts, 0)
        self._sums = np.bincount(self._ids, self._seen, self._size).astype(np.int64)

    def _look_at(self, rows: list[int], at: Callable[[int], int]) -> None:
        seen, counted = self._seen, self._counted
        for row in rows:
            if counted is None or counted[row]:
                count, before = at(row), seen.item(row)
                if count != before:
                    self._sums[self._ids[row]] += count - before
                    seen[row] = count


class _HasSize(Protocol):
    @property
    def nbytes(self) -> int: ...


K = TypeVar("K", bound=_HasSize)


class KeptByLabels(Generic[K]):
    """What one plugin keeps for counts of pods by domain, until labels of nodes change."""

    def __init__(self) -> None:
        self._columns: Columns | None = None
        self._version = -1
        self._kept: LruCache[Hashable, K] = LruCache(0)

    def get(self, columns: Columns, key: Hashable, make: Callable[[], K]) -> K:
        """What is kept under a key.

        Args:
            columns: the nodes.
            key: equal for counts and domains that mean the same.
            make: makes it; it may read nothing of the nodes but their labels.
        """
        version = columns.version(Aspect.LABELS)
        if version != self._version or columns is not self._columns:
            self._columns, self._version = columns, version
            bounds = columns.bounds
            most = bounds.result_bytes + len(columns) * bounds.result_bytes_per_node
            self._kept = columns.table.new_lru_cache(bounds.results, most)
        found = self._kept.get(key)
        if found is None:
            found = make()
            self._kept.put(key, found, found.nbytes + size_of(key))
        return found


def sums_over(columns: Columns, topology_key: str) -> DomainSums:
    """Sums over all nodes with the same value of a label."""
    column = columns.labels(topology_key)
    return DomainSums(column.ids, len(column.values))


def nodes_by_domain(columns: Columns, topology_key: str) -> Amounts:
    """(n_values,) how many nodes have each value of a label; the first do not have the label."""
    column = columns.labels(topology_key)
    return columns.remember(
        ("nodes by domain", topology_key),
        lambda: np.bincount(column.ids, minlength=len(column.values)),
        Aspect.LABELS,
    )


class DomainWeights:
    """Weighted counts of pods by topology key and domain, where there are any pods."""

    __slots__ = ("by_key",)

    def __init__(self) -> None:
        #: For each topology key (n_values,) the sums of the weights; 0 for "no such label".
        self.by_key: dict[str, Amounts] = {}

    def add(self, key: str, sums: Amounts, weight: int) -> None:
        """Count so many pods in each domain, each with a weight."""
        # A sum of weights may be 0 because they cancel out: an answer, unlike no pods at all.
        if sums[1:].any():
            weighted = sums * weight
            weighted[0] = 0
            known = self.by_key.get(key)
            self.by_key[key] = weighted if known is None else known + weighted
