"""What helps pods that were rejected because they would not be spread evenly."""

from typing import Any

import pytest

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.workloads import Service
from mooring.plugins.spread.pod_topology_spread import PodTopologySpread
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import with_status
from tests.unit.plugins.requeueing import plugin_on, requeues

ZONE = "topology.kubernetes.io/zone"
RACK = "rack"


def spread(
    *keys: str, name: str = "p", app: str = "web", when: str = "DoNotSchedule", **more: Any
) -> Pod:
    constraints = [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": when,
            "labelSelector": {"matchLabels": {"app": "web"}},
            **more,
        }
        for key in keys
    ]
    return make_pod(name, labels={"app": app}, spec={"topologySpreadConstraints": constraints})


def placed(app: str, **more: Any) -> Pod:
    return make_pod("q", node="n", labels={"app": app}, **more)


POD = spread(ZONE)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (placed("web"), True),
        (placed("db"), False),
        (placed("web", namespace="other"), False),
        (make_pod("q", labels={"app": "web"}), False),
        (with_status(make_pod("q", labels={"app": "web"}), nominatedNodeName="n"), True),
    ],
)
def test_a_pod_that_is_counted_helps_by_coming_and_by_leaving(changed: Pod, expected: bool) -> None:
    plugin = plugin_on(PodTopologySpread)
    assert requeues(plugin, POD, None, changed) is expected
    assert requeues(plugin, POD, changed, None) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (placed("web"), placed("db"), True),
        (placed("db"), placed("web"), True),
        (placed("db"), placed("cache"), False),
        (placed("web"), placed("web", spec={"tolerations": [{"operator": "Exists"}]}), False),
        (placed("web"), placed("web", priority=3), None),
    ],
)
def test_other_labels_help_if_a_pod_is_counted_otherwise(
    old: Pod, new: Pod, expected: bool | None
) -> None:
    assert requeues(plugin_on(PodTopologySpread), POD, old, new) is expected


def test_the_waiting_pod_is_tried_again_with_labels_that_are_counted_otherwise() -> None:
    plugin = plugin_on(PodTopologySpread)
    assert requeues(plugin, spread(ZONE, app="db"), spread(ZONE), spread(ZONE, app="db")) is True
    assert requeues(plugin, make_pod("other"), spread(ZONE), spread(ZONE, app="db")) is False


def test_a_toleration_helps_if_taints_decide_which_nodes_count() -> None:
    plugin = plugin_on(PodTopologySpread)

    def tolerating(pod: Pod) -> Pod:
        spec = {**pod.raw["spec"], "tolerations": [{"operator": "Exists"}]}
        return Pod.from_dict({**pod.raw, "spec": spec})

    honoring = spread(ZONE, nodeTaintsPolicy="Honor")
    assert requeues(plugin, tolerating(honoring), honoring, tolerating(honoring)) is True
    assert requeues(plugin, tolerating(POD), POD, tolerating(POD)) is False
    assert requeues(plugin, make_pod("other"), honoring, tolerating(honoring)) is False


def node(*taints: str, **labels: str) -> Node:
    keys = {"zone": ZONE, "rack": RACK}
    return make_node(
        "n",
        labels={keys.get(key, key): value for key, value in labels.items()},
        taints=[{"key": taint, "effect": "NoSchedule"} for taint in taints],
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, node(zone="a", rack="1"), True),
        (None, node(zone="a"), False),
        (node(zone="a", rack="1"), None, True),
        (node(zone="a"), None, False),
        (node(zone="a"), node(zone="a", rack="1"), True),
        (node(zone="a", rack="1"), node(zone="a"), True),
        (node(zone="a", rack="1"), node(zone="a", rack="2"), True),
        (node(zone="a", rack="1"), node(zone="a", rack="1", x="y"), False),
        (node(zone="a"), node(zone="b"), False),
        (node(zone="a", rack="1"), node("t", zone="a", rack="1"), True),
        (node(zone="a"), node("t", zone="a"), False),
    ],
)
def test_nodes_that_join_leave_or_change_domains_help(
    old: Node | None, new: Node | None, expected: bool
) -> None:
    assert requeues(plugin_on(PodTopologySpread), spread(ZONE, RACK), old, new) is expected


def test_wishes_keep_no_pod_waiting() -> None:
    plugin = plugin_on(PodTopologySpread)
    wishing = spread(ZONE, when="ScheduleAnyway")
    assert requeues(plugin, wishing, None, placed("web")) is False


def test_default_constraints_count_the_pods_of_the_same_service() -> None:
    service = Service.from_dict({"metadata": {"name": "s"}, "spec": {"selector": {"app": "web"}}})
    plugin = plugin_on(
        PodTopologySpread,
        service,
        defaultingType="List",
        defaultConstraints=[
            {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
        ],
    )
    waiting = make_pod("p", labels={"app": "web"})
    assert requeues(plugin, waiting, None, placed("web")) is True
    assert requeues(plugin, waiting, None, placed("db")) is False
    assert requeues(plugin, waiting, None, node(rack="1")) is False
    assert requeues(plugin, waiting, None, node(zone="a")) is True
