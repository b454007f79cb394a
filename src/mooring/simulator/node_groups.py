"""Node groups and prices: which nodes are of one kind, and what a node costs.

A node group is the set of nodes that have the same value of one label. What-if and capacity report
by group; prices are given for groups, or stand in a label or annotation of the nodes.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from mooring.errors import InputError
from mooring.model.node import Node
from mooring.model.quantity_texts import show
from mooring.model.resources import CPU, MEMORY

#: Labels that tell node groups apart, those of providers first.
GROUP_LABELS: Final = (
    "karpenter.sh/nodepool",
    "eks.amazonaws.com/nodegroup",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "node.kubernetes.io/instance-type",
)
_MOST: Final = 1e9


class NodeGrouping:
    """Tells which group a node is of.

    Args:
        nodes: the cluster's nodes.
        label: the label whose value names the group; empty picks the first of `GROUP_LABELS` that a
            node has. Nodes without it are grouped by cores and memory.

    Raises:
        InputError: no node has the label.
    """

    def __init__(self, nodes: Iterable[Node], label: str = "") -> None:
        known = list(nodes)
        if label and not any(label in one.labels for one in known):
            raise InputError(f"no node has the label {label}; choose another --group-label")
        found = (one for one in GROUP_LABELS if any(one in node.labels for node in known))
        self.label = label or next(found, "")

    def of(self, node: Node) -> str:
        """The name of a node's group."""
        named = node.labels.get(self.label) if self.label else None
        if named:
            return named
        size = node.allocatable
        return f"{show(CPU, size[CPU])} cpu, {show(MEMORY, size[MEMORY])}"

    def counted(self, nodes: Iterable[Node]) -> Counter[str]:
        """How many nodes each group has."""
        return Counter(map(self.of, nodes))


class NodeCost(NamedTuple):
    """What nodes cost an hour.

    Attributes:
        price: the sum.
        unpriced: how many nodes have no price.
    """

    price: float
    unpriced: int = 0


class Prices:
    """What nodes cost an hour.

    Args:
        groups: tells the groups.
        by_group: the price of a node of each group.
        label: the label or annotation of nodes that has the price; empty if none.
    """

    def __init__(
        self, groups: NodeGrouping, by_group: Mapping[str, float] | None = None, label: str = ""
    ) -> None:
        self.groups = groups
        self._by_group = dict(by_group or {})
        self._label = label

    def __bool__(self) -> bool:
        return bool(self._by_group or self._label)

    def of(self, node: Node) -> float | None:
        """What a node costs an hour; None if that is not known.

        Raises:
            InputError: the label of the node is no price.
        """
        if self._label:
            text = node.labels.get(self._label) or node.annotations.get(self._label)
            if text is not None:
                return read_price(text, f"{self._label} of node {node.name}")
        return self._by_group.get(self.groups.of(node))

    def total(self, nodes: Iterable[Node]) -> NodeCost:
        """What nodes cost together."""
        prices = [self.of(node) for node in nodes]
        known = [one for one in prices if one is not None]
        return NodeCost(math.fsum(known), len(prices) - len(known))


def read_prices(texts: Iterable[str], groups: Iterable[str]) -> dict[str, float]:
    """Prices as they are typed, ``GROUP=PRICE``.

    Raises:
        InputError: it has another form, or there is no such group.
    """
    known = set(groups)
    found: dict[str, float] = {}
    for text in texts:
        group, equals, price = text.rpartition("=")
        if not equals or not group:
            raise InputError(f"--price {text}: specify GROUP=PRICE, such as m5.large=0.096")
        if group not in known:
            listed = ", ".join(sorted(known)[:5])
            raise InputError(f"--price {text}: there is no node group {group}, only {listed}")
        found[group] = read_price(price, f"--price {text}")
    return found


def read_price(text: str, where: str) -> float:
    """A price an hour.

    Raises:
        InputError: it is none.
    """
    try:
        price = float(text)
    except ValueError:
        price = math.nan
    if not 0 <= price <= _MOST:
        raise InputError(f"{where}: {text!r} is not a price; use a number such as 0.096")
    return price
