# ruff: noqa: ARG005 - a policy's function takes what it is given
"""Answers that are kept are those that the functions would give now."""

from typing import Any

import pytest

import mooring as mr
from mooring.extender import kept_answers
from mooring.extender.answers import UNKNOWN_NODE, Answers
from mooring.model.change import Gone, Put
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod
from tests.unit.extender.answers_bodies import ask
from tests.unit.extender.asgi import args

THERE = make_pod("there", requests={"cpu": "3"}, node="b")


class Counted:
    """A policy whose functions say that they are pure, and which nodes they were called for."""

    def __init__(self, *, pure: bool = True) -> None:
        self.calls: list[str] = []
        self.policy = mr.Policy("p")

        @self.policy.filter(pure=pure)
        def room(pod: mr.Pod, node: mr.Node) -> bool | str:
            self.calls.append(node.name)
            return node.free["cpu"] >= pod.requests["cpu"] or "too full"

        @self.policy.score(pure=pure)
        def old(pod: mr.Pod, node: mr.Node) -> float:
            self.calls.append(node.name)
            return 100 if node.labels.get("age") == "old" else 0

    def called(self) -> list[str]:
        """Since the last time."""
        calls, self.calls[:] = self.calls[:], []
        return calls


def nodes(*names: str) -> Cluster:
    cluster = Cluster()
    for name in names:
        cluster.put(make_node(name, cpu="4"))
    return cluster


def body(name: str, names: str, cpu: str = "2") -> bytes:
    return args(make_pod(name, requests={"cpu": cpu}), names=list(names))


def scores(reply: Any) -> dict[str, int]:
    return {one["Host"]: one["Score"] for one in reply}


def test_functions_are_called_once_for_pods_that_are_alike() -> None:
    counted = Counted()
    answers = Answers(counted.policy, nodes(*"abc"))
    assert ask(answers, "filter", body("one", "abc"))["NodeNames"] == ["a", "b", "c"]
    assert counted.called() == ["a", "b", "c"]
    assert ask(answers, "filter", body("two", "cab"))["NodeNames"] == ["c", "a", "b"]
    assert scores(ask(answers, "prioritize", body("two", "cab"))) == {"a": 0, "b": 0, "c": 0}
    assert counted.called() == ["c", "a", "b"]
    assert scores(ask(answers, "prioritize", body("three", "ba"))) == {"b": 0, "a": 0}
    assert counted.called() == []


def test_another_kind_of_pod_has_answers_of_its_own() -> None:
    counted = Counted()
    answers = Answers(counted.policy, nodes(*"ab"))
    ask(answers, "filter", body("one", "ab"))
    reply = ask(answers, "filter", body("large", "ab", cpu="5"))
    assert reply["FailedNodes"] == {"a": "too full", "b": "too full"}
    assert counted.called() == ["a", "b"] * 2


def test_they_are_called_again_for_nodes_that_changed() -> None:
    counted, cluster = Counted(), nodes(*"abc")
    answers = Answers(counted.policy, cluster)
    for verb in ("filter", "prioritize"):
        ask(answers, verb, body("one", "abc"))
    counted.called()
    cluster.apply([Put(THERE)])
    reply = ask(answers, "filter", body("two", "cba"))
    assert (reply["NodeNames"], reply["FailedNodes"]) == (["c", "a"], {"b": "too full"})
    assert counted.called() == ["b"]
    cluster.apply([Put(make_node("c", cpu="4", labels={"age": "old"}))])
    assert scores(ask(answers, "prioritize", body("two", "abc"))) == {"a": 0, "b": 0, "c": 10}
    assert counted.called() == ["b", "c"]
    cluster.apply([Gone(THERE)])
    assert ask(answers, "filter", body("two", "abc"))["FailedNodes"] == {}


def test_a_node_that_is_gone_is_unknown() -> None:
    counted, cluster = Counted(), nodes(*"abc")
    answers = Answers(counted.policy, cluster)
    for verb in ("filter", "prioritize"):
        ask(answers, verb, body("one", "abc"))
    cluster.apply([Gone(make_node("b", cpu="4"))])
    reply = ask(answers, "filter", body("two", "abc"))
    assert (reply["NodeNames"], reply["FailedNodes"]) == (["a", "c"], {"b": UNKNOWN_NODE})
    assert scores(ask(answers, "prioritize", body("two", "abcx"))) == dict.fromkeys("abcx", 0)
    cluster.apply([Put(make_node("b", cpu="4", labels={"age": "old"}))])
    assert ask(answers, "filter", body("two", "abc"))["NodeNames"] == ["a", "b", "c"]
    assert scores(ask(answers, "prioritize", body("two", "abc")))["b"] == 10


def test_functions_that_may_read_something_else_are_called_every_time() -> None:
    counted = Counted(pure=False)
    answers = Answers(counted.policy, nodes(*"ab"))
    for _ in range(2):
        ask(answers, "filter", body("one", "ab"))
        assert counted.called() == ["a", "b"]


def test_an_error_is_not_kept() -> None:
    policy, broken = mr.Policy("p"), [True]

    @policy.filter(pure=True)
    def sometimes(pod: mr.Pod, node: mr.Node) -> bool:
        return not (broken[0] and node.name == "b" and 1 / 0)

    answers = Answers(policy)
    with pytest.raises(mr.PolicyError, match="ZeroDivisionError"):
        ask(answers, "filter", body("one", "abc"))
    broken.clear()
    broken.append(False)
    assert ask(answers, "filter", body("two", "abc"))["NodeNames"] == ["a", "b", "c"]


def test_names_that_a_caller_makes_up_are_not_kept_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kept_answers, "_MOST_BYTES", 2_000)
    policy = mr.Policy("p")
    policy.filter(name="all", pure=True)(lambda pod, node: True)
    answers = Answers(policy)
    for number in range(20):
        names = [f"n{number}-{one}" for one in range(3)] + ["x" * 300]
        assert ask(answers, "filter", args(make_pod("p"), names=names))["NodeNames"] == names
        names = [f"n{number}-{one}" for one in range(3)]
        assert ask(answers, "filter", args(make_pod("p"), names=names))["NodeNames"] == names
    assert answers._kept._kept.size <= 2_000


@pytest.mark.parametrize("long", ["reason", "pod"])
def test_long_reasons_and_large_pods_count(long: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_answers, "_MOST_BYTES", 10_000)
    calls = []
    policy = mr.Policy("p")

    @policy.filter(pure=True)
    def rejects(pod: mr.Pod, node: mr.Node) -> str:
        calls.append(node.name)
        return "x" * 900 if long == "reason" else "no"

    answers = Answers(policy, nodes(*"abc"))
    note = "y" * 4_000 if long == "pod" else ""

    def asked(number: int) -> int:
        calls.clear()
        pod = make_pod("p", labels={"number": str(number)}, annotations={"note": note})
        ask(answers, "filter", args(pod, names=list("abc")))
        return len(calls)

    assert [asked(number) for number in (1, 1, 2, 2, 3, 4)] == [3, 0, 3, 0, 3, 3]
    assert asked(1) == 3
    assert answers._kept._kept.size <= 10_000


def test_nodes_that_change_all_the_time_do_not_add_up() -> None:
    counted = Counted()
    cluster = nodes(*"abc")
    answers = Answers(counted.policy, cluster)
    sizes = set()
    for number in range(5):
        cluster.put(make_node("a", cpu="4", labels={"number": str(number)}))
        ask(answers, "filter", body("p", "abc"))
        sizes.add(answers._kept._kept.size)
    assert len(sizes) == 1
