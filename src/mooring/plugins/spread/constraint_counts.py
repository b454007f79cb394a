"""The matching pods of each topology domain, for one constraint.

What depends on nodes and the pod's template alone is worked out once (`EligibleDomains`); what
depends on the pods is counted by the state. Called by `PodTopologySpread` alone.
"""

import numpy as np

from mooring.framework.arrays import Amounts, Mask, Rows
from mooring.framework.cycle import Cycle
from mooring.framework.nodes import Nodes
from mooring.plugins.domain_sums import DomainSums, KeptByLabels
from mooring.plugins.spread.constraints import SpreadConstraint
from mooring.plugins.spread.counted_nodes import affinity_mask, tolerated_mask
from mooring.state.aspects import Aspect
from mooring.state.columns import Columns, LabelColumn
from mooring.state.counts import Counts, PodLabelGroup
from mooring.state.node_labels import Ids

#: The minimum of no domains at all, which no count can exceed.
_NO_MINIMUM = 2**31 - 1
#: For so many labels it is remembered how many domains there are.
_MOST_SHOWN = 64


class EligibleDomains:
    """The domains of one constraint, and the nodes whose pods count.

    Attributes:
        eligible: (n,) the nodes whose pods count.
        ids: (n,) the domain of each node.
        size: how many domains there are; the first has the nodes without the label.
        is_complete: whether every node has the label.
        present: the domains that have an eligible node.
    """

    __slots__ = ("_every", "eligible", "ids", "is_complete", "present", "size")

    def __init__(self, columns: Columns, constraint: SpreadConstraint, eligible: Mask) -> None:
        column = columns.labels(constraint.topology_key)
        self.eligible = eligible
        self.ids = column.ids
        self.size = len(column.values)
        self.is_complete = column.is_complete
        self._every = bool(eligible.all())
        counted = self.ids if self._every else self.ids[eligible]
        self.present = np.bincount(counted, minlength=self.size).nonzero()[0]

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        return self.eligible.nbytes + self.present.nbytes

    def sums(
        self, kept: KeptByLabels[DomainSums], cycle: Cycle, constraint: SpreadConstraint
    ) -> Amounts:
        """(n_values,) the matching pods of each domain on the eligible nodes, read-only."""
        counts = matching_counts(cycle, constraint)
        if counts is None:
            return np.zeros(self.size, np.int64)
        columns, key = cycle.cluster.columns, (self, cycle.shape.namespace, constraint.key)
        return kept.get(columns, key, self._new_sums).read(columns, counts.item, lambda: counts)

    def _new_sums(self) -> DomainSums:
        return DomainSums(self.ids, self.size, None if self._every else self.eligible)


class RequiredCounts:
    """What is counted in one decision for one required constraint, with what-if changes.

    Attributes:
        constraint: the constraint.
        sums: (n_values,) the matching pods of each domain, read-only.
        own: 1 if the pod itself is one of those to be spread, else 0.
    """

    __slots__ = ("_changed", "_domains", "_minimum", "constraint", "own", "sums")

    def __init__(
        self,
        cycle: Cycle,
        constraint: SpreadConstraint,
        domains: EligibleDomains,
        kept: KeptByLabels[DomainSums],
    ) -> None:
        self.constraint = constraint
        self._domains = domains
        self._minimum: int | None = None
        self._changed = False
        self.sums = domains.sums(kept, cycle, constraint)
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
        if self._minimum is None:
            present = self._domains.present
            if len(present) < self.constraint.min_domains:
                self._minimum = 0
            else:
                self._minimum = int(self.sums.take(present).min(initial=_NO_MINIMUM))
        return self._minimum

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
            self._minimum = None


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


def matching_counts(cycle: Cycle, constraint: SpreadConstraint) -> Counts | None:
    """(n,) the pods on each node that the constraint counts; None if it counts none."""
    selector = constraint.selector
    if selector is None or not constraint.counts:
        return None
    namespace = cycle.shape.namespace

    def test(group: PodLabelGroup) -> bool:
        return (
            group.namespace == namespace
            and not group.terminating
            and selector.matches(group.labels)
        )

    key = ("spread", namespace, constraint.key)
    return cycle.cluster.pod_counts.matching(key, test, (selector,))


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
        found = _domains_shown(column, nodes, ignored)
        if ignored is None:
            if len(self._last) >= _MOST_SHOWN:
                self._last.clear()
            self._last[column] = (version, nodes.rows, found)
        return found


def _domains_shown(column: LabelColumn, nodes: Nodes, ignored: Mask | None) -> int:
    ids = nodes.take(column.ids)
    empty = column.place("")
    if empty > 0:
        # A node without the label is in the domain of the empty value.
        ids = np.where(ids == empty, 0, ids)
    shown = ids if ignored is None else ids[~ignored]
    return int(np.count_nonzero(np.bincount(shown, minlength=len(column.values))))
