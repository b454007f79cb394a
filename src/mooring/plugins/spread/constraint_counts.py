"""The matching pods of each topology domain, for one constraint.

What depends on nodes and the pod's template alone is worked out once (`EligibleDomains`); what
depends on the pods is counted by the state. Called by `PodTopologySpread` alone.
"""

import numpy as np

from mooring.framework.arrays import Amounts, Mask, Rows
from mooring.framework.cycle import Cycle
from mooring.plugins.spread.constraints import SpreadConstraint
from mooring.plugins.topology_domains import affinity_mask, tolerated_mask
from mooring.state.aspects import Aspect
from mooring.state.columns import Columns
from mooring.state.counts import Counts, PodLabelGroup

#: The minimum of no domains at all, which no count can exceed.
_NO_MINIMUM = 2**31 - 1


class EligibleDomains:
    """The domains of one constraint, and the nodes whose pods count.

    Attributes:
        eligible: (n,) the nodes whose pods count.
        ids: (n,) the domain of each node.
        present: (n_values,) the domains that have an eligible node.
    """

    __slots__ = ("_chosen_ids", "_chosen_rows", "_size", "eligible", "ids", "present")

    def __init__(self, columns: Columns, constraint: SpreadConstraint, eligible: Mask) -> None:
        column = columns.labels(constraint.topology_key)
        self.eligible = eligible
        self.ids = column.ids
        self._size = len(column.values)
        self._chosen_rows: Rows | None = None if eligible.all() else np.flatnonzero(eligible)
        self._chosen_ids = self.ids if self._chosen_rows is None else self.ids[eligible]
        self.present: Mask = np.bincount(self._chosen_ids, minlength=self._size) > 0

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        rows = 0 if self._chosen_rows is None else self._chosen_rows.nbytes
        return self.eligible.nbytes + self._chosen_ids.nbytes + self.present.nbytes + rows

    def sums(self, counts: Counts | None) -> Amounts:
        """(n_values,) the matching pods of each domain on the eligible nodes."""
        if counts is None:
            return np.zeros(self._size, np.int64)
        chosen = counts if self._chosen_rows is None else counts[self._chosen_rows]
        return np.bincount(self._chosen_ids, chosen, self._size).astype(np.int64)


class RequiredCounts:
    """What is counted in one decision for one required constraint, with what-if changes."""

    __slots__ = ("_domains", "_minimum", "constraint", "own", "sums")

    def __init__(
        self, cycle: Cycle, constraint: SpreadConstraint, domains: EligibleDomains
    ) -> None:
        self.constraint = constraint
        self._domains = domains
        self._minimum: int | None = None
        #: (n_values,) the matching pods of each domain.
        self.sums = domains.sums(matching_counts(cycle, constraint))
        #: 1 if the pod itself is one of those to be spread, else 0.
        self.own = int(constraint.matches(cycle.shape.labels))

    @property
    def ids(self) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        """(n,) the domain of each node."""
        return self._domains.ids

    @property
    def minimum(self) -> int:
        """The count of the emptiest domain; 0 if there are fewer domains than asked for."""
        if self._minimum is None:
            present = self._domains.present
            if np.count_nonzero(present) < self.constraint.min_domains:
                self._minimum = 0
            else:
                self._minimum = int(self.sums[present].min(initial=_NO_MINIMUM))
        return self._minimum

    def change(self, row: int, count: int) -> None:
        """A matching pod came to a node as a what-if, or left it."""
        if self._domains.eligible[row]:
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
