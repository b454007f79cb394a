"""What helps pods that were rejected because of other pods nearby."""

from collections.abc import Sequence
from typing import Any

import pytest

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.workloads import Namespace
from mooring.plugins.affinity.inter_pod_affinity import InterPodAffinity
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import with_status
from tests.unit.plugins.requeueing import plugin_on, requeues

ZONE = "zone"
HOST = "kubernetes.io/hostname"
Term = dict[str, Any]


def term(app: str, key: str = ZONE, **more: Any) -> Term:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key, **more}


def pod(
    name: str = "p",
    *,
    near: Sequence[Term] = (),
    apart: Sequence[Term] = (),
    app: str = "",
    **more: Any,
) -> Pod:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = {
        kind: {required: list(terms)}
        for kind, terms in (("podAffinity", near), ("podAntiAffinity", apart))
        if terms
    }
    labels = {"app": app} if app else {}
    return make_pod(name, labels=labels, spec={"affinity": affinity}, **more)


def placed(app: str, **more: Any) -> Pod:
    return pod("q", app=app, node="n", **more)


NEAR_DB = pod(near=[term("db")])
FROM_WEB = pod(apart=[term("web")])


@pytest.mark.parametrize(
    ("waiting", "new", "expected"),
    [
        (NEAR_DB, placed("db"), True),
        (NEAR_DB, placed("web"), False),
        (NEAR_DB, pod("q", app="db"), False),
        (NEAR_DB, with_status(pod("q", app="db"), nominatedNodeName="n"), True),
        (NEAR_DB, placed("db", namespace="other"), False),
        (pod(near=[term("db", namespaces=["other"])]), placed("db", namespace="other"), True),
        (pod(near=[term("db"), term("web")]), placed("db"), False),
        (FROM_WEB, placed("web"), False),
        (FROM_WEB, placed("db"), False),
    ],
)
def test_a_pod_that_the_waiting_pod_wants_nearby_helps_by_coming(
    waiting: Pod, new: Pod, expected: bool
) -> None:
    assert requeues(plugin_on(InterPodAffinity), waiting, None, new) is expected


@pytest.mark.parametrize(
    ("waiting", "old", "expected"),
    [
        (FROM_WEB, placed("web"), True),
        (FROM_WEB, placed("db"), False),
        (FROM_WEB, pod("q", app="web"), False),
        (FROM_WEB, with_status(pod("q", app="web"), nominatedNodeName="n"), True),
        (NEAR_DB, placed("db"), False),
        (pod(app="x"), placed("y", apart=[term("x")]), True),
        (pod(app="x"), placed("y", apart=[term("z")]), False),
        (pod(app="x"), placed("y", apart=[term("x", namespaces=["other"])]), False),
    ],
)
def test_a_pod_that_kept_the_waiting_pod_away_helps_by_leaving(
    waiting: Pod, old: Pod, expected: bool
) -> None:
    assert requeues(plugin_on(InterPodAffinity), waiting, old, None) is expected


def test_one_of_several_terms_keeps_pods_apart() -> None:
    plugin = plugin_on(InterPodAffinity)
    waiting = pod(apart=[term("web"), term("db")], app="x")
    assert requeues(plugin, waiting, placed("web"), None) is True
    assert requeues(plugin, waiting, placed("db"), placed("cache")) is True
    assert requeues(plugin, waiting, placed("cache"), placed("db")) is False
    gone = placed("y", apart=[term("x"), term("z")])
    assert requeues(plugin, waiting, gone, None) is True


def test_namespaces_may_be_selected_by_their_labels() -> None:
    team = Namespace.from_dict({"metadata": {"name": "blue", "labels": {"team": "blue"}}})
    plugin = plugin_on(InterPodAffinity, team)
    selector = {"matchLabels": {"team": "blue"}}
    near = pod(near=[term("db", namespaceSelector=selector)])
    assert requeues(plugin, near, None, placed("db", namespace="blue")) is True
    assert requeues(plugin, near, None, placed("db", namespace="red")) is False
    assert requeues(plugin, near, None, placed("db")) is False
    apart = pod(apart=[term("db", namespaceSelector=selector)])
    assert requeues(plugin, apart, placed("db", namespace="blue"), None) is True
    waiting = pod(app="x", namespace="blue")
    assert requeues(
        plugin, waiting, placed("y", apart=[term("x", namespaceSelector=selector)]), None
    )


def test_the_first_of_its_kind_goes_anywhere_once_the_others_are_gone() -> None:
    plugin = plugin_on(InterPodAffinity)
    waiting = pod(near=[term("db")], app="db")
    assert requeues(plugin, waiting, placed("db"), None) is True
    assert requeues(plugin, waiting, placed("web"), None) is False
    assert requeues(plugin, waiting, placed("db"), placed("web")) is True
    assert requeues(plugin, NEAR_DB, placed("db"), placed("web")) is False


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        (NEAR_DB, placed("web"), placed("db"), True),
        (NEAR_DB, placed("db"), placed("web"), False),
        (FROM_WEB, placed("web"), placed("db"), True),
        (FROM_WEB, placed("db"), placed("web"), False),
        (FROM_WEB, pod("q", app="web"), pod("q", app="db"), False),
        (FROM_WEB, placed("web"), placed("web", priority=5), None),
    ],
)
def test_other_labels_of_a_pod_on_a_node_may_help(
    waiting: Pod, old: Pod, new: Pod, expected: bool | None
) -> None:
    assert requeues(plugin_on(InterPodAffinity), waiting, old, new) is expected


def test_other_labels_of_the_waiting_pod_itself_always_may() -> None:
    plugin = plugin_on(InterPodAffinity)
    assert requeues(plugin, pod(app="b"), pod(app="a"), pod(app="b")) is True


def node(**labels: str) -> Node:
    return make_node("n", labels=labels)


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        (NEAR_DB, None, node(zone="a"), True),
        (NEAR_DB, None, node(), False),
        (NEAR_DB, node(), node(zone="a"), True),
        (NEAR_DB, node(zone="a"), node(zone="b"), True),
        (NEAR_DB, node(zone="a"), node(), False),
        (NEAR_DB, node(zone="a"), node(zone="a", x="y"), False),
        (FROM_WEB, None, node(), True),
        (FROM_WEB, None, node(zone="a"), True),
        (FROM_WEB, node(zone="a"), node(), True),
        (FROM_WEB, node(zone="a"), node(zone="b"), True),
        (FROM_WEB, node(), node(zone="a"), False),
        (FROM_WEB, node(x="y"), node(), False),
        (pod(), None, node(zone="a"), False),
        (FROM_WEB, node(zone="a"), None, None),
    ],
)
def test_a_node_in_another_domain_helps(
    waiting: Pod, old: Node | None, new: Node | None, expected: bool | None
) -> None:
    assert requeues(plugin_on(InterPodAffinity), waiting, old, new) is expected


def test_a_new_domain_helps_a_pod_that_others_keep_away() -> None:
    keeper = pod("keeper", node="m", apart=[term("x")])
    plugin = plugin_on(InterPodAffinity, make_node("m", labels={ZONE: "a"}), keeper)
    assert requeues(plugin, pod(app="x"), None, node(zone="b")) is True
    assert requeues(plugin, pod(app="x"), node(zone="a"), node(zone="b")) is True
    assert requeues(plugin, pod(app="x"), node(), node(zone="b")) is False
    assert requeues(plugin, pod(app="y"), None, node(zone="b")) is False
