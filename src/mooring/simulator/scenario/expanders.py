"""Which node group grows if several would help: cluster-autoscaler's expanders."""

from collections.abc import Sequence
from typing import NamedTuple

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.simulator.random_source import RandomSource
from mooring.simulator.scenario.schema import Expander


class Option(NamedTuple):
    """What would come of it if a group grew.

    Attributes:
        group: its name.
        nodes: the new nodes.
        pods: the pods that they would take.
        priority: of the group.
    """

    group: str
    nodes: list[Node]
    pods: list[Pod]
    priority: int

    @property
    def waste(self) -> float:
        """The share of CPU and memory of the new nodes that the pods leave over, on average."""
        shares = []
        for name in ("cpu", "memory"):
            there = sum(one.allocatable[name] for one in self.nodes)
            used = sum(one.requests[name] for one in self.pods)
            shares.append((there - used) / there if there else 0.0)
        return sum(shares) / len(shares)


def choose_option(expander: Expander, options: Sequence[Option], numbers: RandomSource) -> Option:
    """The best option; among equals one is drawn."""
    if expander == "most-pods":
        best = max(len(one.pods) for one in options)
        found = [one for one in options if len(one.pods) == best]
    elif expander == "least-waste":
        least = min(one.waste for one in options)
        found = [one for one in options if one.waste == least]
    elif expander == "priority":
        highest = max(one.priority for one in options)
        found = [one for one in options if one.priority == highest]
    else:
        found = list(options)
    return found[numbers.randrange(len(found)) if len(found) > 1 else 0]
