"""How many pods of a sort are in each topology domain, kept up to date as pods come and go.

The state counts them on each node and says what changed (`CountChanges`). A sum over all nodes
costs as much as there are nodes; after the first time only the changes since are added. Shared by
topology spread and pod affinity; knows nothing of their rules.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Final, Generic, Protocol, TypeVar

import numpy as np

from mooring.framework.arrays import Amounts, Mask
from mooring.state.aspects import Aspect
from mooring.state.cluster import Cluster
from mooring.state.columns import Columns
from mooring.state.count_changes import CountChanges
from mooring.state.counts import Counts
from mooring.state.lru_cache import LruCache, size_of
from mooring.state.node_labels import Ids
from mooring.state.table import Table

_NO_MASK: Final[Mask] = np.zeros(0, np.bool_)


class Counted(Protocol):
    """Pods that are counted on each node."""

    @property
    def changes(self) -> CountChanges:
        """How the counts change."""

    def array(self, table: Table) -> Counts:
        """(n,) the counts of all rows, read-only; not to be kept."""


class PodsOfASort(Protocol):
    """Says which pods are counted."""

    @property
    def key(self) -> Hashable:
        """Equal for those that mean the same."""

    def counted(self, cluster: Cluster) -> Counted:
        """The same pods as they are counted now."""


#: Pods of several sorts, each with what one of them adds to a sum.
WeightedPods = Sequence[tuple[PodsOfASort, int]]


class DomainSums:
    """The weighted sums of counts over all nodes with the same value of a label.

    Args:
        ids: (n,) the domain of each node.
        size: how many domains there are; the first has the nodes without the label.
        counted: (n,) the nodes that count; None for all.
        pods: the pods.

    Attributes:
        ids: the same.
        sums: (size,) the sums as of the last `catch_up`, read-only; valid until the next one.
        shown: (size,) the domains that have a node that counts; not the first.
        domains: how many these are.
    """

    __slots__ = (
        "_counted", "_logs", "_pods", "_single", "_tally", "_with_pods", "domains", "ids",
        "shown", "sums",
    )  # fmt: skip

    def __init__(self, ids: Ids, size: int, counted: Mask | None, pods: WeightedPods) -> None:
        self.ids = ids
        self._counted = counted
        self._pods = pods
        #: For each sort of pods their log, and how much of it was read.
        self._logs: list[tuple[CountChanges, int]] = []
        nodes = np.bincount(ids, minlength=size)
        #: Whether a domain has one node, the one that changed if the domain does.
        self._single: Mask = nodes == 1
        if counted is not None:
            nodes = np.bincount(ids[counted], minlength=size)
        self.shown: Mask = nodes > 0
        self.shown[0] = False
        self.domains = int(np.count_nonzero(self.shown))
        #: How many of these domains have each sum.
        self._tally: dict[int, int] = {0: self.domains} if self.domains else {}
        self._with_pods: Mask = _NO_MASK
        self.sums: Amounts = np.zeros(size, np.int64)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes once it was read."""
        return 9 * len(self.ids) + 10 * len(self.shown)

    def catch_up(self, cluster: Cluster) -> "DomainSums":
        """Add what came since the last time; returns this object."""
        logs = self._logs
        for place, (pods, weight) in enumerate(self._pods):
            changes = pods.counted(cluster).changes
            if not logs:
                return self._sum_up(cluster)
            known, position = logs[place]
            if known is changes:
                if position == changes.end:
                    continue
                more = changes.since(position)
                if more is not None:
                    self._add(more, weight)
                    logs[place] = (changes, changes.end)
                    continue
            return self._sum_up(cluster)
        return self

    def _sum_up(self, cluster: Cluster) -> "DomainSums":
        self._logs = []
        size = len(self.shown)
        sums = np.zeros(size, np.int64)
        for pods, weight in self._pods:
            counted = pods.counted(cluster)
            counts = counted.array(cluster.columns.table)
            if self._counted is not None:
                counts = np.where(self._counted, counts, 0)
            found = np.bincount(self.ids, counts, size).astype(np.int64)
            sums += found if weight == 1 else found * weight
            self._logs.append((counted.changes, counted.changes.end))
        self.sums = sums
        self._with_pods = _NO_MASK
        values, domains = np.unique(sums[self.shown], return_counts=True)
        self._tally = dict(zip(values.tolist(), domains.tolist(), strict=True))
        return self

    def _add(self, changes: Sequence[tuple[int, int]], weight: int) -> None:
        ids, counted, sums, tally = self.ids, self._counted, self.sums, self._tally
        for row, change in changes:
            if counted is not None and not counted[row]:
                continue
            domain = ids.item(row)
            before = sums.item(domain)
            now = sums[domain] = before + weight * change
            if domain:
                left = tally[before] - 1
                if left:
                    tally[before] = left
                else:
                    del tally[before]
                tally[now] = tally.get(now, 0) + 1
                if (not now or not before) and self._with_pods is not _NO_MASK:
                    if self._single[domain]:
                        self._with_pods[row] = now != 0
                    else:
                        self._with_pods[ids == domain] = now != 0

    @property
    def lowest(self) -> int:
        """The lowest sum of all domains that have a node that counts, if there is one."""
        return min(self._tally)

    @property
    def highest(self) -> int:
        """The highest sum of all domains that have a node that counts, if there is one."""
        return max(self._tally)

    @property
    def every_node_counts(self) -> bool:
        """Whether no node is left out."""
        return self._counted is None

    @property
    def has_pods(self) -> bool:
        """Whether a domain has a sum that is not 0."""
        return self._tally.get(0, 0) < self.domains

    @property
    def has_pods_everywhere(self) -> bool:
        """Whether no node is without the label, or in a domain whose sum is 0."""
        return self._counted is None and 0 not in self._tally

    @property
    def nodes_with_pods(self) -> Mask:
        """(n,) the nodes whose domain has a sum that is not 0, read-only."""
        found = self._with_pods
        if found is _NO_MASK:
            by_domain = self.sums != 0
            by_domain[0] = False  # nodes without the label are in no domain
            found = self._with_pods = by_domain.take(self.ids)
        return found


