"""Scores of all nodes as a small table, and for each node its place in it.

Nodes with as many matching pods of their own, in the same domain, have the same score. Which of
them a node belongs to is kept and follows the pods that come and go, so a decision works out a few
numbers and reads them once for each node. Used by `PodTopologySpread` for quick scores;
`score_parts` does the same with nothing kept.
"""

from collections.abc import Sequence
from itertools import compress
from typing import Final

import numpy as np

from mooring.framework.arrays import Amounts, Floats
from mooring.framework.nodes import Nodes
from mooring.plugins.domain_sums import PodsOfASort
from mooring.plugins.score_arithmetic import MAX_SCORE
from mooring.state.cluster import Cluster
from mooring.state.count_changes import CountChanges
from mooring.state.node_labels import Ids

#: A table is not larger.
_MOST: Final = 2048
#: Up to so many numbers are worked out one by one.
_FEW: Final = 64


class NodePlaces:
    """For each node the number of its matching pods together with its domain, as one number.

    Args:
        ids: (n,) the domain of each node.
        size: how many domains there are.
        pods: the matching pods; None for none.

    Attributes:
        places: (n,) the number of pods times the number of domains, plus the domain; valid until
            the next change.
        nodes: how many nodes are at each place.
    """

    __slots__ = ("_changes", "_ids", "_pods", "_position", "_size", "nodes", "places")

    def __init__(self, ids: Ids, size: int, pods: PodsOfASort | None) -> None:
        self._ids = ids
        self._size = size
        self._pods = pods
        self._changes: CountChanges | None = None
        self._position = 0
        self.places: Ids = ids
        self.nodes: list[int] = np.bincount(ids, minlength=size).tolist()

    @property
    def nbytes(self) -> int:
        """About how much memory it takes once it was read."""
        return 16 * len(self._ids) + 16 * len(self.nodes)

    def catch_up(self, cluster: Cluster) -> bool:
        """Take in what came since the last time; false if there are too many different places."""
        if self._pods is not None:
            counted = self._pods.counted(cluster)
            changes = counted.changes
            more = changes.since(self._position) if changes is self._changes else None
            if more is None:
                counts = counted.array(cluster.columns.table)
                self.places = counts.astype(np.intp) * self._size + self._ids
                self._count_nodes()
                self._changes = changes
            else:
                self._move(more)
            self._position = changes.end
        return len(self.nodes) <= _MOST

    def _move(self, changes: list[tuple[int, int]]) -> None:
        places, nodes = self.places, self.nodes
        for row, change in changes:
            before = places.item(row)
            place = places[row] = before + change * self._size
            if place < len(nodes):
                nodes[before] -= 1
                nodes[place] += 1
            else:
                self._count_nodes()
                nodes = self.nodes

    def _count_nodes(self) -> None:
        # A multiple of the number of domains, and room for some more pods.
        pods = int(self.places.max(initial=0)) // self._size + 2
        self.nodes = np.bincount(self.places, minlength=pods * self._size).tolist()

    @property
    def are_few(self) -> bool:
        """Whether there are so few different places that numbers are worked out one by one."""
        return len(self.nodes) <= _FEW

    def scores(
        self,
        by_pods: Sequence[float],
        by_domain: Floats | Sequence[float],
        nodes: Nodes,
        weight: int,
    ) -> Amounts | None:
        """(n_nodes,) normalized scores times a weight: the lower a raw score, the higher.

        What is added to raw scores is 0, or 0.5 and more.

        Args:
            by_pods: what each number of pods on a node adds.
            by_domain: what each domain adds.
            nodes: the nodes.
            weight: the weight.

        Returns:
            The scores; None if all nodes get the same.
        """
        places, shown = self.places, self.nodes
        rows = nodes.rows
        if rows is not None:
            places = places.take(rows)
            shown = np.bincount(places, minlength=len(shown)).tolist()
        table = (_table_of_few if self.are_few else _table_of_many)(
            by_pods, by_domain, shown, weight
        )
        return None if table is None else table.take(places)


def _table_of_few(
    by_pods: Sequence[float], by_domain: Floats | Sequence[float], shown: Sequence[int], weight: int
) -> Amounts | None:
    """The normalized score at each place; None if all that are shown have the same."""
    # Halves rounded up. A half added to the largest number below a half would give 1.
    raw = [int(pods + domain + 0.5) for pods in by_pods for domain in by_domain]
    most, least = max(compress(raw, shown)), min(compress(raw, shown))
    if most == least:
        return None
    both = most + least
    return np.array([MAX_SCORE * (both - score) // most * weight for score in raw], np.int64)


def _table_of_many(
    by_pods: Sequence[float], by_domain: Floats | Sequence[float], shown: Sequence[int], weight: int
) -> Amounts | None:
    """The same with arrays."""
    raw = (np.add.outer(by_pods, by_domain).ravel() + 0.5).astype(np.int64)
    found = raw[np.array(shown) > 0]
    most, least = int(found.max()), int(found.min())
    if most == least:
        return None
    return MAX_SCORE * (most + least - raw) // most * weight
