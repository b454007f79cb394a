"""Amounts of resources, a number for each node and resource.

`Columns` has one of these for what nodes offer and one for what their pods ask for. A resource that
nobody offers and nobody uses costs nothing, whoever asks for it.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from mooring.model.resources import CPU, MEMORY, PODS, Resources
from mooring.state.copy_on_write import SharedDict
from mooring.state.table import GrowingColumn, SparseColumn, Table

Ints = npt.NDArray[np.int64]

#: Resources that nearly all nodes and pods have; each has an array of its own.
_COMMON = (CPU, MEMORY, "ephemeral-storage", PODS)
#: Amounts are whole numbers of 64 bits.
LIMIT = 2**63


class ResourceColumns:
    """The amounts of all resources in all rows."""

    __slots__ = ("_common", "_rare", "_table")

    def __init__(
        self,
        table: Table,
        common: dict[str, GrowingColumn] | None = None,
        rare: SharedDict[str, SparseColumn] | None = None,
    ) -> None:
        self._table = table
        self._common = common or {name: table.new_column() for name in _COMMON}
        self._rare: SharedDict[str, SparseColumn] = SharedDict() if rare is None else rare

    def fork(self, table: Table) -> "ResourceColumns":
        """The same amounts in a forked table."""
        common = {name: table.fork_column(one) for name, one in self._common.items()}
        return ResourceColumns(table, common, self._rare.fork())

    def column(self, resource: str) -> Ints:
        """(n,) the amounts of a resource, read-only."""
        common = self._common.get(resource)
        if common is not None:
            return common.view
        rare = self._rare.entries.get(resource)
        return rare.array(self._table) if rare is not None else self._table.zeros()

    def common(self, resource: str) -> GrowingColumn | None:
        """The array of a resource, for reading single rows; None if it has none of its own."""
        return self._common.get(resource)

    def at(self, resource: str, row: int) -> int:
        """The amount in one row."""
        common = self._common.get(resource)
        if common is not None:
            return common.cells[row]
        rare = self._rare.entries.get(resource)
        return rare.rows.get(row, 0) if rare is not None else 0

    def add_all(self, row: int, amounts: Iterable[tuple[str, int]], sign: int) -> None:
        """So much more of some resources in one row, or less."""
        common = self._common
        for name, amount in amounts:
            column = common.get(name)
            if column is not None:
                if column.shared:
                    column.writable()
                cells = column.cells
                total = cells[row] + sign * amount
                cells[row] = total if -LIMIT <= total < LIMIT else wrapped(total)
            else:
                self._set_rare(name, row, wrapped(self.at(name, row) + sign * amount))

    def replace(self, row: int, old: Resources, new: Resources) -> None:
        """A row has other amounts than before."""
        for name, column in self._common.items():
            column.writable()[row] = new[name]
        for name in (old | new).keys() - self._common.keys():
            self._set_rare(name, row, new[name])

    def move(self, names: Iterable[str], source: int, target: int) -> None:
        """The last row, which has these resources, takes the number of one that is empty."""
        for name in names:
            rare = self._rare.entries.get(name)
            if rare is not None:
                self._owned(name, rare).move(source, target)

    def __len__(self) -> int:
        """How many resources there are."""
        return len(self._common) + len(self._rare)

    def _set_rare(self, resource: str, row: int, amount: int) -> None:
        column = self._rare.entries.get(resource)
        if column is None:
            column = SparseColumn(self._table.owner, np.int64)
            self._rare.writable()[resource] = column
        else:
            column = self._owned(resource, column)
        column.set(row, amount)
        if not column:
            del self._rare.writable()[resource]

    def _owned(self, resource: str, column: SparseColumn) -> SparseColumn:
        owner = self._table.owner
        if column.owner is not owner:
            column = self._rare.writable()[resource] = column.copy(owner)
        return column


def wrapped(total: int) -> int:
    """A sum in 64 bits; it wraps around, as in kube-scheduler."""
    if -LIMIT <= total < LIMIT:
        return total
    return (total + LIMIT) % (2 * LIMIT) - LIMIT
