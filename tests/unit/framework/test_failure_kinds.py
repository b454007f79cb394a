"""Which failures of a policy's function are alike: words of the code say it, never a pod's."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mooring as mr
from mooring.framework.binding import Binding
from mooring.framework.foreign import Interruption
from mooring.framework.rules import BindRule, FilterRule, PreemptRule, ScoreRule
from mooring.testing import make_node, make_pod

POD = make_pod("web")
NODES = [make_node("a"), make_node("b")]
BINDING = Binding(namespace="default", name="web", uid="1", node_name="a", pod=POD)


class OddError(Exception):
    """Has to be told by another."""

    def __str__(self) -> str:
        return "odd"


class Word:
    """Looks like a word that somebody invented."""

    def __init__(self, word: str) -> None:
        self._word = word

    def __repr__(self) -> str:
        return self._word


def kind(ask: Callable[[], object]) -> str:
    with pytest.raises(mr.PolicyError) as found:
        ask()
    return found.value.kind


def score(function: Callable[..., Any]) -> str:
    rule = ScoreRule(kind="score", name="rate", function=function)
    return kind(lambda: rule.scores(POD, NODES))


def raises(error: BaseException) -> Callable[..., Any]:
    def function(*_: object) -> None:
        raise error

    return function


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (KeyError("x"), "KeyError"),
        (SystemExit(3), "SystemExit"),
        (Interruption("late"), "Interruption"),
        (OddError(), "OddError"),
        (StopIteration(), "StopIteration"),
        (mr.PolicyError("no", function="other"), "PolicyError"),
    ],
)
def test_what_it_raised(error: BaseException, expected: str) -> None:
    assert score(raises(error)) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (float("nan"), "returned nan"),
        (None, "returned NoneType"),
        (101, "returned a number out of range"),
        (-1.5, "returned a number out of range"),
        ("pod-17", "returned str"),
        (Word("web"), "returned Word"),
        (Word("db"), "returned Word"),
    ],
)
def test_what_it_returned(answer: object, expected: str) -> None:
    assert score(lambda *_: answer) == expected


def test_what_the_others_returned() -> None:
    every = FilterRule(kind="filter_nodes", name="f", function=lambda *_: Word("web"))
    few = FilterRule(kind="filter_nodes", name="f", function=lambda *_: [True])
    array = FilterRule(kind="filter_nodes", name="f", function=lambda *_: np.zeros(3))
    one = FilterRule(kind="filter", name="f", function=lambda *_: Word("web"))
    assert kind(lambda: every.rejections(POD, NODES)) == "returned Word"
    assert kind(lambda: few.rejections(POD, NODES)) == "returned a wrong number"
    assert kind(lambda: array.rejections(POD, NODES)) == "returned an array"
    assert kind(lambda: one.rejections(POD, NODES)) == "returned Word"
    numbers = ScoreRule(kind="score_nodes", name="s", function=lambda *_: [1, 2, 3])
    assert kind(lambda: numbers.scores(POD, NODES)) == "returned a wrong number"
    keep = PreemptRule(kind="preempt", name="p", function=lambda *_: Word("web"))
    adds = PreemptRule(kind="preempt", name="p", function=lambda *_: [make_pod("another")])
    assert kind(lambda: keep.remaining(POD, NODES[0], [])) == "returned Word"
    assert kind(lambda: adds.remaining(POD, NODES[0], [])) == "named others"
    bind = BindRule(kind="bind", name="b", function=lambda *_: Word("web"))
    assert kind(lambda: bind.prepare(BINDING)) == "returned Word"


def test_an_answer_that_fails_when_it_is_looked_at() -> None:
    class Answers(list[float]):
        def __len__(self) -> int:  # noqa: PLE0303 - it never does
            sys.exit(3)

    rule = ScoreRule(kind="score_nodes", name="s", function=lambda *_: Answers())
    assert kind(lambda: rule.scores(POD, NODES)) == "SystemExit"
