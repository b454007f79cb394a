"""How full a node is, as a score: the strategies of NodeResourcesFit.

Owns the arguments that name resources with weights, and the three strategies. Everything is
computed in whole numbers as kube-scheduler does; the arrays have one element for each node.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from mooring.config.strict_decoding import Int32, Int64
from mooring.framework.arrays import Amounts, Floats, Rows
from mooring.model.resources import CPU, MEMORY
from mooring.plugins.score_arithmetic import MAX_SCORE, divide
from mooring.state.aspects import Aspect
from mooring.state.columns import Columns

LEAST_ALLOCATED: Final = "LeastAllocated"
MOST_ALLOCATED: Final = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO: Final = "RequestedToCapacityRatio"

_MAX_WEIGHT: Final = 100
_MAX_UTILIZATION: Final = 100
#: The best score in a shape; it stands for `MAX_SCORE`.
_MAX_SHAPE_SCORE: Final = 10
#: Below this, whole percents are exact in floats: a hundredfold amount has less than 53 bits, and a
#: quotient that is no whole number is farther from the next one than rounding can take it.
EXACT: Final = 2**46


class ResourceSpec(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A resource and how much it counts; weight 0 means 1."""

    name: str
    weight: Int64 = 0

    @property
    def counts(self) -> int:
        """The weight that counts."""
        return self.weight or 1


class UtilizationShapePoint(
    msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True
):
    """The score, 0 to 10, at a utilization in percent."""

    utilization: Int32 = 0
    score: Int32 = 0


class RequestedToCapacityRatioParam(
    msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True
):
    """Points between which the score runs in straight lines."""

    shape: tuple[UtilizationShapePoint, ...] = ()

    def check(self, path: str) -> Iterable[tuple[str, str]]:
        """What is wrong with the points."""
        # parity v1.36.4: apis/config/validation/validation_pluginargs.go validateFunctionShape
        points = self.shape
        if not points:
            yield path, "must have at least one point"
        for index in range(1, len(points)):
            if points[index - 1].utilization >= points[index].utilization:
                yield (
                    f"{path}[{index}].utilization",
                    "must be greater than that of the previous point",
                )
                break
        for index, point in enumerate(points):
            if not 0 <= point.utilization <= _MAX_UTILIZATION:
                yield (
                    f"{path}[{index}].utilization",
                    f"{point.utilization} is out of range: must be from 0 to {_MAX_UTILIZATION}",
                )
            if not 0 <= point.score <= _MAX_SHAPE_SCORE:
                yield (
                    f"{path}[{index}].score",
                    f"{point.score} is out of range: must be from 0 to {_MAX_SHAPE_SCORE}",
                )


DEFAULT_RESOURCES: Final = (ResourceSpec(CPU, 1), ResourceSpec(MEMORY, 1))


