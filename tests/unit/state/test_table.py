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
    rows = table(100)
    column = SparseColumn(rows.owner)
    for row in range(9):
        column.add(row, 2)
        assert column.array(rows).tolist() == [2] * (row + 1) + [0] * (99 - row)
        assert not has_array(column)
    column.add(9, 2)
    assert column.array(rows).tolist() == [2] * 10 + [0] * 90
    assert has_array(column)
    for row in range(5):
        column.add(row, -2)
        assert has_array(column)  # not given up and made again at every change
    column.add(5, -2)
    assert not has_array(column)
    assert column.array(rows).tolist() == [0] * 6 + [2] * 4 + [0] * 90


@pytest.mark.parametrize(
    "read",
    [
        lambda column, rows: column.array(rows),
        lambda column, rows: column.add_to(np.zeros(100, np.int64), rows),
    ],
    ids=["array", "add_to"],
)
def test_every_reader_uses_an_array_where_it_pays(
    read: Callable[[SparseColumn, Table], object],
) -> None:
    rows = table(100)
    column = SparseColumn(rows.owner)
    for row in range(9):
        column.add(row, 2)
    read(column, rows)
    assert not has_array(column)
    column.add(9, 2)
    read(column, rows)
    assert has_array(column)


def test_an_array_is_given_up_when_the_table_outgrows_it() -> None:
    rows = table(16)
    column = SparseColumn(rows.owner)
    column.add(3, 1)
    assert not has_array(column)
    column.add(4, 1)
    assert column.array(rows).sum() == 2
    assert has_array(column)
    for _ in range(100):
        rows.append()
    assert not has_array(column)
    assert column.array(rows).tolist() == [0, 0, 0, 1, 1] + [0] * 111


def test_what_nobody_counts_is_one_array_for_all() -> None:
    rows = table(50)
    one, other = (SparseColumn(rows.owner, np.int64) for _ in range(2))
    assert one.array(rows) is other.array(rows) is rows.zeros()
    one.add(3, 1)
    assert rows.zeros().tolist() == [0] * 50


@pytest.mark.parametrize("share", [0, 10, 10**6])
def test_numbers_are_the_same_with_and_without_an_array(share: int) -> None:
    rows = table(40, share)
    column = SparseColumn(rows.owner, np.int64)
    for row, number in ((7, 5), (8, 1), (9, -3), (39, 2)):
        column.set(row, number)
    _ = column.array(rows)
    total = np.ones(40, np.int64)
    column.add_to(total, rows)
    wanted = [1] * 40
    for row, number in ((7, 5), (8, 1), (9, -3), (39, 2)):
        wanted[row] += number
    assert total.tolist() == wanted
    column.set(7, 0)
    column.move(39, 7)
    rows.remove(7)  # the last row takes its number
    assert column.array(rows)[7] == 2
    assert len(column.array(rows)) == 39


def test_a_column_of_a_fork_is_shared_until_one_side_writes() -> None:
    rows = table(3)
    column = rows.new_column()
    column.writable()[1] = 5
    fork = rows.fork()
    forked = fork.fork_column(column)
    before, forked_before = column.view, forked.view
    assert forked.data is column.data
    column.writable()[1] = 6
    forked.writable()[2] = 7
    assert (column.view.tolist(), forked.view.tolist()) == ([0, 6, 0], [0, 5, 7])
    assert (before.tolist(), forked_before.tolist()) == ([0, 5, 0], [0, 5, 0])
    data = column.data
    column.writable()[0] = 1  # nobody else has it by now
    assert column.data is data


def test_a_table_and_its_fork_grow_and_shrink_alone() -> None:
    rows = table(16)
    column = rows.new_column()
    column.writable()[:] = range(1, 17)
    fork = rows.fork()
    forked = fork.fork_column(column)
    rows.append()
    fork.remove(0)
    assert column.view.tolist() == [*range(1, 17), 0]
    assert forked.view.tolist() == [16, *range(2, 16)]


def test_a_sparse_column_can_be_read_in_several_tables() -> None:
    rows = table(10)
    column = SparseColumn(rows.owner)
    for row in range(5):
        column.set(row, row + 1)
    fork = rows.fork()
    fork.append()
    for _ in range(2):  # an array belongs to who read last
        assert column.array(rows).tolist() == [1, 2, 3, 4, 5, 0, 0, 0, 0, 0]
        assert column.has_array(rows)
        assert column.array(fork).tolist() == [1, 2, 3, 4, 5, 0, 0, 0, 0, 0, 0]
        assert column.has_array(fork)
    mine = column.copy(fork.owner)
    mine.move(4, 9)
    fork.remove(4)
    assert mine.array(fork).tolist() == [1, 2, 3, 4, 0, 0, 0, 0, 0, 5]
    assert column.array(rows).tolist() == [1, 2, 3, 4, 5, 0, 0, 0, 0, 0]


def test_both_sides_of_a_fork_own_nothing_of_before() -> None:
    rows = table(1)
    before = rows.owner
    fork = rows.fork()
    assert len({before, rows.owner, fork.owner}) == 3
