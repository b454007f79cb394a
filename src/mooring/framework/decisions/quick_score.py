"""A short cut for scores that are normalized: the end of it without what is between.

`score_walk` takes it when nobody looks at the scores of each plugin. Both ways give the same.
"""

from abc import ABC, abstractmethod

from mooring.framework.arrays import Amounts
from mooring.framework.cycle import Cycle
from mooring.framework.nodes import Nodes


class QuickScore(ABC):
    """A score that can tell the normalized scores without the raw ones of each node."""

    @abstractmethod
    def normalized_scores(self, cycle: Cycle, nodes: Nodes) -> Amounts | None:
        """(n_nodes,) what `score_nodes` and `normalize` give; None if all nodes get the same."""
