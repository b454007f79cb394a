"""What is counted for the required terms of one decision, by topology domain.

Made by `InterPodAffinity` before it filters; follows pods that are added and removed in thought.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from mooring.framework.arrays import Amounts, Choice
from mooring.framework.nodes import Nodes
from mooring.plugins.affinity.resolved_terms import ResolvedTerm
from mooring.state.columns import Columns

#: What is said of a domain; the highest that is true of a node counts.
# parity v1.36.4: interpodaffinity/filtering.go Filter: affinity is looked at first
EXISTING: Final = 1
TOO_NEAR: Final = 2
TOO_FAR: Final = 3


class DomainCounts:
    """Counts by topology key and domain, with what-if changes."""

    __slots__ = ("_columns", "_own", "by_key")

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        # Those that nobody else has; all others are copied before they are changed.
        self._own: set[str] | None = None
        #: For each topology key (n_values,) the counts; the first, for "no such label", says
        #: nothing.
        self.by_key: dict[str, Amounts] = {}

    def add(self, key: str, sums: Amounts) -> None:
        """Count so many in each domain of a topology key."""
        known = self.by_key.get(key)
        if known is None:
            self.by_key[key] = sums
        else:
            self._set(key, known + sums)

    def change(self, key: str, row: int, count: int) -> None:
        """Count so many more, or fewer, in the domain of one node."""
        column = self._columns.labels(key)
        place = column.ids[row]
        if place:
            known = self.by_key.get(key)
            if known is None:
                known = self._set(key, np.zeros(len(column.values), np.int64))
            elif self._own is None or key not in self._own:
                known = self._set(key, known.copy())
            known[place] += count

    def _set(self, key: str, counts: Amounts) -> Amounts:
        if self._own is None:
            self._own = set()
        self._own.add(key)
        self.by_key[key] = counts
        return counts

    def __bool__(self) -> bool:
        return any(counts[1:].any() for counts in self.by_key.values())


class RequiredTermCounts:
    """The counts of one decision.

    Args:
        columns: the nodes.
        resolved: the pod's required affinity terms.
        namespace_labels: the labels of the pod's namespace.

    Attributes:
        existing: pods on the cluster whose anti-affinity is about the incoming pod.
        affinity: pods that match all affinity terms of the incoming pod.
        anti_affinity: pods that match an anti-affinity term of the incoming pod.
    """

    __slots__ = (
        "_columns", "affinity", "anti_affinity", "existing", "namespace_labels", "resolved",
    )  # fmt: skip

    def __init__(
        self,
        columns: Columns,
        resolved: tuple[ResolvedTerm, ...],
        namespace_labels: Mapping[str, str],
    ) -> None:
        self._columns = columns
        self.existing = DomainCounts(columns)
        self.affinity = DomainCounts(columns)
        self.anti_affinity = DomainCounts(columns)
        self.resolved = resolved
        self.namespace_labels = namespace_labels

    def choose(self, nodes: Nodes, *, anywhere: bool) -> Choice | None:
        """(n_nodes,) what is said of each node; None if nothing is said of any.

        Args:
            nodes: the nodes.
            anywhere: whether the pods that the affinity terms ask for need not be there.
        """
        choice: Choice | None = None
        for key, said in self._by_domain(anywhere=anywhere).items():
            column = self._columns.labels(key)
            # Most often all nodes have the label, and nothing is said of any domain.
            if (said[1:] if column.is_complete else said).any():
                more = said.take(nodes.take(column.ids))
                choice = more if choice is None else np.maximum(choice, more)
        return choice

    def _by_domain(self, *, anywhere: bool) -> dict[str, Choice]:
        """By topology key (n_values,) what is said of each domain."""
        found: dict[str, Choice] = {}
        for counts, code in ((self.existing, EXISTING), (self.anti_affinity, TOO_NEAR)):
            for key, sums in counts.by_key.items():
                said = (sums > 0).view(np.uint8)
                if code != EXISTING:
                    said *= np.uint8(code)
                said[0] = 0  # nodes without the label are in no domain
                found[key] = np.maximum(found[key], said) if key in found else said
        for one in self.resolved:
            key = one.term.topology_key
            known = self.affinity.by_key.get(key)
            if anywhere or known is None:
                size = len(self._columns.labels(key).values)
                said = np.full(size, 0 if anywhere else TOO_FAR, np.uint8)
            else:
                said = (known <= 0).view(np.uint8) * np.uint8(TOO_FAR)
            said[0] = TOO_FAR  # the node has no such label
            found[key] = np.maximum(found[key], said) if key in found else said
        return found
