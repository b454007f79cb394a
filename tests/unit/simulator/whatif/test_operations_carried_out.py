"""Operations on a fork: what each of them does to pods and nodes."""

from typing import Any

from mooring.explaining.explainer import Explainer
from mooring.simulator.forked_scheduler import Deciders
from mooring.simulator.node_groups import NodeGrouping, Prices
from mooring.simulator.whatif.operations import read_operations
from mooring.simulator.whatif.report import WhatIfReport, WhatIfSettings, what_if
from mooring.testing import make_node, make_pod


def owned(name: str, kind: str, owner: str, **pod: Any) -> dict[str, Any]:
    labels = {"app": owner.split("-", maxsplit=1)[0]}
    if kind == "ReplicaSet":
        labels["pod-template-hash"] = owner.rpartition("-")[2]
    made = make_pod(name, labels=labels, **pod).raw
    reference = {"kind": kind, "name": owner, "uid": owner, "controller": True}
    made["metadata"]["ownerReferences"] = [reference]
    return {"apiVersion": "v1", "kind": "Pod", **made}


def web(name: str, **pod: Any) -> dict[str, Any]:
    return owned(name, "ReplicaSet", "web-ab", **{"requests": {"cpu": "1"}, **pod})


def node(name: str, cpu: str = "2", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", **make_node(name, cpu=cpu, **fields).raw}


def asked(objects: list[Any], text: str, *likes: str) -> WhatIfReport:
    explainer = Explainer(objects)
    deciders = Deciders(explainer.profiles, explainer.registry)
    prices = Prices(NodeGrouping(explainer.cluster.nodes.values()))
    settings = WhatIfSettings(deciders, lambda _: (explainer.profiles, explainer.registry), prices)
    before = sorted((pod.key, pod.node_name) for pod in explainer.cluster.all_pods())
    report = what_if(explainer, read_operations(text.split(), likes), settings)
    after = sorted((pod.key, pod.node_name) for pod in explainer.cluster.all_pods())
    assert before == after, "the cluster itself was touched"
    return report


def test_a_pending_pod_of_higher_priority_preempts() -> None:
    low = web("low", node="n1", requests={"cpu": "2"})
    batch = owned("batch-1", "Job", "batch", requests={"cpu": "2"})
    report = asked([node("n1"), low, batch], "priority job/batch 100")
    assert [(one.pod, one.target) for one in report.placed] == [("default/batch-1", "n1")]
    assert [(one.pod, one.why) for one in report.newly_pending] == [
        ("default/low", "preempted by default/batch-1")
    ]


def test_a_priority_class_that_never_preempts() -> None:
    low = web("low", node="n1", requests={"cpu": "2"})
    batch = owned("batch-1", "Job", "batch", requests={"cpu": "2"})
    polite = {
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": "polite"}, "value": 100, "preemptionPolicy": "Never",
    }  # fmt: skip
    report = asked([polite, node("n1"), low, batch], "priority job/batch polite")
    assert report.left_pending == 1
    assert not report.moved
    assert not report.newly_pending


def test_a_bare_pod_is_lost_with_a_drain() -> None:
    bare = {"apiVersion": "v1", "kind": "Pod", **make_pod("bare", node="n1").raw}
    report = asked([node("n1"), node("n2"), bare], "drain n1")
    assert [one.pod for one in report.lost] == ["default/bare"]
    assert not report.fine


def test_a_pod_that_is_being_deleted_does_not_come_back_twice() -> None:
    ending = web("ending", node="n1")
    ending["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    report = asked([node("n1"), node("n2"), ending, web("new", node="n1")], "drain n1")
    assert [one.pod for one in report.moved] == ["default/new"]
    assert not report.lost


def test_new_nodes_have_the_pods_of_daemon_sets_first() -> None:
    agent = owned("agent-1", "DaemonSet", "agent", requests={"cpu": "1500m"}, node="n1")
    pending = [web(f"p{number}") for number in range(2)]
    report = asked([node("n1"), agent, *pending], "add 3", "n1")
    assert report.nodes_after == 4
    assert report.left_pending == 2
    report = asked([node("n1", cpu="4"), agent, *pending], "add 1", "n1")
    assert report.left_pending == 0


def test_new_nodes_have_no_troubles_of_their_model() -> None:
    tired = node("n1")
    tired["spec"] = {
        "unschedulable": True,
        "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
    }
    report = asked([tired, web("p")], "add 1", "n1")
    assert [(one.pod, one.target) for one in report.placed] == [("default/p", "n1-new-1")]


def test_who_is_scaled_down_first() -> None:
    pods = [web("a", node="n1"), web("b", node="n1"), web("c", node="n2"), web("d")]
    objects = [node("n1"), node("n2", cpu="1"), *pods]
    report = asked(objects, "scale deployment/web 3")
    assert [one.pod for one in report.deleted] == ["default/d"]
    report = asked(objects, "scale deployment/web 2")
    assert {one.pod for one in report.deleted} > {"default/d"}
    assert {one.source for one in report.deleted} == {"", "n1"}
    report = asked(objects, "scale deployment/web 0")
    assert len(report.deleted) == 4


def test_a_stateful_set_grows_and_shrinks_at_its_end() -> None:
    pods = [owned(f"db-{number}", "StatefulSet", "db", node="n1") for number in range(3)]
    grown = asked([node("n1"), *pods], "scale sts/db 5")
    assert [one.pod for one in grown.created] == ["default/db-3", "default/db-4"]
    shrunk = asked([node("n1"), *pods], "scale sts/db 1")
    assert [one.pod for one in shrunk.deleted] == ["default/db-1", "default/db-2"]


def test_a_restart_schedules_each_pod_anew() -> None:
    pods = [web("a", node="n1"), web("b", node="n1")]
    report = asked([node("n1"), node("n2"), *pods], "restart deployment/web")
    assert sorted(one.target for one in report.moved) == ["n1", "n2"]


def test_operations_work_on_what_those_before_left() -> None:
    report = asked([node("n1"), web("a", node="n1")], "add 1 then drain n1 then remove n1", "n1")
    assert [(one.pod, one.target) for one in report.moved] == [("default/a", "n1-new-1")]
    assert (report.nodes_before, report.nodes_after) == (1, 1)
    assert report.fine
