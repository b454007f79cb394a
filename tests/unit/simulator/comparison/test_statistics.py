"""Means and their intervals."""

import pytest

from mooring.simulator.comparison.statistics import estimate, quantile


def test_the_interval_of_a_textbook_sample() -> None:
    found = estimate([4.0, 6.0, 8.0, 10.0, 12.0])
    # s = 3.16228, and 2.776 * s / sqrt(5) = 3.926
    assert found.mean == 8.0
    assert found.low == pytest.approx(4.0741, abs=1e-4)
    assert found.high == pytest.approx(11.9259, abs=1e-4)
    assert found.differs_from_zero


def test_one_number_has_no_interval() -> None:
    found = estimate([3.0])
    assert (found.mean, found.low, found.high, found.margin) == (3.0, None, None, None)
    assert not found.differs_from_zero


@pytest.mark.parametrize(
    ("values", "differs"),
    [([1.0, -1.0], False), ([0.0, 0.0], False), ([2.0, 2.0], True), ([-5.0, -5.1, -5.2], True)],
)
def test_whether_it_differs_from_zero(values: list[float], differs: bool) -> None:
    assert estimate(values).differs_from_zero is differs


@pytest.mark.parametrize(
    ("freedom", "expected"), [(1, 12.706), (9, 2.262), (30, 2.042), (40, 2.0211), (999, 1.9623)]
)
def test_quantiles_of_student(freedom: int, expected: float) -> None:
    assert quantile(freedom) == pytest.approx(expected, abs=3e-3)


def test_quantiles_fall_without_a_jump() -> None:
    found = [quantile(freedom) for freedom in range(1, 200)]
    assert found == sorted(found, reverse=True)
