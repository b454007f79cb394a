"""What the resource plugins say of rows that changed.

One row in Python's own numbers, which is what most decisions need and much faster than with arrays;
some rows with as few array operations as possible. Amounts for which 64 bits or a float might not
be enough, rare resources and strategies that few people use are left to how all rows are worked
out. Made by `NodeResourcesFit` and `NodeResourcesBalancedAllocation` for the nodes as they are:
when what nodes have changes, they are made anew.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from mooring.framework.arrays import Amounts, Floats, Mask, Rows
from mooring.model.resources import PODS
from mooring.plugins.resources.scoring_strategies import EXACT, exact_capacities
from mooring.plugins.score_arithmetic import MAX_SCORE
from mooring.state.columns import Columns
from mooring.state.table import GrowingColumn

#: The scores of some rows, worked out with arrays.
ScoreRows = Callable[[Rows], Amounts]
#: What a node has of a resource, what is in use of it, and what a pod asks for or adds.
_Amount = tuple[GrowingColumn, GrowingColumn, int]
_HALF: Final = MAX_SCORE // 2
_MAX: Final = float(MAX_SCORE)


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
    """

    __slots__ = ("_amounts", "_columns", "_common", "_rare")

    def __init__(self, columns: Columns, wanted: Sequence[WantedAmount]) -> None:
        self._columns = columns
        self._common: list[_Amount] = []
        self._rare: list[WantedAmount] = []
        for one in (WantedAmount(PODS, 1, from_devices=False), *wanted):
            capacity, used = columns.allocatable_column(one.name), columns.used_column(one.name)
            if capacity is None or used is None or one.from_devices:
                self._rare.append(one)
            else:
                self._common.append((capacity, used, one.amount))
        self._amounts = np.array([[amount] for _, _, amount in self._common], np.int64)

    def one(self, row: int) -> int:
        """Whether it fits on one node."""
        # parity v1.36.4: plugins/noderesources/fit.go fitsRequest
        for there, taken, amount in self._common:
            if there.cells[row] - taken.cells[row] < amount:
                return 0
        for name, amount, from_devices in self._rare:
            capacity = self._columns.allocatable_at(name, row)
            if capacity - self._columns.used_at(name, row) < amount and (
                capacity or not from_devices
            ):
                return 0
        return 1

    def some(self, rows: Rows) -> Mask:
        """(n_rows,) where it fits."""
        left = np.array([there.data.take(rows) for there, _, _ in self._common])
        left -= np.array([taken.data.take(rows) for _, taken, _ in self._common])
        fits: Mask = np.logical_and.reduce(left >= self._amounts, 0)
        columns = self._columns
        for name, amount, from_devices in self._rare:
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
    """What a node has of a resource, what is in use, what the pod adds, how much it counts."""

    capacity: GrowingColumn
    used: GrowingColumn
    added: int
    weight: int


class AllocationRows(ArrayRows):
    """How full a node would be: the weighted mean of the shares that are free, or in use.

    Args:
        resources: what counts.
        capacities: (n_resources, n) what the nodes have of it; None if a node has nothing of a
            resource, or floats are not exact.
        by_array: the same for all rows.
        least: whether the free shares count, and not those in use.
    """

    __slots__ = ("_added", "_capacities", "_least", "_resources", "_weight", "_weights")

    def __init__(
        self,
        resources: Sequence[ScoredResource],
        capacities: Floats | None,
        by_array: ScoreRows,
        *,
        least: bool,
    ) -> None:
        super().__init__(by_array)
        self._resources = tuple(resources)
        self._capacities = capacities
        self._least = least
        self._added = np.array([[one.added] for one in resources], np.int64)
        weights = [one.weight for one in resources]
        self._weights = None if set(weights) <= {1} else np.array(weights, np.int64)
        self._weight = sum(weights)

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
        if self._capacities is None:
            return self._by_array(rows)
        used = np.array([one.used.data.take(rows) for one in self._resources])
        used += self._added
        # As unsigned numbers, those below 0 are large ones.
        if np.maximum.reduce(used.view(np.uint64), None, initial=0) >= EXACT:
            return self._by_array(rows)
        capacities = self._capacities.take(rows, 1)
        shares = np.maximum(capacities - used, 0) if self._least else np.minimum(used, capacities)
        shares *= float(MAX_SCORE)
        shares /= capacities
        percents = shares.astype(np.int64)
        if self._weights is not None:
            percents *= self._weights[:, None]
        total: Amounts = np.add.reduce(percents, 0)
        total //= self._weight
        return total


class BalanceRows(ArrayRows):
    """How even two resources would be in use, compared with now.

    Args:
        first: one of the resources.
        second: the other.
        capacities: (2, n) what the nodes have of them; None if a node has nothing of one, or floats
            are not exact.
        by_array: the same for all rows.
    """

    __slots__ = ("_capacities", "_first", "_second", "_steps")

    def __init__(
        self, first: _Amount, second: _Amount, capacities: Floats | None, by_array: ScoreRows
    ) -> None:
        super().__init__(by_array)
        self._first = first
        self._second = second
        self._capacities = capacities
        # Without the pod, and with it: (2, 1) for each resource.
        self._steps = [np.array([[0], [one[2]]], np.int64) for one in (first, second)]

    def one(self, row: int) -> int:
        """The score of one node."""
        # parity v1.36.4: plugins/noderesources/balanced_allocation.go balancedResourceScore
        there, taken, added = self._first
        other_there, other_taken, other_added = self._second
        capacity, other_capacity = float(there.cells[row]), float(other_there.cells[row])
        if not (capacity and other_capacity):
            return super().one(row)
        used, other_used = taken.cells[row], other_taken.cells[row]
        before = _balance(used / capacity, other_used / other_capacity)
        after = _balance((used + added) / capacity, (other_used + other_added) / other_capacity)
        return (after - before + _HALF) // 2 + _HALF

    def some(self, rows: Rows) -> Amounts:
        """(n_rows,) the scores of some nodes."""
        if self._capacities is None:
            return self._by_array(rows)
        capacity, other_capacity = self._capacities.take(rows, 1)
        step, other_step = self._steps
        shares = (self._first[1].data.take(rows) + step) / capacity
        others = (self._second[1].data.take(rows) + other_step) / other_capacity
        deviations = np.abs(np.minimum(shares, 1.0) - np.minimum(others, 1.0))
        deviations /= 2
        before, after = ((1 - deviations) * float(MAX_SCORE)).astype(np.int64)
        score: Amounts = (after - before + _HALF) // 2 + _HALF
        return score


def _balance(share: float, other: float) -> int:
    # No calls: this is run for every row that changed.
    if share > 1.0:
        share = 1.0
    if other > 1.0:
        other = 1.0
    deviation = (share - other) / 2 if share > other else (other - share) / 2
    return int((1 - deviation) * _MAX)


def balance_rows(
    columns: Columns, added: Sequence[tuple[str, int]], by_array: ScoreRows
) -> ArrayRows:
    """The balance of resources on single rows.

    Args:
        columns: the nodes.
        added: the resources, and what the pod adds to them.
        by_array: the same with arrays.
    """
    found: list[_Amount] = []
    for name, amount in added:
        there, taken = columns.allocatable_column(name), columns.used_column(name)
        if there is not None and taken is not None:
            found.append((there, taken, amount))
    if len(added) == len(found) == 2:
        capacities = exact_capacities(columns, tuple(name for name, _ in added))
        return BalanceRows(found[0], found[1], capacities, by_array)
    return ArrayRows(by_array)
