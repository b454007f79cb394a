"""What a preempt function may return, and what becomes of the victims."""

from collections.abc import Sequence

import numpy as np
import pytest

import mooring as mr
from mooring.framework.policy_calls import keep_victims
from mooring.framework.rules import PreemptRule
from mooring.testing import make_node, make_pod

NODE = make_node("a")
POD = make_pod()
VICTIMS = [make_pod(name, node="a") for name in ("u", "v", "w")]


def rule(answer: object) -> PreemptRule:
    return PreemptRule(kind="preempt", name="ebb", function=lambda _pod, _node, _victims: answer)


def kept(answer: object) -> list[str]:
    return [pod.name for pod in rule(answer).remaining(POD, NODE, VICTIMS)]


def wrong(answer: object) -> mr.PolicyError:
    with pytest.raises(mr.PolicyError) as caught:
        kept(answer)
    assert (caught.value.function, caught.value.node) == ("ebb", "a")
    return caught.value


@pytest.mark.parametrize("answer", [None, True, np.True_, mr.accept()])
def test_a_yes_keeps_all_victims(answer: object) -> None:
    assert kept(answer) == ["u", "v", "w"]


@pytest.mark.parametrize("answer", [False, np.False_, "protected", "", mr.reject("protected"), []])
def test_a_no_drops_the_node(answer: object) -> None:
    assert kept(answer) == []


def test_some_victims_remain_in_their_old_order() -> None:
    assert kept([VICTIMS[2], VICTIMS[0]]) == ["u", "w"]
    assert kept((VICTIMS[1], VICTIMS[1])) == ["v"]


def test_an_invented_victim_is_an_error() -> None:
    error = wrong([VICTIMS[0], make_pod("stranger")])
    assert str(error).startswith(
        "preempt 'ebb' named default/stranger on node a, which is not one of"
    )


def test_a_look_alike_of_a_victim_is_an_invented_one() -> None:
    assert "named default/u on node a" in str(wrong([make_pod("u", node="a")]))


@pytest.mark.parametrize("answer", [1, ["u"], {"u": True}, [None], object()])
def test_anything_else_is_an_error_that_names_function_and_node(answer: object) -> None:
    assert "preempt 'ebb' returned " in str(wrong(answer))
    assert "for node a; it must return a Verdict, a bool" in str(wrong(answer))


def test_an_exception_is_an_error_that_names_function_and_node() -> None:
    def fail(_pod: mr.Pod, _node: mr.Node, victims: Sequence[mr.Pod]) -> bool:
        return victims[7].priority > 0

    broken = PreemptRule(kind="preempt", name="ebb", function=fail)
    with pytest.raises(mr.PolicyError, match="preempt 'ebb' failed on node a: IndexError"):
        broken.remaining(POD, NODE, VICTIMS)


def test_each_function_sees_what_the_one_before_left() -> None:
    seen: list[list[str]] = []

    def drop_first(_pod: mr.Pod, _node: mr.Node, victims: Sequence[mr.Pod]) -> Sequence[mr.Pod]:
        seen.append([pod.name for pod in victims])
        return victims[1:]

    rules = [
        PreemptRule(kind="preempt", name=name, function=drop_first) for name in ("x", "y", "z", "n")
    ]
    assert list(keep_victims(rules[:2], POD, NODE, VICTIMS)) == VICTIMS[2:]
    seen.clear()
    assert list(keep_victims(rules, POD, NODE, VICTIMS)) == []
    assert seen == [["u", "v", "w"], ["v", "w"], ["w"]]  # nothing is left to ask the fourth about


def test_without_preempt_functions_all_victims_remain() -> None:
    assert keep_victims([], POD, NODE, VICTIMS) is VICTIMS
