"""How good the node of a pod is now, and what changed since."""

from typing import Any

from mooring.explaining.answer import answer_sentences
from mooring.explaining.explainer import Explainer
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.testing import make_node, make_pod


def pod(name: str, node: str, start: str, cpu: str = "1") -> Pod:
    given = make_pod(name, node=node, requests={"cpu": cpu, "memory": "1Gi"}).raw
    return Pod.from_dict({**given, "status": {"startTime": f"2026-11-18T{start}Z"}})


def node(name: str, created: str = "00:00:00", **more: Any) -> Node:
    given = make_node(name, **more).raw
    metadata = {**given["metadata"], "creationTimestamp": f"2026-11-18T{created}Z"}
    return Node.from_dict({**given, "metadata": metadata})


def told(*objects: Node | Pod) -> list[str]:
    found = Explainer(objects).explain("default/web")
    assert found.bound_to == "a"
    return answer_sentences(found.record, found.causes, found.standing)


WEB = pod("web", "a", "01:00:00")


def test_the_only_node() -> None:
    assert told(node("a"), WEB) == ["default/web is on a, the only node that fits."]


def test_still_the_best() -> None:
    [only] = told(node("a"), node("b", cpu="2"), WEB)
    assert only.startswith("default/web is on a, which is still the best node for it, ")
    assert " points ahead of b: NodeResourcesFit gives " in only


def test_ties_are_ties() -> None:
    [only] = told(node("a"), node("b"), node("c"), WEB)
    assert only == (
        "default/web is on a, which shares the highest total with b and c; kube-scheduler picks "
        "one of them at random."
    )


def test_pods_that_came_later() -> None:
    later = pod("big", "a", "02:00:00", cpu="6")
    first, since = told(node("a"), node("b", cpu="3"), WEB, later)
    assert first.startswith("default/web is on a, which now ranks 2nd of 2 nodes that fit, ")
    assert " points behind b: " in first
    assert since == (
        "Since it started (2026-11-18T01:00:00Z), 1 pod (1 of them on a) has come; without it, "
        "a was the best."
    )


def test_a_node_that_came_later() -> None:
    _, since = told(node("a"), node("b", "03:00:00", cpu="64"), WEB)
    assert since == (
        "Since it started (2026-11-18T01:00:00Z), 1 node has come; without it, a was the best."
    )


def test_nothing_came_and_it_is_not_the_best() -> None:
    [only] = told(node("a"), node("b", cpu="64"), WEB)
    assert "ranks 2nd of 2 nodes" in only


def test_a_node_that_would_reject_it_now() -> None:
    objects = [node("a", unschedulable=True), node("b"), WEB]
    found = Explainer(objects).explain("default/web")
    sentences = answer_sentences(found.record, found.causes, found.standing, "is unwelcome")
    assert sentences == ["default/web is on a, where it would not fit now: it is unwelcome."]


def test_the_cluster_is_as_it_was() -> None:
    later = pod("big", "a", "02:00:00", cpu="2")
    explainer = Explainer([node("a"), node("b", cpu="3"), WEB, later])
    before = explainer.cluster.columns.used("cpu").tolist()
    explainer.explain("default/web")
    assert explainer.cluster.columns.used("cpu").tolist() == before