class ScoringStrategy(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Which nodes are good, and by which resources."""

    type: str = ""
    resources: tuple[ResourceSpec, ...] | None = None
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None

    @property
    def counted(self) -> tuple[ResourceSpec, ...]:
        """The resources that count: the ones given, or CPU and memory."""
        return self.resources or DEFAULT_RESOURCES

    def check(self, path: str) -> Iterable[tuple[str, str]]:
        """What is wrong with the strategy."""
        # parity v1.36.4: apis/config/validation/validation_pluginargs.go
        if self.type not in STRATEGIES:
            yield (
                f"{path}.type",
                f"{self.type!r} is not supported: use one of {', '.join(STRATEGIES)}",
            )
        for index, resource in enumerate(self.counted):
            if not 0 < resource.counts <= _MAX_WEIGHT:
                yield (
                    f"{path}.resources[{index}].weight",
                    f"{resource.weight} is out of range: must be from 1 to {_MAX_WEIGHT}",
                )
        ratio = self.requested_to_capacity_ratio
        if self.type != REQUESTED_TO_CAPACITY_RATIO:
            if ratio is not None:
                yield (
                    f"{path}.requestedToCapacityRatio",
                    f"allowed only for type {REQUESTED_TO_CAPACITY_RATIO}: remove it",
                )
        elif ratio is None:
            yield (
                f"{path}.requestedToCapacityRatio",
                f"required value is missing: type {REQUESTED_TO_CAPACITY_RATIO} needs it",
            )
        else:
            yield from ratio.check(f"{path}.requestedToCapacityRatio.shape")


class Capacity(NamedTuple):
    """What all nodes have of a resource.

    Attributes:
        amounts: (n,) the amounts.
        divisor: (n,) the same, for dividing: 1 instead of 0, and as floats where that is exact.
        complete: whether every node has some.
    """

    amounts: Amounts
    divisor: Amounts | Floats
    complete: bool

    def at_rows(self, rows: Rows | None) -> "Capacity":
        """What some nodes have; all if no rows are given."""
        if rows is None:
            return self
        return Capacity(self.amounts[rows], self.divisor[rows], self.complete)


def capacity_of(columns: Columns, name: str) -> Capacity:
    """What all nodes have of a resource."""
    return columns.remember(
        ("capacity", name), lambda: _read_capacity(columns, name), Aspect.ALLOCATABLE
    )


def _read_capacity(columns: Columns, name: str) -> Capacity:
    return capacity_from(columns.allocatable(name).copy())


def capacity_from(amounts: Amounts) -> Capacity:
    """The capacity of all nodes, from their amounts."""
    divisor: Amounts | Floats = np.maximum(amounts, 1)
    if amounts.max(initial=0) < EXACT:
        divisor = divisor.astype(np.float64)
    return Capacity(amounts, divisor, bool(amounts.all()))


def exact_capacities(columns: Columns, names: tuple[str, ...]) -> Floats | None:
    """(n_names, n) what all nodes have of some resources.

    None if a node has nothing of one of them, or floats are not exact.
    """
    return columns.remember(
        ("capacities", names), lambda: _exact_capacities(columns, names), Aspect.ALLOCATABLE
    )


def _exact_capacities(columns: Columns, names: tuple[str, ...]) -> Floats | None:
    found = [capacity_of(columns, name) for name in names]
    if all(one.complete and one.divisor.dtype == np.float64 for one in found):
        return np.array([one.divisor for one in found], np.float64).reshape(len(names), -1)
    return None


class ResourceLevel(NamedTuple):
    """One resource on some nodes: how much it counts, what would be in use, what there is."""

    weight: int
    requested: Amounts
    capacity: Capacity


ScoreFunction = Callable[[Sequence[ResourceLevel]], Amounts]


def percent(amounts: Amounts, divisor: Amounts | Floats) -> Amounts:
    """How many whole percent the amounts are; they are not above the divisor."""
    if divisor.dtype == np.float64:
        return (amounts * float(MAX_SCORE) / divisor).astype(np.int64)
    # Amounts above 2**56 lose bits here, in Go as well as in numpy.
    return divide(amounts * MAX_SCORE, divisor.astype(np.int64, copy=False))


def _free_percent(level: ResourceLevel) -> Amounts:
    # Less than nothing is in use where a sum has wrapped around. kube-scheduler's score may be any
    # number then, and if it is illegal no pod is placed at all; the node counts as empty here.
    capacity = level.capacity.amounts
    free = np.clip(capacity - level.requested, 0, capacity)
    return percent(free, level.capacity.divisor)


def _used_percent(level: ResourceLevel) -> Amounts:
    # More than the capacity may be in use, because pods that ask for nothing count something.
    used = np.clip(level.requested, 0, level.capacity.amounts)
    return percent(used, level.capacity.divisor)


def _weighted_mean(
    levels: Sequence[ResourceLevel], score: Callable[[ResourceLevel], Amounts]
) -> Amounts:
    # parity v1.36.4: plugins/noderesources/least_allocated.go, most_allocated.go: a resource that
    # the node does not have counts neither in the sum nor in the weights.
    total: Amounts = np.zeros(len(levels[0].requested), np.int64)
    for level in levels:
        found = score(level)
        total += found if level.weight == 1 else found * level.weight
    if all(level.capacity.complete for level in levels):
        mean = divide(total, sum(level.weight for level in levels))
    else:
        weights: Amounts = np.zeros(len(total), np.int64)
        for level in levels:
            weights += (level.capacity.amounts != 0) * level.weight
        mean = divide(total, np.maximum(weights, 1))
    if all(level.capacity.divisor.dtype == np.float64 for level in levels):
        return mean
    # Amounts that lost bits can be out of range; kube-scheduler would not place the pod at all.
    return mean.clip(0, MAX_SCORE)


def least_allocated(levels: Sequence[ResourceLevel]) -> Amounts:
    """The emptier a node, the better."""
    return _weighted_mean(levels, _free_percent)


def most_allocated(levels: Sequence[ResourceLevel]) -> Amounts:
    """The fuller a node, the better."""
    return _weighted_mean(levels, _used_percent)


def requested_to_capacity_ratio(points: Sequence[UtilizationShapePoint]) -> ScoreFunction:
    """The score that the points give to a node's utilization."""
    # parity v1.36.4: plugins/noderesources/requested_to_capacity_ratio.go
    table = np.array([_broken_line(points, used) for used in range(_MAX_UTILIZATION + 1)], np.int64)

    def score(levels: Sequence[ResourceLevel]) -> Amounts:
        total: Amounts = np.zeros(len(levels[0].requested), np.int64)
        weights = np.zeros_like(total)
        for level in levels:
            found = table[_used_percent(level).clip(0, _MAX_UTILIZATION)]
            found[level.capacity.amounts == 0] = 0
            total += found * level.weight
            weights += (found > 0) * level.weight  # a resource with score 0 does not count
        # Halves are rounded up.
        return (2 * total + weights) // np.maximum(2 * weights, 1)

    return score


def _broken_line(points: Sequence[UtilizationShapePoint], used: int) -> int:
    # parity v1.36.4: plugins/helper/shape_score.go
    scale = MAX_SCORE // _MAX_SHAPE_SCORE
    for index, right in enumerate(points):
        if used <= right.utilization:
            if index == 0:
                return right.score * scale
            left = points[index - 1]
            rise = (right.score - left.score) * scale * (used - left.utilization)
            run = right.utilization - left.utilization
            step = rise // run if rise >= 0 else -(-rise // run)
            return left.score * scale + step
    return points[-1].score * scale


STRATEGIES: Final = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)


def strategy_of(strategy: ScoringStrategy) -> ScoreFunction:
    """The function that computes a strategy's scores."""
    if strategy.requested_to_capacity_ratio is not None:
        return requested_to_capacity_ratio(strategy.requested_to_capacity_ratio.shape)
    return most_allocated if strategy.type == MOST_ALLOCATED else least_allocated
