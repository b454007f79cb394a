"""Suggestions: remedies that were tried together and make a pod fit.

Made by the search, printed by the command line.
"""

import msgspec

from mooring.framework.remedies.remedy import Remedy


class Combination(msgspec.Struct, frozen=True):
    """Remedies that together are to make a pod fit on a node.

    Attributes:
        node: the node's name.
        remedies: what to do, in order; each was made for the pod and the node as those before it
            leave them.
    """

    node: str
    remedies: tuple[Remedy, ...] = ()

    @property
    def cost(self) -> float:
        """What all remedies cost together."""
        return sum(one.cost for one in self.remedies)

    @property
    def kinds(self) -> frozenset[str]:
        """What is changed."""
        return frozenset().union(*(one.kinds or {one.text} for one in self.remedies))

    def then(self, remedy: Remedy) -> "Combination":
        """The same with one more remedy."""
        return Combination(self.node, (*self.remedies, remedy))

    @property
    def caution(self) -> str:
        """What to think of before doing it; empty if nothing."""
        return "; ".join(one.caution for one in self.remedies if one.caution)

    @property
    def text(self) -> str:
        """What to do, as one clause."""
        texts = [one.text for one in self.remedies]
        if not texts[1:]:
            return "".join(texts)
        # A remedy may have an "and" of its own.
        last = ", and " if any(" and " in one for one in texts) else " and "
        return f"{', '.join(texts[:-1])}{last}{texts[-1]}"


class Suggestion(msgspec.Struct, frozen=True):
    """A combination that was tried: with it, the pod fits.

    Attributes:
        combination: what to do.
        nodes: the names of the nodes on which the pod then fits, sorted.
    """

    combination: Combination
    nodes: tuple[str, ...]
