"""All nodes of one question, as a sequence and as arrays.

Made for each call of a plural function. With columns behind it (mooring's own scheduler, a
simulation, an explanation) whole columns are views; from a plain list of nodes (a webhook that
carries whole nodes) arrays are built when first read.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar, overload

import numpy as np
import numpy.typing as npt

from mooring.errors import NotAvailable
from mooring.framework.arrays import Amounts, Mask, Rows
from mooring.model.devices.device_info import Devices
from mooring.model.node import Node
from mooring.state.columns import Columns

if TYPE_CHECKING:
    from mooring.framework.cycle import Cycle

T = TypeVar("T", bound=np.generic)


class Column:
    """An amount for each node, by resource: ``nodes.free["nvidia.com/gpu"]``."""

    __slots__ = ("_made", "_read")

    def __init__(self, read: Callable[[str], Amounts]) -> None:
        self._read = read
        self._made: dict[str, Amounts] = {}

    def __getitem__(self, resource: str) -> Amounts:
        found = self._made.get(resource)
        if found is None:
            found = self._read(resource)
            if found.flags.writeable:
                found = found.view()
                found.flags.writeable = False
            self._made[resource] = found
        return found


class DeviceColumns:
    """Numbers of devices for each node, by driver: ``nodes.devices.free["gpu.example.com"]``.

    Attributes:
        free: how many a claim can have, or some of which.
        allocated: how many a claim has, or some of which.
    """

    __slots__ = ("allocated", "free")

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.free = Column(lambda driver: _count(one.devices.of(driver).free for one in nodes))
        self.allocated = Column(
            lambda driver: _count(one.devices.of(driver).allocated for one in nodes)
        )


def _count(devices: Iterable[Devices]) -> Amounts:
    return np.array([len(one) for one in devices], np.int64)


class Nodes(Sequence[Node]):
    """The nodes to evaluate: iterate over them, or read whole columns.

    Attributes:
        allocatable: what pods can use, an array for each resource.
        used: the sum of the pods' requests, an array for each resource.
        free: allocatable minus used, an array for each resource.
        devices: numbers of devices, an array for each driver.
    """

    __slots__ = (
        "_allocatable", "_columns", "_cycle", "_devices", "_free", "_mask", "_nodes", "_rows",
        "_used",
    )  # fmt: skip

    def __init__(
        self,
        nodes: Sequence[Node],
        columns: Columns | None = None,
        rows: Rows | None = None,
        cycle: "Cycle | None" = None,
        mask: Mask | None = None,
    ) -> None:
        self._rows = rows
        self._mask = mask
        self._nodes: Sequence[Node] | None = nodes if rows is None and mask is None else None
        self._columns = columns
        self._cycle = cycle
        self._allocatable: Column | None = None
        self._used: Column | None = None
        self._free: Column | None = None
        self._devices: DeviceColumns | None = None

    def subset(self, rows: Rows | None) -> "Nodes":
        """The nodes in some rows of the columns; all if no rows are given."""
        columns = self.columns
        return Nodes(columns.nodes, columns, rows, self._cycle)

    def masked(self, mask: Mask) -> "Nodes":
        """The nodes in a mask over the columns; their rows are looked for when first read."""
        columns = self.columns
        return Nodes(columns.nodes, columns, None, self._cycle, mask)

    @property
    def rows(self) -> Rows | None:
        """The rows of these nodes in the columns; None for all of them."""
        rows = self._rows
        if rows is None and self._mask is not None:
            rows = self._rows = self._mask.nonzero()[0]
        return rows

    @property
    def cycle(self) -> "Cycle":
        """The decision in progress, with what the plugin kept in `pre_filter`.

        Raises:
            NotAvailable: these nodes belong to no decision, as in an extender.
        """
        if self._cycle is None:
            raise NotAvailable("nodes.cycle exists only in mooring's own scheduler")
        return self._cycle

    @property
    def columns(self) -> Columns:
        """The cluster's columns, for plugins that need more than amounts and labels.

        Raises:
            NotAvailable: the nodes came with the question and are in no state.
        """
        if self._columns is None:
            raise NotAvailable("nodes.columns exists only where mooring keeps the cluster's state")
        return self._columns

    def take(self, column: npt.NDArray[T]) -> npt.NDArray[T]:
        """The part of a whole column that belongs to these nodes, in their order."""
        rows = self.rows
        return column if rows is None else column.take(rows)

    @property
    def allocatable(self) -> Column:
        """What pods can use, an array for each resource."""
        if self._allocatable is None:
            self._allocatable = Column(
                self._reader(lambda c, name: c.allocatable(name), lambda n, r: n.allocatable[r])
            )
        return self._allocatable

    @property
    def used(self) -> Column:
        """The sum of the pods' requests, an array for each resource."""
        if self._used is None:
            self._used = Column(
                self._reader(lambda c, name: c.used(name), lambda n, r: n.usage.used.get(r, 0))
            )
        return self._used

    @property
    def free(self) -> Column:
        """Allocatable minus used, an array for each resource."""
        if self._free is None:
            self._free = Column(lambda name: self.allocatable[name] - self.used[name])
        return self._free

    @property
    def devices(self) -> DeviceColumns:
        """Numbers of devices, an array for each driver."""
        if self._devices is None:
            self._devices = DeviceColumns(self._listed)
        return self._devices

    def _reader(
        self, column: Callable[[Columns, str], Amounts], one: Callable[[Node, str], int]
    ) -> Callable[[str], Amounts]:
        if self._columns is not None:
            columns = self._columns
            return lambda name: self.take(column(columns, name))
        nodes = self._listed
        return lambda name: np.fromiter((one(node, name) for node in nodes), np.int64, len(nodes))

    @property
    def _listed(self) -> Sequence[Node]:
        if self._nodes is None:
            whole = self.columns.nodes
            self._nodes = (
                [whole[row] for row in self.rows.tolist()] if self.rows is not None else whole
            )
        return self._nodes

    @property
    def names(self) -> list[str]:
        """The names of the nodes, in order."""
        return [node.name for node in self._listed]

    def labels(self, key: str, default: str = "") -> list[str]:
        """The value of a label for each node, with the default for nodes without the label."""
        return [node.labels.get(key, default) for node in self._listed]

    @overload
    def __getitem__(self, index: int) -> Node: ...
    @overload
    def __getitem__(self, index: slice) -> "Nodes": ...
    def __getitem__(self, index: int | slice) -> "Node | Nodes":
        if isinstance(index, slice):
            if self._columns is None:
                return Nodes(self._listed[index])
            every = np.arange(len(self)) if self.rows is None else self.rows
            return self.subset(every[index])
        return self._listed[index]

    def __len__(self) -> int:
        rows = self.rows
        return len(self._listed) if rows is None else len(rows)

    def __iter__(self) -> Iterator[Node]:
        return iter(self._listed)

    def __repr__(self) -> str:
        return f"<Nodes {len(self)}>"
