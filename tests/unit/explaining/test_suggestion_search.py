"""Suggestions: the smallest change comes first, and every claim holds on a cluster built anew."""

from mooring.explaining.explainer import Explainer
from mooring.testing import make_node, make_pod
from tests.unit.explaining.suggested import suggest, texts


def test_two_changes_together() -> None:
    node = make_node("a", cpu="2", taints=[{"key": "t", "effect": "NoSchedule"}])
    [found, *_] = suggest([node], make_pod(requests={"cpu": "4"}))
    assert found.combination.text == (
        "tolerate the taint t:NoSchedule and request 2 less cpu (2 instead of 4)"
    )
    assert found.combination.cost == 5.0


def test_four_changes_are_no_suggestion() -> None:
    node = make_node(
        "a", cpu="2", unschedulable=True, taints=[{"key": "t", "effect": "NoSchedule"}]
    )
    pod = make_pod(requests={"cpu": "4"}, spec={"nodeSelector": {"x": "1"}})
    assert suggest([node], pod) == []


def test_one_node_in_question() -> None:
    objects = [make_node("a"), make_node("b", unschedulable=True)]
    assert Explainer(objects).explain(make_pod()).suggestions == ()
    assert texts(suggest(objects, make_pod(), node="b"))[0] == "uncordon b"


def test_a_cluster_without_nodes() -> None:
    assert suggest([], make_pod()) == []


def test_more_of_the_same_is_not_mentioned() -> None:
    taints = [{"key": "t", "effect": "NoSchedule"}]
    objects = [make_node("a", cpu="2"), make_node("b", cpu="1", taints=taints)]
    found = suggest(objects, make_pod(requests={"cpu": "4"}))
    assert texts(found) == ["request 2 less cpu (2 instead of 4)"]
