"""What nodes have of two resources and what is in use of them, for looking at rows that changed.

A kind of pods that was not decided about for a while looks at a hundred rows that changed since,
and the next kind at mostly the same ones. What depends on a row alone is worked out once when it
changes, in floats, and each kind gathers all of it at once. Shared by the answers about rows
(`resource_rows`) of all kinds of pods until what nodes have changes.
"""

from typing import Final, NamedTuple

import numpy as np

from mooring.framework.arrays import Floats, Rows
from mooring.model.resources import CPU, MEMORY, PODS
from mooring.plugins.resources.evenness import evenness, evenness_of_nodes
from mooring.plugins.resources.scoring_strategies import EXACT, exact_capacities
from mooring.state.aspects import Aspect
from mooring.state.changes.row_log import RowLog
from mooring.state.columns import Columns
from mooring.state.table import GrowingColumn

#: Up to so many rows are worked out one by one.
_FEW: Final = 5


class AmountColumns(NamedTuple):
    """What nodes have of a resource, what is in use, and what counts as in use for scoring."""

    there: GrowingColumn
    used: GrowingColumn
    counted: GrowingColumn


class AmountsAtRows(NamedTuple):
    """The amounts of some nodes, (n_rows,) each, not to be changed.

    Attributes:
        pods_left: how many more pods a node takes.
        left: what is left of the first resource; `other_left` of the second, and so on.
        used: what is in use.
        free: what is left for scoring.
        capacity: what there is, more than 0.
        uneven: 150 less how evenly both are in use.
    """

    pods_left: Floats
    left: Floats
    other_left: Floats
    used: Floats
    other_used: Floats
    free: Floats
    other_free: Floats
    uneven: Floats
    capacity: Floats
    other_capacity: Floats


class NodeAmounts:
    """The amounts of all nodes.

    Args:
        log: the rows that change.
        pods: the columns of pods.
        resources: those of the resources.
        capacities: (2, n) what the nodes have of them, more than 0, in exact floats.
    """

    __slots__ = (
        "_cells", "_gathered", "_is_exact", "_log", "_numbers", "_resources", "_rows",
        "_seen",
    )  # fmt: skip

    def __init__(
        self,
        log: RowLog,
        pods: AmountColumns,
        resources: tuple[AmountColumns, AmountColumns],
        capacities: Floats,
    ) -> None:
        self._log = log
        self._resources = (pods, *resources)
        #: In the order of `AmountsAtRows`.
        self._numbers: Floats = np.zeros((len(AmountsAtRows._fields), capacities.shape[1]))
        self._numbers[-2:] = capacities
        self._cells = [numbers.data for numbers in self._numbers]
        self._seen = -1
        self._is_exact = True
        self._rows: Rows | None = None
        self._gathered: AmountsAtRows | None = None

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return self._numbers.nbytes

    def at(self, rows: Rows) -> AmountsAtRows | None:
        """The amounts of some nodes as they are now; None if floats are not exact."""
        if self._seen != self._log.end:
            self._catch_up()
        elif rows is self._rows:  # the next plugin asks
            return self._gathered
        self._rows = rows
        self._gathered = AmountsAtRows(*self._numbers.take(rows, 1)) if self._is_exact else None
        return self._gathered

    def _catch_up(self) -> None:
        log, seen = self._log, self._seen
        self._seen = log.end
        if seen >= 0 and log.end - seen <= _FEW:
            for row in log.since(seen) or ():
                self._read_one(row)
        else:
            rows = log.array_since(seen) if seen >= 0 else None
            self._read(np.arange(self._numbers.shape[1]) if rows is None else rows)

    def _read_one(self, row: int) -> None:
        """Work out one row in Python's own numbers."""
        (
            pods_left, left, other_left, used, other_used, free, other_free, uneven,
            capacity, other_capacity,
        ) = self._cells  # fmt: skip
        pods, first, second = self._resources
        pods_left[row] = pods.there.cells[row] - pods.used.cells[row]
        there, other_there = capacity[row], other_capacity[row]
        taken, other_taken = first.used.cells[row], second.used.cells[row]
        counts, other_counts = first.counted.cells[row], second.counted.cells[row]
        left[row], other_left[row] = there - taken, other_there - other_taken
        used[row], other_used[row] = taken, other_taken
        free[row], other_free[row] = there - counts, other_there - other_counts
        uneven[row] = 150 - evenness(taken / there, other_taken / other_there)
        if not 0 <= taken | other_taken | counts | other_counts < EXACT:
            self._is_exact = False

    def _read(self, rows: Rows) -> None:
        """Work out some rows."""
        numbers, (pods, *resources) = self._numbers, self._resources
        numbers[0][rows] = pods.there.data[rows] - pods.used.data[rows]
        shares, all_bits = [], 0
        for place, (_, used, counted) in enumerate(resources, 1):
            there, taken, counts = numbers[7 + place][rows], used.data[rows], counted.data[rows]
            numbers[place][rows] = there - taken
            numbers[2 + place][rows] = taken
            numbers[4 + place][rows] = there - counts
            shares.append(taken / there)
            all_bits |= int(np.bitwise_or.reduce(taken | counts))
        numbers[7][rows] = 150 - evenness_of_nodes(*shares)
        if not 0 <= all_bits < EXACT:
            self._is_exact = False


class NodeAmountsReader:
    """Where a plugin has the amounts of nodes from, the same as other plugins.

    It holds the last ones: kinds of pods go on using them after `Columns` has forgotten them, and
    the next kind is to share them.
    """

    __slots__ = ("_last", "_last_of")

    def __init__(self) -> None:
        self._last: NodeAmounts | None = None
        self._last_of: object = None

    def read(self, columns: Columns, names: tuple[str, ...]) -> NodeAmounts | None:
        """The amounts of two resources; None for rare ones, or if a node has nothing of one."""
        what = (columns.row_log, columns.version(Aspect.ALLOCATABLE), names)

        def compute() -> NodeAmounts | None:
            return self._last if self._last_of == what else _made(columns, names)

        self._last = columns.remember(("amounts", names), compute, Aspect.ALLOCATABLE)
        self._last_of = what
        return self._last


def _made(columns: Columns, names: tuple[str, ...]) -> NodeAmounts | None:
    found = [one for name in (PODS, *names) if (one := resource_columns(columns, name)) is not None]
    capacities = exact_capacities(columns, names) if len(names) == len(found) - 1 == 2 else None
    if capacities is None:
        return None
    pods, first, second = found
    return NodeAmounts(columns.row_log, pods, (first, second), capacities)


def resource_columns(columns: Columns, name: str) -> AmountColumns | None:
    """The columns of a resource; None for a rare one."""
    there, used = columns.allocatable_column(name), columns.used_column(name)
    if there is None or used is None:
        return None
    nonzero_cpu, nonzero_memory = columns.nonzero_columns
    return AmountColumns(there, used, {CPU: nonzero_cpu, MEMORY: nonzero_memory}.get(name, used))
