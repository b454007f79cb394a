"""Answers about rows: one by one, some at once and all of them, the numbers are the same."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mooring.framework.cycle import Cycle
from mooring.framework.decisions.row_answers import RowAnswers
from mooring.plugins.resources.node_amounts import NodeAmounts, NodeAmountsReader
from mooring.plugins.resources.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocation,
)
from mooring.plugins.resources.node_resources_fit import NodeResourcesFit
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import cluster_of, made

BOTH = ("cpu", "memory")
GPU = "example.com/gpu"
NODES = 30
HUGE = str(2**50)


def nodes(**more: Any) -> Cluster:
    return cluster_of(
        *(
            make_node(f"n{number}", cpu=str(1 + number % 3), memory=f"{2 + number % 5}Gi", **more)
            for number in range(NODES)
        )
    )


def amounts_of(cluster: Cluster) -> NodeAmounts:
    amounts = NodeAmountsReader().read(cluster.columns, BOTH)
    assert amounts is not None
    return amounts


def put(cluster: Cluster, count: int, chance: random.Random) -> None:
    """So many pods come; some ask for nothing, and nodes may be overcommitted."""
    for _ in range(count):
        requests = chance.choice(
            ({}, {"cpu": "300m"}, {"cpu": "1", "memory": "900Mi"}, {"ephemeral-storage": "1Gi"})
        )
        name = f"p{cluster.pods}"
        cluster.put(make_pod(name, requests=requests, node=f"n{chance.randrange(NODES)}"))


def strategy(kind: str, cpu: int = 1, memory: int = 1) -> dict[str, Any]:
    weights = [{"name": "cpu", "weight": cpu}, {"name": "memory", "weight": memory}]
    return {"scoringStrategy": {"type": kind, "resources": weights}}


STRATEGIES = (
    strategy("LeastAllocated"),
    strategy("LeastAllocated", 3, 5),
    strategy("MostAllocated"),
    strategy("MostAllocated", 1, 2),
)
PODS: Sequence[dict[str, str]] = (
    {},
    {"cpu": "500m", "memory": "300Mi"},
    {"memory": "3Gi"},
    {"cpu": "1", "ephemeral-storage": "1Gi"},
    {"cpu": HUGE, "memory": HUGE},
)


@pytest.mark.parametrize("args", STRATEGIES)
@pytest.mark.parametrize("requests", PODS)
def test_some_rows_have_the_answers_of_each_row_and_of_all(
    args: dict[str, Any], requests: dict[str, str]
) -> None:
    chance = random.Random(11)
    cluster = nodes()
    fit = made(NodeResourcesFit, **args)
    balance = made(NodeResourcesBalancedAllocation)
    pod = make_pod("new", requests=requests)
    cycle = Cycle(pod, cluster)
    fits, allocation = fit.row_filter(cycle), fit.row_score(cycle)
    even = balance.row_score(cycle) if requests else None
    for count in (0, 40, 1, 3, 20):  # with more changes than are looked at one by one, and fewer
        put(cluster, count, chance)
        rows = np.array(chance.sample(range(NODES), 12), np.intp)
        cycle = Cycle(pod, cluster)
        verdicts = fit.filter_nodes(pod, cycle.nodes)
        accepted = np.ones(NODES, np.int64) if verdicts is None else verdicts.choice == 0
        check(fits, rows, accepted)
        check(allocation, rows, fit.score_nodes(pod, cycle.nodes))
        if even is not None:
            check(even, rows, balance.score_nodes(pod, cycle.nodes))


@pytest.mark.parametrize("requests", [{"memory": "1"}, {"cpu": "1", "memory": "2Gi"}])
def test_sums_beyond_64_bits_wrap_around_for_one_row_as_for_all(requests: dict[str, str]) -> None:
    # As in kube-scheduler: what is left of such a node is less than nothing.
    largest, half = str(2**63 - 1), str(2**62)
    cluster = cluster_of(
        *(
            make_node(f"n{number}", memory=size)
            for number, size in enumerate((largest, half, "1Gi"))
        )
    )
    for number in range(9):
        cluster.put(make_pod(f"p{number}", requests={"memory": half}, node=f"n{number % 3}"))
    fit, balance = made(NodeResourcesFit), made(NodeResourcesBalancedAllocation)
    pod = make_pod("new", requests=requests)
    cycle = Cycle(pod, cluster)
    verdicts = fit.filter_nodes(pod, cycle.nodes)
    accepted = np.ones(3, np.int64) if verdicts is None else verdicts.choice == 0
    check(fit.row_filter(cycle), np.arange(3), accepted)
    check(balance.row_score(cycle), np.arange(3), balance.score_nodes(pod, cycle.nodes))
    for row in range(3):
        alone = fit.filter_nodes(pod, cycle.nodes.subset(np.array([row])))
        assert (alone is None) == accepted[row]


def check(answers: RowAnswers, rows: Any, expected: Any) -> None:
    assert answers.some(rows).tolist() == expected[rows].tolist()
    assert [answers.one(row) for row in rows.tolist()] == expected[rows].tolist()


def test_amounts_follow_the_rows_that_change() -> None:
    chance = random.Random(5)
    cluster = nodes()
    amounts = amounts_of(cluster)
    every = np.arange(NODES)
    for count in (30, 1, 2, 4, 30, 1):
        put(cluster, count, chance)
        kept, anew = amounts.at(every), amounts_of(Cluster.fork(cluster)).at(every)
        assert kept is not None
        assert anew is not None
        assert [one.tolist() for one in kept] == [one.tolist() for one in anew]
        assert kept.used.tolist() == cluster.columns.used("cpu").tolist()
        memory = cluster.columns.allocatable("memory")
        assert kept.other_left.tolist() == (memory - cluster.columns.used("memory")).tolist()
        assert kept.other_free.tolist() == (memory - cluster.columns.nonzero_memory).tolist()


def test_amounts_are_gathered_once_for_all_who_ask_about_some_rows() -> None:
    cluster = nodes()
    amounts, rows = amounts_of(cluster), np.arange(3)
    before = amounts.at(rows)
    assert amounts.at(rows) is before
    cluster.put(make_pod("p", requests={"cpu": "1"}, node="n1"))
    after = amounts.at(rows)
    assert after is not None
    assert after.used.tolist() == [0, 1000, 0]


@pytest.mark.parametrize("first", [False, True])
def test_more_than_floats_can_tell_is_left_to_columns(*, first: bool) -> None:
    cluster = nodes()
    amounts, rows = amounts_of(cluster), np.arange(NODES)
    if not first:
        assert amounts.at(rows) is not None
    cluster.put(make_pod("huge", requests={"memory": HUGE}, node="n1"))
    assert amounts.at(rows) is None
    fit = made(NodeResourcesFit)
    pod = make_pod("new", requests={"memory": "1Gi"})
    answers = fit.row_filter(Cycle(pod, cluster))
    assert [bool(one) for one in answers.some(rows)] == [row != 1 for row in range(NODES)]
    scores = fit.row_score(Cycle(pod, cluster))
    assert scores.some(rows).tolist() == [scores.one(row) for row in range(NODES)]


@pytest.mark.parametrize("names", [("cpu",), ("cpu", "memory", "ephemeral-storage"), ("cpu", GPU)])
def test_there_are_amounts_of_two_resources_that_every_node_has(names: tuple[str, ...]) -> None:
    assert NodeAmountsReader().read(nodes(extended={GPU: 1}).columns, names) is None


def test_a_node_that_has_nothing_of_a_resource_is_left_to_columns() -> None:
    cluster = nodes()
    cluster.put(make_node("without", cpu="1", memory="0"))
    assert NodeAmountsReader().read(cluster.columns, BOTH) is None


def test_plugins_share_amounts_until_what_nodes_have_changes() -> None:
    cluster = nodes()
    columns, first, second = cluster.columns, NodeAmountsReader(), NodeAmountsReader()
    amounts = first.read(columns, BOTH)
    assert second.read(columns, BOTH) is amounts
    columns.forget_results()
    assert second.read(columns, BOTH) is amounts  # kinds of pods go on using them
    cluster.put(make_node("n0", cpu="7", memory="2Gi"))
    anew = first.read(columns, BOTH)
    assert anew is not None
    assert anew is not amounts
    found = anew.at(np.arange(1))
    assert found is not None
    assert found.capacity.tolist() == [7000]


def test_a_pod_that_asks_for_nothing_that_counts_has_the_same_score_everywhere() -> None:
    gpus = {"type": "LeastAllocated", "resources": [{"name": GPU, "weight": 1}]}
    fit = made(NodeResourcesFit, scoringStrategy=gpus)
    cycle = Cycle(make_pod("new", requests={"cpu": "1"}), nodes(extended={GPU: 1}))
    check(fit.row_score(cycle), np.arange(5), np.zeros(NODES, np.int64))
