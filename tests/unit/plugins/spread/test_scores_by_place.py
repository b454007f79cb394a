"""Scores of all nodes as a table: places follow the pods that come and go."""

import random

import numpy as np
import numpy.typing as npt
import pytest

from mooring.framework.cycle import Cycle
from mooring.model.pod import TopologySpreadConstraint
from mooring.plugins.spread import scores_by_place
from mooring.plugins.spread.constraints import ZONE, SpreadConstraint
from mooring.plugins.spread.scores_by_place import NodePlaces
from mooring.plugins.spread.standing_constraints import domain_values, few_domain_values
from mooring.state.cluster import Cluster
from mooring.state.count_changes import CountChanges
from mooring.state.table import Table
from mooring.testing import make_node, make_pod

DOMAINS = 3


class Pods:
    """Pods that are counted here."""

    key = "pods"

    def __init__(self) -> None:
        self.counts = np.zeros(60, np.int32)
        self.changes = CountChanges()

    def counted(self, _cluster: Cluster) -> "Pods":
        return self

    def array(self, _table: Table) -> npt.NDArray[np.int32]:
        return self.counts

    def change(self, row: int, by: int) -> None:
        self.counts[row] += by
        self.changes.append(row, by)


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    for number in range(60):
        cluster.put_node(make_node(f"n{number}"))
    return cluster


@pytest.mark.parametrize("most", [1, 3, 59])
def test_places_are_those_of_all_rows_however_many_changed(cluster: Cluster, most: int) -> None:
    chance = random.Random(most)
    ids = np.array([chance.randrange(DOMAINS) for _ in range(60)], np.intp)
    pods = Pods()
    places = NodePlaces(ids, DOMAINS, pods)
    for _ in range(40):
        for row in chance.sample(range(60), chance.randint(0, most)):
            pods.change(row, max(-int(pods.counts[row]), chance.choice((-1, 1, 1, 4))))
        assert places.catch_up(cluster)
        wanted = pods.counts * DOMAINS + ids
        assert places.places.tolist() == wanted.tolist()
        assert len(places.nodes) % DOMAINS == 0
        assert np.array_equal(np.bincount(wanted, minlength=len(places.nodes)), places.nodes)


def test_too_many_places_make_no_table(cluster: Cluster) -> None:
    pods = Pods()
    places = NodePlaces(np.zeros(60, np.intp), 1, pods)
    assert places.catch_up(cluster)
    pods.change(7, 5000)
    assert not places.catch_up(cluster)


def test_scores_that_no_node_has_do_not_count(cluster: Cluster) -> None:
    nodes = Cycle(make_pod("p"), cluster).nodes
    places = NodePlaces(np.array([1, 2, 1] * 20, np.intp), 3, None)
    assert places.catch_up(cluster)
    values = np.array([900.0, 4.5, 10.0])
    found = places.scores([0.0], values, nodes, 2)
    assert found is not None
    assert found.tolist() == [200, 100, 200] * 20
    some = places.scores([0.0], values, nodes.subset(np.array([1, 2])), 1)
    assert some is not None
    assert some.tolist() == [50, 100]


def test_nothing_is_said_if_all_nodes_get_the_same(cluster: Cluster) -> None:
    nodes = Cycle(make_pod("p"), cluster).nodes
    places = NodePlaces(np.array([1, 0] * 30, np.intp), 2, None)
    assert places.catch_up(cluster)
    values = np.array([3.0, 7.0])
    assert places.scores([0.0], values, nodes, 1) is not None
    assert places.scores([0.0], values, nodes.subset(np.array([1, 3])), 1) is None


def test_many_numbers_come_out_as_few_do(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(7)
    nodes = Cycle(make_pod("p"), cluster).nodes
    for _ in range(50):
        ids = np.array([chance.randrange(DOMAINS) for _ in range(60)], np.intp)
        pods = Pods()
        for row in range(60):
            pods.change(row, chance.randrange(3))
        places = NodePlaces(ids, DOMAINS, pods)
        assert places.catch_up(cluster)
        by_pods = [count * 1.5 for count in range(len(places.nodes) // DOMAINS)]
        by_domain = np.array([chance.choice((0.0, 0.5, 2.5, 3.25)) for _ in range(DOMAINS)])
        found = []
        for few in (0, 64):
            monkeypatch.setattr(scores_by_place, "_FEW", few)
            scores = places.scores(by_pods, by_domain, nodes, 2)
            found.append(None if scores is None else scores.tolist())
        assert found[0] == found[1]


def test_few_domains_have_the_values_that_many_have() -> None:
    chance = random.Random(3)
    for zones in (("a", "b", "c"), ("a", "", "b")):
        cluster = Cluster()
        for number in range(6):
            zone = {ZONE: zones[number % 3]} if number else {}
            cluster.put_node(make_node(f"n{number}", labels=zone))
        column = cluster.columns.labels(ZONE)
        for max_skew in (1, 5):
            source = TopologySpreadConstraint(max_skew=max_skew, topology_key=ZONE)
            constraint = SpreadConstraint(source, None)
            sums = np.array([chance.randrange(200) for _ in column.values], np.int64)
            many = domain_values(sums, column, constraint, 3)
            assert few_domain_values(sums, column, constraint, 3) == many.tolist()
