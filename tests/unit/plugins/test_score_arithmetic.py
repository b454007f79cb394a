import numpy as np
import pytest

from mooring.framework.arrays import Amounts
from mooring.plugins.score_arithmetic import divide, normalize_scores


def amounts(*numbers: int) -> Amounts:
    return np.array(numbers, np.int64)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((0, 3, 7), [0, 42, 100]),
        ((5,), [100]),
        ((0, 0), [0, 0]),
        ((), []),
    ],
)
def test_the_highest_score_becomes_100(scores: tuple[int, ...], expected: list[int]) -> None:
    assert normalize_scores(amounts(*scores)).tolist() == expected


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        # 100 - 3 * 100 / 7, where the quotient is cut before it is taken away.
        ((0, 3, 7), [100, 58, 0]),
        ((0, 0), [100, 100]),
        ((), []),
    ],
)
def test_in_reverse_the_highest_score_becomes_0(
    scores: tuple[int, ...], expected: list[int]
) -> None:
    assert normalize_scores(amounts(*scores), reverse=True).tolist() == expected


def test_given_scores_are_not_changed() -> None:
    scores = amounts(1, 2)
    scores.flags.writeable = False
    assert normalize_scores(scores, reverse=True).tolist() == [50, 0]
    assert scores.tolist() == [1, 2]


def test_division_cuts_toward_zero() -> None:
    assert divide(amounts(-7, -1, 0, 7), 2).tolist() == [-3, 0, 0, 3]
    assert divide(amounts(-7, 7), amounts(3, 4)).tolist() == [-2, 1]
    assert divide(amounts(), 3).tolist() == []
