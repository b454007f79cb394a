"""All nodes of one question, as a sequence and as arrays.

Made for each call of a plural function; arrays are built when first read.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import overload

import numpy as np

from mooring.framework.arrays import Amounts
from mooring.model.node import Node


class Column:
    """An amount for each node, by resource: ``nodes.free["nvidia.com/gpu"]``."""

    __slots__ = ("_made", "_read")

    def __init__(self, read: Callable[[str], Amounts]) -> None:
        self._read = read
        self._made: dict[str, Amounts] = {}

    def __getitem__(self, resource: str) -> Amounts:
        found = self._made.get(resource)
        if found is None:
            found = self._made[resource] = self._read(resource)
            found.flags.writeable = False
        return found


class Nodes(Sequence[Node]):
    """The nodes a function decides on: iterate over them, or read whole columns.

    Attributes:
        allocatable: what pods can use, an array for each resource.
        used: the sum of the pods' requests, an array for each resource.
        free: allocatable less used, an array for each resource.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        size = len(nodes)
        self.allocatable = Column(
            lambda name: np.fromiter((n.allocatable.get(name, 0) for n in nodes), np.int64, size)
        )
        self.used = Column(
            lambda name: np.fromiter((n.usage.used.get(name, 0) for n in nodes), np.int64, size)
        )
        self.free = Column(lambda name: self.allocatable[name] - self.used[name])

    @property
    def names(self) -> list[str]:
        """The names of the nodes, in order."""
        return [node.name for node in self._nodes]

    def labels(self, key: str, default: str = "") -> list[str]:
        """One label's value for each node, with the default where a node does not have it."""
        return [node.labels.get(key, default) for node in self._nodes]

    @overload
    def __getitem__(self, index: int) -> Node: ...
    @overload
    def __getitem__(self, index: slice) -> "Nodes": ...
    def __getitem__(self, index: int | slice) -> "Node | Nodes":
        if isinstance(index, slice):
            return Nodes(self._nodes[index])
        return self._nodes[index]

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes)

    def __repr__(self) -> str:
        return f"<Nodes {len(self)}>"
