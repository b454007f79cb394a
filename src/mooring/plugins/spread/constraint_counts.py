"""The matching pods of each topology domain, for one constraint.

What depends on nodes and the pod's template alone is worked out once (`EligibleDomains`); what
depends on the pods is counted by the state. Called by `PodTopologySpread` alone.
"""

from collections.abc import Hashable

import numpy as np

from mooring.framework.arrays import Mask, Rows
from mooring.framework.cycle import Cycle
from mooring.framework.nodes import Nodes
from mooring.model.selectors import LabelSelector
from mooring.plugins.domain_sums import DomainSums, KeptByLabels
from mooring.plugins.spread.constraints import SpreadConstraint
from mooring.plugins.spread.counted_nodes import affinity_mask, tolerated_mask
from mooring.state.aspects import Aspect
from mooring.state.cluster import Cluster
from mooring.state.columns import Columns, LabelColumn
from mooring.state.counts import FollowedCount, PodLabelGroup
from mooring.state.node_labels import Ids

#: The minimum of no domains at all, which no count can exceed.
_NO_MINIMUM = 2**31 - 1
#: For so many labels it is remembered how many domains there are.
_MOST_SHOWN = 64


class SpreadPods:
    """The pods of a namespace that a constraint counts, which has a selector.

    Attributes:
        key: equal for those that mean the same.
    """

    __slots__ = ("_namespace", "_selector", "key")

    def __init__(self, namespace: str, selector: LabelSelector, key: Hashable) -> None:
        self._namespace = namespace
        self._selector = selector
        self.key = ("spread", namespace, key)

    def counted(self, cluster: Cluster) -> FollowedCount:
        """How many of them are on each node."""
        return cluster.pod_counts.follow(self.key, self._includes, (self._selector,))

    def _includes(self, group: PodLabelGroup) -> bool:
        return (
            group.namespace == self._namespace
            and not group.terminating
            and self._selector.matches(group.labels)
        )


def spread_pods(namespace: str, constraint: SpreadConstraint) -> SpreadPods | None:
    """The pods of a namespace that a constraint counts; None if it counts none."""
    selector = constraint.selector
    if selector is None or not constraint.counts:
        return None
    return SpreadPods(namespace, selector, constraint.key)


class EligibleDomains:
    """The domains of one constraint, and the nodes whose pods count.

    Attributes:
        eligible: (n,) the nodes whose pods count.
        ids: (n,) the domain of each node.
        size: how many domains there are; the first has the nodes without the label.
        is_complete: whether every node has the label.
    """

    __slots__ = ("_every", "eligible", "ids", "is_complete", "size")

    def __init__(self, columns: Columns, constraint: SpreadConstraint, eligible: Mask) -> None:
        column = columns.labels(constraint.topology_key)
        self.eligible = eligible
        self.ids = column.ids
        self.size = len(column.values)
        self.is_complete = column.is_complete
        self._every = bool(eligible.all())

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        return self.eligible.nbytes + self.ids.nbytes

    def sums(
        self, kept: KeptByLabels[DomainSums], cycle: Cycle, constraint: SpreadConstraint
    ) -> DomainSums:
        """The matching pods of each domain on the eligible nodes."""
        pods = spread_pods(cycle.shape.namespace, constraint)
        weighted = () if pods is None else ((pods, 1),)
        counted = None if self._every else self.eligible
        return kept.get(
            cycle.cluster.columns,
            (self, pods and pods.key),
            lambda: DomainSums(self.ids, self.size, counted, weighted),
        ).catch_up(cycle.cluster)