class _HasSize(Protocol):
    @property
    def nbytes(self) -> int: ...


K = TypeVar("K", bound=_HasSize)


class KeptByLabels(Generic[K]):
    """What one plugin keeps for counts of pods by domain, until nodes change.

    Args:
        aspects: what of the nodes it depends on, beside their labels.
    """

    def __init__(self, *aspects: Aspect) -> None:
        self._aspects = (Aspect.LABELS, *aspects)
        self._columns: Columns | None = None
        self._changes = -1
        self._version = -1
        self._kept: LruCache[Hashable, K] = LruCache(0)

    def get(self, columns: Columns, key: Hashable, make: Callable[[], K]) -> K:
        """What is kept under a key.

        Args:
            columns: the nodes.
            key: equal for counts and domains that mean the same.
            make: makes it; it may read nothing of the nodes but their labels.
        """
        if columns.node_changes != self._changes or columns is not self._columns:
            self._forget_outdated(columns)
        found = self._kept.get(key)
        if found is None:
            found = make()
            self._kept.put(key, found, found.nbytes + size_of(key))
        return found

    def _forget_outdated(self, columns: Columns) -> None:
        self._changes = columns.node_changes
        version = columns.version(*self._aspects)
        if version != self._version or columns is not self._columns:
            self._columns, self._version = columns, version
            bounds = columns.bounds
            most = bounds.result_bytes + len(columns) * bounds.result_bytes_per_node
            self._kept = columns.table.new_lru_cache(bounds.results, most)


def sums_over(columns: Columns, topology_key: str, pods: WeightedPods) -> DomainSums:
    """Sums over all nodes with the same value of a label; nodes without it do not count."""
    column = columns.labels(topology_key)
    counted = None if column.is_complete else column.ids > 0
    return DomainSums(column.ids, len(column.values), counted, pods)


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
