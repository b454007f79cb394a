"""Scores of all nodes as a table: places follow the rows that changed."""

import random

import numpy as np
import pytest

from mooring.plugins.spread.scores_by_place import NodePlaces, scores_by_place
from mooring.state.cluster import Cluster
from mooring.state.columns import Columns
from mooring.testing import make_node

DOMAINS = 3


@pytest.fixture
def columns() -> Columns:
    cluster = Cluster()
    for number in range(60):
        cluster.put_node(make_node(f"n{number}"))
    return cluster.columns


@pytest.mark.parametrize("most", [1, 3, 59])
def test_places_are_those_of_all_rows_however_many_changed(columns: Columns, most: int) -> None:
    chance = random.Random(most)
    ids = np.array([chance.randrange(DOMAINS) for _ in range(60)], np.intp)
    counts = np.zeros(60, np.int32)
    places = NodePlaces(ids, DOMAINS)
    for _ in range(40):
        for row in chance.sample(range(60), chance.randint(0, most)):
            counts[row] = max(0, counts[row] + chance.choice((-1, 1, 1, 4)))
            columns.touch(row)
        assert places.catch_up(columns, counts)
        wanted = counts * DOMAINS + ids
        assert places.places.tolist() == wanted.tolist()
        assert len(places.nodes) % DOMAINS == 0
        assert np.array_equal(np.bincount(wanted, minlength=len(places.nodes)), places.nodes)


def test_too_many_places_make_no_table(columns: Columns) -> None:
    places = NodePlaces(np.zeros(60, np.intp), 1)
    counts = np.zeros(60, np.int32)
    assert places.catch_up(columns, counts)
    counts[7] = 5000
    columns.touch(7)
    assert not places.catch_up(columns, counts)


def test_scores_that_no_node_has_do_not_count() -> None:
    places = np.array([1, 2, 1], np.intp)
    table = scores_by_place(np.array([900.0, 4.5, 10.0]), places, np.array([0, 2, 1]))
    assert table.raw.tolist() == [5, 10, 5]
    normalized = table.normalized()
    assert normalized is not None
    assert normalized.tolist() == [100, 50, 100]


def test_nothing_is_said_if_all_nodes_get_the_same() -> None:
    table = scores_by_place(np.array([3.0, 7.0]), np.zeros(4, np.intp), np.array([4, 0]))
    assert table.raw.tolist() == [3, 3, 3, 3]
    assert table.normalized() is None
