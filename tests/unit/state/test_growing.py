"""Tallies: right whether they have an array or not, and with an array only where it pays."""

from collections.abc import Callable

import numpy as np
import pytest

from mooring.state.bounds import Bounds
from mooring.state.growing import Table, Tally


def table(rows: int, share: int = 10) -> Table:
    made = Table(Bounds(array_share=share))
    for _ in range(rows):
        made.append()
    return made


def has_array(tally: Tally) -> bool:
    return tally._array is not None


def test_an_array_is_kept_only_where_it_pays() -> None:
    tally = table(100).tally()
    for row in range(9):
        tally.add(row, 2)
        assert tally.array.tolist() == [2] * (row + 1) + [0] * (99 - row)
        assert not has_array(tally)
    tally.add(9, 2)
    assert tally.array.tolist() == [2] * 10 + [0] * 90
    assert has_array(tally)
    for row in range(5):
        tally.add(row, -2)
        assert has_array(tally)  # not given up and made again at every change
    tally.add(5, -2)
    assert not has_array(tally)
    assert tally.array.tolist() == [0] * 6 + [2] * 4 + [0] * 90


@pytest.mark.parametrize(
    "read",
    [
        lambda tally: tally.array,
        lambda tally: tally.add_to(np.zeros(100, np.int64), 3),
        lambda tally: tally.mark(np.zeros(100, np.bool_)),
    ],
    ids=["array", "add_to", "mark"],
)
def test_every_reader_uses_an_array_where_it_pays(read: Callable[[Tally], object]) -> None:
    tally = table(100).tally()
    for row in range(9):
        tally.add(row, 2)
    read(tally)
    assert not has_array(tally)
    tally.add(9, 2)
    read(tally)
    assert has_array(tally)


def test_an_array_is_given_up_when_the_table_outgrows_it() -> None:
    rows = table(16)
    tally = rows.tally()
    tally.add(3, 1)
    assert not has_array(tally)
    tally.add(4, 1)
    assert tally.array.sum() == 2
    assert has_array(tally)
    for _ in range(100):
        rows.append()
    assert not has_array(tally)
    assert tally.array.tolist() == [0, 0, 0, 1, 1] + [0] * 111


def test_what_nobody_counts_is_one_array_for_all() -> None:
    rows = table(50)
    one, other = rows.tally(np.int64), rows.tally(np.int64)
    assert one.array is other.array is rows.zeros()
    one.add(3, 1)
    assert rows.zeros().tolist() == [0] * 50


@pytest.mark.parametrize("share", [0, 10, 10**6])
def test_numbers_are_the_same_with_and_without_an_array(share: int) -> None:
    rows = table(40, share)
    tally = rows.tally(np.int64)
    for row, number in ((7, 5), (8, 1), (9, -3), (39, 2)):
        tally.set(row, number)
    _ = tally.array
    total = np.ones(40, np.int64)
    tally.add_to(total)
    tally.add_to(total, 10)
    wanted = [1] * 40
    for row, number in ((7, 5), (8, 1), (9, -3), (39, 2)):
        wanted[row] += 11 * number
    assert total.tolist() == wanted
    mask = np.zeros(40, np.bool_)
    tally.mark(mask)
    assert mask.nonzero()[0].tolist() == [7, 8, 9, 39]
    tally.set(7, 0)
    rows.remove(7)  # the last row takes its number
    assert tally.array[7] == 2
    assert len(tally.array) == 39
