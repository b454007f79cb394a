"""The images on all nodes, by name.

`Columns` keeps it. An image costs as much as there are nodes that have it, and goes with the last
of them.
"""

from collections.abc import Iterator
from typing import Self

import numpy as np
import numpy.typing as npt

from mooring.model.node import Node
from mooring.state.copy_on_write import Owner, SharedDict
from mooring.state.table import SparseColumn, Table

Mask = npt.NDArray[np.bool_]


class _ImageCount(SparseColumn):
    """How often each node names an image."""

    __slots__ = ("size",)

    def __init__(self, owner: Owner, size: int) -> None:
        super().__init__(owner)
        self.size = size

    def _new(self, owner: Owner) -> Self:
        return type(self)(owner, self.size)


class ImageState:
    """An image, where it is, and its size on the first node that had it."""

    __slots__ = ("_count", "_table")

    def __init__(self, count: _ImageCount, table: Table) -> None:
        self._count = count
        self._table = table

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return self._count.size

    @property
    def spread(self) -> int:
        """On how many nodes it is."""
        return len(self._count.rows)

    @property
    def mask(self) -> Mask:
        """(n,) on which nodes it is."""
        found: Mask = self._count.array(self._table) > 0
        return found


class NodeImages:
    """The images of all nodes."""

    __slots__ = ("_by_name", "_table")

    def __init__(self, table: Table, by_name: SharedDict[str, _ImageCount] | None = None) -> None:
        self._table = table
        self._by_name = SharedDict() if by_name is None else by_name

    def fork(self, table: Table) -> "NodeImages":
        """The same images in a forked table."""
        return NodeImages(table, self._by_name.fork())

    def get(self, name: str) -> ImageState | None:
        """An image by one of its names, if a node has it."""
        found = self._by_name.entries.get(name)
        return ImageState(found, self._table) if found is not None else None

    def add(self, row: int, node: Node) -> None:
        """A node has its images; it may name one twice."""
        # parity v1.36.4: backend/cache/cache.go addNodeImageStates: the first size counts
        for name, size in _named(node):
            found = self._by_name.entries.get(name)
            if found is None:
                found = self._by_name.writable()[name] = _ImageCount(self._table.owner, size)
            self._owned(name, found).add(row, 1)

    def remove(self, row: int, node: Node) -> None:
        """A node does not have its images any more."""
        for name, _ in _named(node):
            count = self._owned(name, self._by_name.entries[name])
            count.add(row, -1)
            if not count:
                del self._by_name.writable()[name]

    def move(self, node: Node, source: int, target: int) -> None:
        """A node gets another row."""
        for name, _ in _named(node):
            self._owned(name, self._by_name.entries[name]).move(source, target)

    def __len__(self) -> int:
        return len(self._by_name)

    def _owned(self, name: str, count: _ImageCount) -> _ImageCount:
        owner = self._table.owner
        if count.owner is not owner:
            count = self._by_name.writable()[name] = count.copy(owner)
        return count


def _named(node: Node) -> Iterator[tuple[str, int]]:
    """The names of a node's images, each with its size."""
    for image in node.status.images or ():
        for name in image.names or ():
            yield name, image.size_bytes
