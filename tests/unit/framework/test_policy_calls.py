"""Shells are told when each rule begins and ends."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

import mooring as mr
from mooring.framework.policy_calls import keep_victims, reject_nodes, score_nodes
from mooring.framework.rules import Rule
from mooring.testing import make_node, make_pod

POD, NODES = make_pod(), [make_node("a"), make_node("b")]
told: list[str] = []


@contextmanager
def around(rule: Rule) -> Iterator[None]:
    told.append(f"begin {rule.name}")
    try:
        yield
    except mr.PolicyError:
        told.append(f"broken {rule.name}")
        raise
    told.append(f"end {rule.name}")


@pytest.fixture(autouse=True)
def _nothing_told() -> None:
    told.clear()


def harbour() -> mr.Policy:
    policy = mr.Policy("harbour")

    @policy.filter
    def one(pod: mr.Pod, node: mr.Node) -> bool:
        told.append(f"one {node.name}")
        return True

    @policy.filter_nodes
    def two(pod: mr.Pod, nodes: mr.Nodes) -> Sequence[bool]:
        return [True] * len(nodes)

    @policy.score
    def three(pod: mr.Pod, node: mr.Node) -> float:
        return 1 / 0

    @policy.preempt
    def four(pod: mr.Pod, node: mr.Node, victims: Sequence[mr.Pod]) -> bool:
        return False

    return policy


def test_each_filter_is_asked_between_begin_and_end() -> None:
    reject_nodes(harbour().filters, POD, NODES, around)
    assert told == ["begin one", "one a", "one b", "end one", "begin two", "end two"]


def test_a_broken_function_is_told_and_stops_the_question() -> None:
    with pytest.raises(mr.PolicyError, match="score 'three' failed on node a"):
        score_nodes(harbour().scores, POD, NODES, around)
    assert told == ["begin three", "broken three"]


def test_preempt_functions_are_told_too() -> None:
    assert list(keep_victims(harbour().preempts, POD, NODES[0], [POD], around)) == []
    assert told == ["begin four", "end four"]
