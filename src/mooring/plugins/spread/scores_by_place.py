"""Scores of all nodes as a small table, and for each node its place in it.

Nodes with as many matching pods of their own, in the same domain, have the same score. Which of
them a node belongs to is kept and follows the row log, so a decision works out a few numbers and
reads them once for each node. Made by `PodTopologySpread` when all nodes are possible;
`score_parts` does the same for some nodes.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from mooring.framework.arrays import Amounts, Floats
from mooring.plugins.score_arithmetic import MAX_SCORE
from mooring.state.columns import Columns
from mooring.state.counts import Counts
from mooring.state.node_labels import Ids

#: If more rows changed, the places of all of them are worked out anew.
_MANY: Final = 48
#: A table is not larger.
_MOST: Final = 2048


class ScoresByPlace(NamedTuple):
    """The raw scores of all nodes.

    Attributes:
        values: the different ones, some of which no node has.
        places: (n,) for each node the place of its score.
        nodes: how many nodes are at each place.
    """

    values: Amounts
    places: Ids
    nodes: Amounts

    @property
    def raw(self) -> Amounts:
        """(n,) the raw scores."""
        return self.values.take(self.places)

    def normalized(self) -> Amounts | None:
        """(n,) the emptier a node's domains, the higher; None if all nodes get the same."""
        shown = self.values[self.nodes > 0]
        most, least = int(shown.max()), int(shown.min())
        if most == least:
            return None
        return (MAX_SCORE * (most + least - self.values) // most).take(self.places)


class NodePlaces:
    """For each node the number of its matching pods together with its domain, as one number.

    Args:
        ids: (n,) the domain of each node.
        size: how many domains there are.

    Attributes:
        places: (n,) the number of pods times the number of domains, plus the domain; valid until
            the next change.
        nodes: how many nodes are at each place.
    """

    __slots__ = ("_ids", "_position", "_size", "nodes", "places")

    def __init__(self, ids: Ids, size: int) -> None:
        self._ids = ids
        self._size = size
        self._position = -1
        self.places: Ids = ids
        self.nodes: Amounts = np.zeros(0, np.int64)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes once it was read."""
        return 16 * len(self._ids)

    def catch_up(self, columns: Columns, counts: Counts) -> bool:
        """Look again at the rows that changed; false if there are too many different places."""
        log = columns.row_log
        if self._position != log.end:
            rows = log.since(self._position) if self._position >= 0 else None
            if rows is None or len(rows) > _MANY:
                self.places = counts.astype(np.intp) * self._size + self._ids
                self._count_nodes()
            else:
                self._look_at(rows, counts.item)
            self._position = log.end
        return len(self.nodes) <= _MOST

    def _look_at(self, rows: list[int], at: Callable[[int], int]) -> None:
        places, nodes = self.places, self.nodes
        for row in rows:
            place = at(row) * self._size + self._ids.item(row)
            before = places.item(row)
            if place != before:
                places[row] = place
                if place < len(nodes):
                    nodes[before] -= 1
                    nodes[place] += 1
                else:
                    self._count_nodes()
                    nodes = self.nodes

    def _count_nodes(self) -> None:
        # A multiple of the number of domains, and room for some more pods.
        pods = int(self.places.max(initial=0)) // self._size + 2
        self.nodes = np.bincount(self.places, minlength=pods * self._size)


def scores_by_place(values: Floats, places: Ids, nodes: Amounts) -> ScoresByPlace:
    """A table of scores, halves rounded up; none of them is negative."""
    low = values.astype(np.int64)
    low += values - low >= 0.5
    return ScoresByPlace(low, places, nodes)
