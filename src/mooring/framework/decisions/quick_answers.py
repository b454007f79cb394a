"""Short cuts for filters and scores by domain: their end without what is between.

A decision that is made from what is kept takes them (`other_plugins`), as nobody looks there at
verdicts with reasons or at the scores of each plugin. Both ways give the same.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import ClassVar

from mooring.framework.arrays import Amounts, Mask
from mooring.framework.cycle import Cycle
from mooring.framework.nodes import Nodes
from mooring.model.meta import KubeObject

#: Gives those of some nodes that are accepted.
QuickMask = Callable[[Cycle, Mask], Mask]
#: Gives normalized scores, each times a weight.
QuickScores = Callable[[Cycle, Nodes, int], Amounts | None]


class AlikeBy:
    """A plugin for which it depends on few kinds of objects which pods are alike.

    Attributes:
        alike_by: all kinds that its `sign`, `accepted_alike` and `quick_scores_alike` read. Others
            change all the time, and nobody has to sign pods again because of that.
    """

    alike_by: ClassVar[Collection[type[KubeObject]]] = ()


class QuickFilter(ABC):
    """A filter that can tell the nodes it accepts without verdicts.

    One that is an `IdleAfterSkip` may add itself to the cycle's skipped plugins meanwhile.
    """

    @abstractmethod
    def accepted(self, cycle: Cycle, possible: Mask) -> Mask:
        """The nodes that `pre_filter` and `filter_nodes` leave; `pre_filter` was not asked.

        Args:
            cycle: the decision.
            possible: (n,) the nodes in question; not to be changed.

        Returns:
            The same mask if all of them are accepted, or another one.
        """

    def accepted_alike(self, cycle: Cycle) -> QuickMask | None:  # noqa: ARG002 - for all alike
        """What to ask in the place of `accepted` about all pods like this one.

        Those are the pods with the same shape and owners, until an object changes or a pod with an
        affinity term that no other has comes to a node. None if all nodes accept them; then
        `pre_filter` would skip them.
        """
        return self.accepted


class QuickScore(ABC):
    """A score that can tell the normalized scores without the raw ones of each node."""

    @abstractmethod
    def quick_scores(self, cycle: Cycle, nodes: Nodes, weight: int) -> Amounts | None:
        """What `pre_score`, `score_nodes` and `normalize` give; `pre_score` was not asked.

        Returns:
            (n_nodes,) the scores, each times the weight; None if all nodes get the same.
        """

    def quick_scores_alike(self, cycle: Cycle) -> QuickScores | None:  # noqa: ARG002 - for all alike
        """What to ask in the place of `quick_scores` about all pods like this one.

        See `QuickFilter.accepted_alike`. None if all nodes get the same.
        """
        return self.quick_scores
