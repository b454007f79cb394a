"""What the resource plugins say of rows that changed.

One row in Python's own numbers, which is what most decisions need and much faster than with arrays;
some rows with few and cheap array operations on amounts that all kinds of pods share. Amounts for
which 64 bits or a float might not be enough, rare resources and strategies that few people use are
left to how all rows are worked out. Made by `NodeResourcesFit` and
`NodeResourcesBalancedAllocation` for the nodes as they are: when what nodes have changes, they are
made anew.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final, NamedTuple

import numpy as np

from mooring.framework.arrays import Amounts, Floats, Mask, Rows
from mooring.model.resources import PODS
from mooring.plugins.resources.evenness import evenness, evenness_of_nodes
from mooring.plugins.resources.node_amounts import (
    AmountColumns,
    NodeAmounts,
    resource_columns,
)
from mooring.plugins.resources.scoring_strategies import EXACT
from mooring.plugins.score_arithmetic import MAX_SCORE
from mooring.state.columns import Columns
from mooring.state.resource_columns import LIMIT
from mooring.state.table import GrowingColumn

#: The scores of some rows, worked out with arrays.
ScoreRows = Callable[[Rows], Amounts]
_HALF: Final = MAX_SCORE // 2
# As arrays of no dimension, which numpy takes half as much time for.
_ZERO: Final[Floats] = np.array(0.0)
_HUNDRED: Final[Floats] = np.array(float(MAX_SCORE))
_ONE_HALF: Final[Floats] = np.array(0.5)


class WantedAmount(NamedTuple):
    """So much of a resource; `from_devices` if that may come from devices where a node has none."""

    name: str
    amount: int
    from_devices: bool


class FitRows:
    """Whether a pod fits.

    Args:
        columns: the nodes.
        wanted: what the pod asks for.
        names: the resources of the amounts.
        amounts: the amounts of nodes; None if there are none for these resources.
    """

    __slots__ = ("_amounts", "_columns", "_common", "_other", "_rare", "_read", "_wanted")

    def __init__(
        self,
        columns: Columns,
        wanted: Sequence[WantedAmount],
        names: Sequence[str],
        amounts: NodeAmounts | None,
    ) -> None:
        self._columns = columns
        self._amounts = amounts
        self._wanted = (WantedAmount(PODS, 1, from_devices=False), *wanted)
        #: For one node: the columns of what most nodes have, and the rest.
        self._common: list[tuple[GrowingColumn, GrowingColumn, int]] = []
        self._rare: list[WantedAmount] = []
        #: For some nodes: places of what is left in their amounts, and the rest.
        self._read: list[tuple[int, Floats]] = []
        self._other: list[WantedAmount] = []
        places = {name: place for place, name in enumerate((PODS, *names))}
        for one in self._wanted:
            common = None if one.from_devices else resource_columns(columns, one.name)
            if common is None:
                self._rare.append(one)
            else:
                self._common.append((common.there, common.used, one.amount))
            if common is None or one.name not in places:
                self._other.append(one)
            else:
                self._read.append((places[one.name], np.array(float(one.amount))))

    def one(self, row: int) -> int:
        """Whether it fits on one node."""
        # parity v1.36.4: plugins/noderesources/fit.go fitsRequest: what is beyond 64 bits there
        # wraps around, and is less than nothing.
        for there, used, amount in self._common:
            if not amount <= there.cells[row] - used.cells[row] < LIMIT:
                return 0
        for name, amount, from_devices in self._rare:
            capacity = self._columns.allocatable_at(name, row)
            left = capacity - self._columns.used_at(name, row)
            if not amount <= left < LIMIT and (capacity or not from_devices):
                return 0
        return 1

    def some(self, rows: Rows) -> Mask:
        """(n_rows,) where it fits."""
        amounts = self._amounts.at(rows) if self._amounts is not None else None
        if amounts is None:
            return self._by_columns(rows, self._wanted)
        enough = [amounts[place] >= amount for place, amount in self._read]
        if self._other:
            enough.append(self._by_columns(rows, self._other))
        return reduce(np.logical_and, enough)

    def _by_columns(self, rows: Rows, wanted: Sequence[WantedAmount]) -> Mask:
        fits = np.ones(len(rows), np.bool_)
        columns = self._columns
        for name, amount, from_devices in wanted:
            capacity = columns.allocatable(name).take(rows)
            enough = capacity - columns.used(name).take(rows) >= amount
            fits &= enough | (capacity == 0) if from_devices else enough
        return fits


class ArrayRows:
    """Scores that are worked out with arrays, also for one row.

    Args:
        by_array: how.
    """

    __slots__ = ("_by_array",)

    def __init__(self, by_array: ScoreRows) -> None:
        self._by_array = by_array

    def one(self, row: int) -> int:
        """The score of one node."""
        return int(self._by_array(np.array([row], np.intp))[0])

    def some(self, rows: Rows) -> Amounts:
        """(n_rows,) the scores of some nodes."""
        return self._by_array(rows)


class ScoredResource(NamedTuple):
    """The columns of a resource, what the pod adds, and how much it counts."""

    columns: AmountColumns
    added: int
    weight: int


class AllocationRows(ArrayRows):
    """How full a node would be: the weighted mean of the shares that are free, or in use.

    Args:
        resources: what counts.
        amounts: the amounts of nodes; None if there are none for these resources.
        by_array: the same for all rows.
        least: whether the free shares count, and not those in use.
    """

    __slots__ = ("_added", "_amounts", "_least", "_resources", "_weight", "_weights")

    def __init__(
        self,
        resources: Sequence[ScoredResource],
        amounts: NodeAmounts | None,
        by_array: ScoreRows,
        *,
        least: bool,
    ) -> None:
        super().__init__(by_array)
        self._resources = [
            (one.there, one.counted, added, weight) for one, added, weight in resources
        ]
        self._least = least
        self._amounts = amounts if all(one.added < EXACT for one in resources) else None
        self._added = [np.array(float(one.added)) for one in resources]
        weights = [one.weight for one in resources]
        self._weights = None if set(weights) == {1} else [np.array(one) for one in weights]
        self._weight = np.array(sum(weights))

    def one(self, row: int) -> int:
        """The score of one node."""
        # parity v1.36.4: plugins/noderesources/least_allocated.go, most_allocated.go
        least = self._least
        total = weights = 0
        for there, taken, added, weight in self._resources:
            capacity = there.cells[row]
            if not capacity:
                continue
            requested = taken.cells[row] + added
            if capacity >= EXACT or not 0 <= requested < EXACT:
                return super().one(row)
            share = capacity - requested if least else requested
            if share > 0:
                if share > capacity:
                    share = capacity
                total += weight * (share * MAX_SCORE // capacity)
            weights += weight
        return total // weights if weights else 0

    def some(self, rows: Rows) -> Amounts:
        """(n_rows,) the scores of some nodes."""
        amounts = self._amounts.at(rows) if self._amounts is not None else None
        if amounts is None:
            return self._by_array(rows)
        added, other_added = self._added
        total = self._percents(amounts.free - added, amounts.capacity)
        others = self._percents(amounts.other_free - other_added, amounts.other_capacity)
        if self._weights is not None:
            total *= self._weights[0]
            others *= self._weights[1]
        total += others
        total //= self._weight
        return total

    def _percents(self, shares: Floats, capacities: Floats) -> Amounts:
        np.maximum(shares, _ZERO, out=shares)
        if not self._least:
            np.subtract(capacities, shares, out=shares)
        shares *= _HUNDRED
        shares /= capacities
        return shares.astype(np.int64)


class BalanceRows(ArrayRows):
    """How even two resources would be in use, compared with now.

    Args:
        resources: the resources.
        added: what the pod adds to them.
        amounts: the amounts of nodes; None if there are none for these resources.
        by_array: the same for all rows.
    """

    __slots__ = ("_added", "_amounts", "_first", "_limit", "_more", "_second")

    def __init__(
        self,
        resources: tuple[AmountColumns, AmountColumns],
        added: tuple[int, int],
        amounts: NodeAmounts | None,
        by_array: ScoreRows,
    ) -> None:
        super().__init__(by_array)
        self._first, self._second = resources
        self._added = added
        self._amounts = amounts if max(added) < EXACT else None
        #: More in use is left to arrays.
        self._limit = EXACT if max(added) < EXACT else 0
        self._more = [np.array(float(amount)) for amount in added]

    def one(self, row: int) -> int:
        """The score of one node."""
        # parity v1.36.4: plugins/noderesources/balanced_allocation.go balancedResourceScore
        there, taken, _ = self._first
        other_there, other_taken, _ = self._second
        capacity, other_capacity = float(there.cells[row]), float(other_there.cells[row])
        if not (capacity and other_capacity):
            return super().one(row)
        used, other_used = taken.cells[row], other_taken.cells[row]
        if not 0 <= used | other_used < self._limit:
            return super().one(row)
        added, other_added = self._added
        before = evenness(used / capacity, other_used / other_capacity)
        after = evenness((used + added) / capacity, (other_used + other_added) / other_capacity)
        return (after - before + _HALF) // 2 + _HALF

    def some(self, rows: Rows) -> Amounts:
        """(n_rows,) the scores of some nodes."""
        amounts = self._amounts.at(rows) if self._amounts is not None else None
        if amounts is None:
            return self._by_array(rows)
        shares, others = amounts.used + self._more[0], amounts.other_used + self._more[1]
        shares /= amounts.capacity
        others /= amounts.other_capacity
        # The same as for one node, in other words.
        scores = evenness_of_nodes(shares, others)
        scores += amounts.uneven
        scores *= _ONE_HALF
        return scores.astype(np.int64)


def balance_rows(
    columns: Columns,
    added: Sequence[tuple[str, int]],
    amounts: NodeAmounts | None,
    by_array: ScoreRows,
) -> ArrayRows:
    """The balance of resources on single rows.

    Args:
        columns: the nodes.
        added: the resources, and what the pod adds to them.
        amounts: the amounts of nodes; None if there are none for these resources.
        by_array: the same with arrays.
    """
    found = [one for name, _ in added if (one := resource_columns(columns, name)) is not None]
    if len(added) == len(found) == 2:
        (_, first), (_, second) = added
        return BalanceRows((found[0], found[1]), (first, second), amounts, by_array)
    return ArrayRows(by_array)
