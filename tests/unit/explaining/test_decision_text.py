from collections.abc import Sequence
from typing import Any

from mooring.explaining.decision_text import (
    compare,
    joined_names,
    outcome_sentence,
    preemption_text,
    runner_up,
)
from mooring.explaining.explainer import Explainer
from mooring.framework.decisions.record import Record
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.testing import make_node, make_pod


def record(objects: Sequence[KubeObject], pod: Pod | None = None) -> Record:
    return Explainer(objects).record(pod or make_pod("web", requests={"cpu": "1"}))


def test_the_winner_its_margin_and_who_made_it() -> None:
    nodes = [make_node("a", cpu="8"), make_node("b", cpu="4"), make_node("c", cpu="2")]
    found = record(nodes)
    assert outcome_sentence(found) == (
        "default/web goes to a with 464 points, 9 more than b: "
        "NodeResourcesFit gives 6 more and NodeResourcesBalancedAllocation gives 3 more."
    )
    second = runner_up(found)
    assert second == 1
    margin = compare(found, 0, 1)
    assert margin.points == sum(points for _, points in margin.plugins) == 9


def test_what_speaks_against_the_winner_comes_last() -> None:
    nodes = [
        make_node("a", cpu="4", images=["big:1"]),
        make_node("b", cpu="8"),
    ]
    found = record(nodes, make_pod("web", requests={"cpu": "1"}, images=["big:1"]))
    text = outcome_sentence(found)
    best = found.nodes[found.best[0]]
    assert text.startswith(f"default/web goes to {best} with ")
    margin = compare(found, found.best[0], 1 - found.best[0])
    against = [name for name, points in margin.plugins if points < 0]
    for name in against:
        assert f"{name} gives" in text.partition(", ")[2]


def test_a_tie_is_left_to_chance() -> None:
    nodes = [make_node("a"), make_node("b"), make_node("c", cpu="2")]
    assert outcome_sentence(record(nodes)).startswith(
        "default/web goes to a or b: they share the highest total, 464, and kube-scheduler picks "
        "one of them at random; the next, c, has "
    )
    assert outcome_sentence(record(nodes[:2])).endswith("picks one of them at random.")
    assert runner_up(record(nodes[:2])) is None


def test_the_only_node_that_fits() -> None:
    nodes = [make_node("a"), make_node("b", unschedulable=True)]
    assert outcome_sentence(record(nodes)) == "default/web goes to a, the only node that fits."


def test_a_nominated_node() -> None:
    pod = Pod.from_dict({"metadata": {"name": "web"}, "status": {"nominatedNodeName": "b"}})
    text = outcome_sentence(record([make_node("a"), make_node("b", cpu="1")], pod))
    assert text.startswith("default/web goes to b, its nominated node")


def test_a_pending_pod_in_kube_schedulers_own_words() -> None:
    text = outcome_sentence(
        record([make_node("a", unschedulable=True), make_node("b", cpu="500m")])
    )
    assert text.startswith(
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."
    )


def test_a_pod_that_is_held_back() -> None:
    pod = make_pod(spec={"schedulingGates": [{"name": "g"}]})
    assert outcome_sentence(record([make_node("a")], pod)) == "waiting for scheduling gates: [g]"


def test_a_cluster_without_nodes() -> None:
    assert outcome_sentence(record([])) == "no nodes available to schedule pods"


class TestPreemption:
    def objects(self, count: int) -> list[KubeObject]:
        nodes = [make_node(f"n{number}", cpu="1") for number in range(count)]
        pods = [make_pod(f"low{n}", requests={"cpu": "1"}, node=f"n{n}") for n in range(count)]
        return [*nodes, *pods]

    def vip(self, **spec: Any) -> Pod:
        return make_pod("vip", requests={"cpu": "1"}, priority=10, spec=spec)

    def test_who_would_be_preempted(self) -> None:
        assert preemption_text(record(self.objects(1), self.vip())) == (
            "The scheduler would preempt 1 pod of lower priority on n0: default/low0."
        )

    def test_several_nodes_alike(self) -> None:
        assert "on n0 (or 2 more nodes alike): default/low0." in preemption_text(
            record(self.objects(3), self.vip())
        )

    def test_nobody_is_preempted_for_a_pod_that_must_not(self) -> None:
        assert preemption_text(record(self.objects(1), self.vip(preemptionPolicy="Never"))) == ""

    def test_nobody_is_preempted_where_it_fits(self) -> None:
        assert preemption_text(record([make_node("a")])) == ""


def test_names_in_a_sentence() -> None:
    assert joined_names([], "and") == "none"
    assert joined_names(["a"], "and") == "a"
    assert joined_names(["a", "b"], "or") == "a or b"
    assert joined_names(["a", "b", "c", "d"], "and") == "a, b, c and d"
    assert joined_names(["a", "b", "c", "d", "e"], "and") == "a, b, c and 2 more"
