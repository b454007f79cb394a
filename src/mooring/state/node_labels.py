"""The labels of all nodes, by key.

`Columns` keeps it. A column is made when somebody asks for a key, but only if a node has it: all
other keys, whoever invents them, have one empty column together. A column costs as much as there
are nodes that have the label, and goes with the last of them. A fork begins without columns.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from mooring.model.node import Node
from mooring.state.copy_on_write import SharedDict
from mooring.state.table import SparseColumn, Table

#: Places in a list, of the kind with which arrays are indexed fastest.
Ids = npt.NDArray[np.intp]

#: So many values that no node has any more are kept before a column is made anew.
STALE_VALUES = 1024


class LabelColumn:
    """One label of all nodes.

    Attributes:
        values: the different values; the first stands for "no such label".
    """

    __slots__ = ("_ids", "_index", "_table", "values")

    def __init__(self, table: Table) -> None:
        self._table = table
        self._ids = SparseColumn(table.owner, np.intp)
        self._index: dict[str, int] = {}
        self.values: list[str] = [""]

    @property
    def ids(self) -> Ids:
        """(n,) for each node the place of its value in `values`; 0 where it has no such label."""
        return self._ids.array(self._table)

    @property
    def is_complete(self) -> bool:
        """Whether every node has the label."""
        return len(self._ids.rows) == self._table.size

    def place(self, value: str) -> int:
        """The place of a value; -1 if no node has it."""
        return self._index.get(value, -1)

    def set(self, row: int, value: str | None) -> None:
        """Note a node's value."""
        place = 0
        if value is not None:
            place = self._index.get(value, 0)
            if not place:
                place = self._index[value] = len(self.values)
                self.values.append(value)
        self._ids.set(row, place)

    def move(self, source: int, target: int) -> None:
        """The last row takes the number of one without a value."""
        self._ids.move(source, target)


class NodeLabels:
    """The columns of labels.

    Args:
        table: the rows.
        nodes: the nodes by row; whoever changes it says so in `replace`.
        count: how many nodes have a label.
    """

    __slots__ = ("_absent", "_columns", "_count", "_nodes", "_table")

    def __init__(
        self, table: Table, nodes: Sequence[Node], count: SharedDict[str, int] | None = None
    ) -> None:
        self._table = table
        self._nodes = nodes
        self._absent = LabelColumn(table)
        # How many nodes have a key.
        self._count: SharedDict[str, int] = SharedDict() if count is None else count
        self._columns: dict[str, LabelColumn] = {}

    def fork(self, table: Table, nodes: Sequence[Node]) -> "NodeLabels":
        """The same labels in a forked table."""
        return NodeLabels(table, nodes, self._count.fork())

    def column(self, key: str) -> LabelColumn:
        """The column of a label; the same one for all labels that no node has."""
        column = self._columns.get(key)
        if column is not None and len(column.values) <= 2 * len(self._nodes) + STALE_VALUES:
            return column
        if key not in self._count.entries:
            return self._absent
        column = self._columns[key] = LabelColumn(self._table)
        for row, node in enumerate(self._nodes):
            value = node.labels.get(key)
            if value is not None:
                column.set(row, value)
        return column

    def replace(self, row: int, old: Mapping[str, str], new: Mapping[str, str]) -> None:
        """The node of a row has other labels than before."""
        count, columns = self._count.writable(), self._columns
        for key, value in new.items():
            count[key] = count.get(key, 0) + 1
            if key in columns:
                columns[key].set(row, value)
        for key in old:
            count[key] -= 1
            if key not in new and key in columns:
                columns[key].set(row, None)
            if not count[key]:
                del count[key]
                columns.pop(key, None)

    def move(self, labels: Mapping[str, str], source: int, target: int) -> None:
        """The node of the last row, which has these labels, takes the number of an empty one."""
        for key in labels:
            column = self._columns.get(key)
            if column is not None:
                column.move(source, target)

    def __contains__(self, key: str) -> bool:
        """Whether any node has the label."""
        return key in self._count.entries

    def __len__(self) -> int:
        """How many columns there are."""
        return len(self._columns)
