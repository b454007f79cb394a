"""Sparse columns: right whether they have an array or not, and with an array only where it pays."""

from collections.abc import Callable

import numpy as np
import pytest

from mooring.state.memory_bounds import MemoryBounds
from mooring.state.table import SparseColumn, Table


def table(rows: int, share: int = 10) -> Table:
    made = Table(MemoryBounds(array_share=share))
    for _ in range(rows):
        made.append()
    return made


def has_array(column: SparseColumn) -> bool:
    return column._array is not None


def test_an_array_is_kept_only_where_it_pays() -> None:
    column = table(100).new_sparse_column()
    for row in range(9):
        column.add(row, 2)
        assert column.array.tolist() == [2] * (row + 1) + [0] * (99 - row)
        assert not has_array(column)
    column.add(9, 2)
    assert column.array.tolist() == [2] * 10 + [0] * 90
    assert has_array(column)
    for row in range(5):
        column.add(row, -2)
        assert has_array(column)  # not given up and made again at every change
    column.add(5, -2)
    assert not has_array(column)
    assert column.array.tolist() == [0] * 6 + [2] * 4 + [0] * 90


@pytest.mark.parametrize(
    "read",
    [
        lambda column: column.array,
        lambda column: column.add_to(np.zeros(100, np.int64), 3),
        lambda column: column.mark(np.zeros(100, np.bool_)),
    ],
    ids=["array", "add_to", "mark"],
)
def test_every_reader_uses_an_array_where_it_pays(read: Callable[[SparseColumn], object]) -> None:
    column = table(100).new_sparse_column()
    for row in range(9):
        column.add(row, 2)
    read(column)
    assert not has_array(column)
    column.add(9, 2)
    read(column)
    assert has_array(column)


def test_an_array_is_given_up_when_the_table_outgrows_it() -> None:
    rows = table(16)
    column = rows.new_sparse_column()
    column.add(3, 1)
    assert not has_array(column)
    column.add(4, 1)
    assert column.array.sum() == 2
    assert has_array(column)
    for _ in range(100):
        rows.append()
    assert not has_array(column)
    assert column.array.tolist() == [0, 0, 0, 1, 1] + [0] * 111


def test_what_nobody_counts_is_one_array_for_all() -> None:
    rows = table(50)
    one, other = rows.new_sparse_column(np.int64), rows.new_sparse_column(np.int64)
    assert one.array is other.array is rows.zeros()
    one.add(3, 1)
    assert rows.zeros().tolist() == [0] * 50


@pytest.mark.parametrize("share", [0, 10, 10**6])
def test_numbers_are_the_same_with_and_without_an_array(share: int) -> None:
    rows = table(40, share)
    column = rows.new_sparse_column(np.int64)
    for row, number in ((7, 5), (8, 1), (9, -3), (39, 2)):
        column.set(row, number)
    _ = column.array
    total = np.ones(40, np.int64)
    column.add_to(total)
    column.add_to(total, 10)
    wanted = [1] * 40
    for row, number in ((7, 5), (8, 1), (9, -3), (39, 2)):
        wanted[row] += 11 * number
    assert total.tolist() == wanted
    mask = np.zeros(40, np.bool_)
    column.mark(mask)
    assert mask.nonzero()[0].tolist() == [7, 8, 9, 39]
    column.set(7, 0)
    rows.remove(7)  # the last row takes its number
    assert column.array[7] == 2
    assert len(column.array) == 39
