import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.framework.arrays import Amounts
from mooring.plugins.resources.scoring_strategies import (
    Capacity,
    ResourceLevel,
    UtilizationShapePoint,
    capacity_of,
    least_allocated,
    most_allocated,
    requested_to_capacity_ratio,
)
from mooring.testing import make_node
from tests.unit.plugins.one_plugin import cluster_of

TIB = 2**40


def amounts(*numbers: int) -> Amounts:
    return np.array(numbers, np.int64)


def level(weight: int, requested: list[int], capacity: list[int]) -> ResourceLevel:
    """A resource with its capacity as `capacity_of` would read it."""
    nodes = [
        make_node(str(place), extended={"x.io/y": amount}) for place, amount in enumerate(capacity)
    ]
    return ResourceLevel(
        weight, amounts(*requested), capacity_of(cluster_of(*nodes).columns, "x.io/y")
    )


def test_the_least_allocated_node_is_best() -> None:
    # 70 % and 33.3 % free, both cut to whole numbers before the mean is.
    levels = [level(1, [30, 100, 0], [100, 100, 100]), level(1, [2, 0, 3], [3, 3, 3])]
    assert least_allocated(levels).tolist() == [51, 50, 50]


def test_the_most_allocated_node_is_best() -> None:
    levels = [level(1, [30, 100, 0], [100, 100, 100]), level(1, [2, 0, 3], [3, 3, 3])]
    assert most_allocated(levels).tolist() == [48, 50, 50]


def test_weights_count() -> None:
    levels = [level(3, [50], [100]), level(1, [10], [100])]
    assert least_allocated(levels).tolist() == [60]  # (3 * 50 + 90) / 4
    assert most_allocated(levels).tolist() == [40]  # (3 * 50 + 10) / 4


def test_more_than_there_is_counts_as_full() -> None:
    assert least_allocated([level(1, [11], [10])]).tolist() == [0]
    assert most_allocated([level(1, [11], [10])]).tolist() == [100]


@pytest.mark.parametrize("capacity", [10, 2**50, 2**62])
def test_less_than_nothing_counts_as_nothing(capacity: int) -> None:
    # Sums of amounts wrap around at 64 bits.
    for requested in (-1, -(2**62), -(2**63)):
        assert least_allocated([level(1, [requested], [capacity])]).tolist() in ([100], [0])
        assert most_allocated([level(1, [requested], [capacity])]).tolist() == [0]


def test_a_resource_that_a_node_does_not_have_does_not_count_there() -> None:
    levels = [level(1, [20, 20, 5], [100, 100, 0]), level(9, [10, 10, 5], [100, 0, 0])]
    assert least_allocated(levels).tolist() == [89, 80, 0]
    assert most_allocated(levels).tolist() == [11, 20, 0]
    rising = requested_to_capacity_ratio(
        [UtilizationShapePoint(0, 0), UtilizationShapePoint(100, 10)]
    )
    assert rising(levels).tolist() == [11, 20, 0]


@pytest.mark.parametrize(
    ("points", "used", "expected"),
    [
        ([(0, 0), (100, 10)], 37, 37),
        ([(0, 10), (100, 0)], 37, 63),
        # 100 - 100 * 1 / 3 and 100 - 100 * 2 / 3, each quotient cut toward zero.
        ([(0, 10), (3, 0)], 1, 67),
        ([(0, 10), (3, 0)], 2, 34),
        ([(0, 0), (3, 10)], 2, 66),
        ([(20, 2), (80, 9)], 0, 20),
        ([(20, 2), (80, 9)], 20, 20),
        ([(20, 2), (80, 9)], 50, 55),
        ([(20, 2), (80, 9)], 100, 90),
        ([(50, 4)], 7, 40),
    ],
)
def test_the_score_runs_in_straight_lines(
    points: list[tuple[int, int]], used: int, expected: int
) -> None:
    score = requested_to_capacity_ratio([UtilizationShapePoint(*point) for point in points])
    assert score([level(1, [used], [100])]).tolist() == [expected]


def test_a_ratio_is_rounded_and_resources_with_score_0_do_not_count() -> None:
    score = requested_to_capacity_ratio(
        [UtilizationShapePoint(0, 0), UtilizationShapePoint(100, 10)]
    )
    halves = [level(1, [1, 1, 200], [100, 100, 100]), level(1, [2, 0, 0], [100, 100, 100])]
    assert score(halves).tolist() == [2, 1, 100]  # 1.5 is rounded up; 0 is left out
    thirds = [level(2, [1], [100]), level(1, [2], [100])]
    assert score(thirds).tolist() == [1]


@given(st.lists(st.tuples(st.integers(0, 2**47), st.integers(1, 2**47)), min_size=1, max_size=20))
def test_percents_are_exact_whatever_the_size(pairs: list[tuple[int, int]]) -> None:
    used = [min(pair) for pair in pairs]
    there = [max(pair) for pair in pairs]
    found = most_allocated([level(1, used, there)])
    assert found.tolist() == [100 * part // whole for part, whole in zip(used, there, strict=True)]


@given(st.integers(1, 2**46 - 1), st.integers(0, 100))
def test_percents_next_to_a_whole_number_are_exact(whole: int, wanted: int) -> None:
    part = -(-whole * wanted // 100)
    parts = [one for one in (part - 1, part) if 0 <= one <= whole]
    found = most_allocated([level(1, parts, [whole] * len(parts))])
    assert found.tolist() == [100 * one // whole for one in parts]


def test_amounts_near_64_bits_stay_in_range() -> None:
    huge = 2**63 - 1
    for strategy in (least_allocated, most_allocated):
        scores = strategy([level(1, [huge // 3, 0, huge], [huge, huge, huge])])
        assert all(0 <= score <= 100 for score in scores.tolist())
    ratio = requested_to_capacity_ratio(
        [UtilizationShapePoint(0, 0), UtilizationShapePoint(100, 10)]
    )
    assert 0 <= ratio([level(1, [huge // 3], [huge])]).tolist()[0] <= 100


def test_large_amounts_are_divided_as_whole_numbers() -> None:
    columns = cluster_of(make_node("a", extended={"x.io/y": 64 * TIB})).columns
    assert capacity_of(columns, "x.io/y").divisor.dtype == np.int64
    small = cluster_of(make_node("a", extended={"x.io/y": 64 * TIB - 1})).columns
    assert capacity_of(small, "x.io/y").divisor.dtype == np.float64


def test_part_of_a_capacity() -> None:
    capacity = Capacity(amounts(4, 0), np.array([4.0, 1.0]), complete=False)
    assert capacity.at_rows(None) is capacity
    one = capacity.at_rows(np.array([1]))
    assert (one.amounts.tolist(), one.divisor.tolist(), one.complete) == ([0], [1.0], False)