class RequiredCounts:
    """What is counted in one decision for one required constraint, with what-if changes.

    Attributes:
        constraint: the constraint.
        sums: (n_values,) the matching pods of each domain, read-only.
        own: 1 if the pod itself is one of those to be spread, else 0.
    """

    __slots__ = ("_changed", "_counts", "_domains", "constraint", "own", "sums")

    def __init__(
        self,
        cycle: Cycle,
        constraint: SpreadConstraint,
        domains: EligibleDomains,
        kept: KeptByLabels[DomainSums],
    ) -> None:
        self.constraint = constraint
        self._domains = domains
        self._changed = False
        self._counts = domains.sums(kept, cycle, constraint)
        self.sums = self._counts.sums
        self.own = int(constraint.matches(cycle.shape.labels))

    @property
    def ids(self) -> Ids:
        """(n,) the domain of each node."""
        return self._domains.ids

    @property
    def is_complete(self) -> bool:
        """Whether every node is in a domain."""
        return self._domains.is_complete

    @property
    def minimum(self) -> int:
        """The count of the emptiest domain; 0 if there are fewer domains than asked for."""
        if not self._changed:
            return lowest_count(self._counts, self.constraint)
        if self._counts.domains < self.constraint.min_domains:
            return 0
        return int(self.sums[self._counts.shown].min(initial=_NO_MINIMUM))

    @property
    def limit(self) -> int:
        """A domain may have so many matching pods before this one comes."""
        return self.constraint.max_skew + self.minimum - self.own

    def change(self, row: int, count: int) -> None:
        """A matching pod came to a node as a what-if, or left it."""
        if self._domains.eligible[row]:
            if not self._changed:  # others have the same sums
                self.sums, self._changed = self.sums.copy(), True
            self.sums[self._domains.ids[row]] += count


def lowest_count(counts: DomainSums, constraint: SpreadConstraint) -> int:
    """The count of the emptiest domain; 0 if there are fewer domains than asked for."""
    if counts.domains < constraint.min_domains:
        return 0
    return counts.lowest if counts.domains else _NO_MINIMUM


def has_topology_labels(columns: Columns, constraints: tuple[SpreadConstraint, ...]) -> Mask:
    """(n,) the nodes that have the labels of all constraints."""
    keys = tuple(one.topology_key for one in constraints)

    def compute() -> Mask:
        mask = np.ones(len(columns), np.bool_)
        for key in keys:
            mask &= columns.labels(key).ids > 0
        return mask

    return columns.remember(("has labels", keys), compute, Aspect.LABELS)


def every_node_has_labels(columns: Columns, constraints: tuple[SpreadConstraint, ...]) -> bool:
    """Whether all nodes have the labels of all constraints."""
    keys = tuple(one.topology_key for one in constraints)
    return columns.remember(
        ("all have labels", keys),
        lambda: bool(has_topology_labels(columns, constraints).all()),
        Aspect.LABELS,
    )


def included_nodes(cycle: Cycle, constraint: SpreadConstraint) -> Mask:
    """(n,) the nodes that count under the constraint's inclusion policies."""
    columns = cycle.cluster.columns
    mask = np.ones(len(columns), np.bool_)
    if constraint.honors_affinity:
        allowed = affinity_mask(columns, cycle.pod, cycle.shape)
        if allowed is not None:
            mask &= allowed
    if constraint.honors_taints:
        mask &= tolerated_mask(columns, cycle.pod, cycle.shape)
    return mask


class ShownDomains:
    """How many domains of a label the possible nodes are in; the last answers are remembered."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: dict[LabelColumn, tuple[int, Rows | None, int]] = {}

    def count(self, column: LabelColumn, nodes: Nodes, ignored: Mask | None) -> int:
        """How many domains there are, ignored nodes left out."""
        version = nodes.columns.version(Aspect.LABELS)
        known = self._last.get(column)
        if ignored is None and known is not None:
            then, rows, found = known
            if then == version and rows is nodes.rows:
                return found
        found = domains_shown(column, nodes, ignored)
        if ignored is None:
            if len(self._last) >= _MOST_SHOWN:
                self._last.clear()
            self._last[column] = (version, nodes.rows, found)
        return found


def domains_shown(column: LabelColumn, nodes: Nodes, ignored: Mask | None = None) -> int:
    """How many domains of a label nodes are in, ignored ones left out."""
    ids = nodes.take(column.ids)
    empty = column.place("")
    if empty > 0:
        # A node without the label is in the domain of the empty value.
        ids = np.where(ids == empty, 0, ids)
    shown = ids if ignored is None else ids[~ignored]
    return int(np.count_nonzero(np.bincount(shown, minlength=len(column.values))))
