"""What helps pods that were rejected for want of resources or host ports."""

from typing import Any

import msgspec
import pytest

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.nodes.node_ports import NodePorts
from mooring.plugins.resources.node_resources_fit import NodeResourcesFit
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import with_status
from tests.unit.plugins.requeueing import plugin_on, requeues

GPU = "nvidia.com/gpu"
POD = make_pod("p", requests={"cpu": "4", "memory": "1Gi"})
GREEDY = make_pod("p", requests={"cpu": "4", GPU: 1})


def running(name: str = "q", **requests: str) -> Pod:
    return make_pod(name, node="n", requests=requests)


def nominated(pod: Pod) -> Pod:
    return with_status(pod, nominatedNodeName="n")


@pytest.mark.parametrize(
    ("old", "expected"),
    [
        (running(cpu="1"), True),
        (running(), True),
        (make_pod("q", requests={"cpu": "1"}), False),
        (nominated(make_pod("q", requests={"cpu": "1"})), True),
    ],
)
def test_any_pod_that_leaves_a_node_helps(old: Pod, expected: bool) -> None:
    assert requeues(plugin_on(NodeResourcesFit), POD, old, None) is expected


def test_a_pod_that_comes_helps_nobody() -> None:
    assert requeues(plugin_on(NodeResourcesFit), POD, None, running()) is None


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (running(cpu="2"), running(cpu="1"), True),
        (running(cpu="2", memory="2Gi"), running(cpu="3", memory="1Gi"), True),
        (running(cpu="2", **{GPU: "2"}), running(cpu="2", **{GPU: "1"}), False),
        (running(cpu="2", **{"ephemeral-storage": "2Gi"}), running(cpu="2"), False),
        (running(cpu="1"), running(cpu="2"), None),
        (running(cpu="2"), make_pod("q", node="n", requests={"cpu": "2"}), None),
    ],
)
def test_a_pod_that_asks_for_less_of_what_is_short_helps(
    old: Pod, new: Pod, expected: bool | None
) -> None:
    assert requeues(plugin_on(NodeResourcesFit), POD, old, new) is expected


def test_a_waiting_pod_that_asks_for_less_is_tried_again_and_helps_no_other() -> None:
    plugin = plugin_on(NodeResourcesFit)
    less = make_pod("p", requests={"cpu": "3", "memory": "1Gi"})
    assert requeues(plugin, less, POD, less) is True
    assert requeues(plugin, make_pod("other", requests={"cpu": "4"}), POD, less) is False


def sized(cpu: str = "8", **more: Any) -> Node:
    return make_node("n", cpu=cpu, **more)


def with_pods(node: Node, count: int) -> Node:
    raw: dict[str, Any] = msgspec.to_builtins(node.raw)
    raw["status"]["allocatable"]["pods"] = str(count)
    return Node.from_dict(raw)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, sized("4"), True),
        (None, sized("3999m"), False),
        (None, with_pods(sized(), 0), False),
        (sized("3"), sized("4"), True),
        (sized("8"), sized("9"), True),
        (sized("8"), sized("7"), False),
        (sized("2"), sized("3"), False),
        (sized("8", memory="1Gi"), sized("7", memory="2Gi"), True),
        (sized("8"), sized("8", extended={GPU: 4}), False),
        (with_pods(sized(), 10), with_pods(sized(), 11), True),
        (with_pods(sized("4"), 10), with_pods(sized("3"), 11), False),
        (sized(), make_node("n", labels={"a": "b"}), None),
        (sized(), None, None),
    ],
)
def test_a_node_that_is_big_enough_and_bigger_than_before_helps(
    old: Node | None, new: Node | None, expected: bool | None
) -> None:
    assert requeues(plugin_on(NodeResourcesFit), POD, old, new) is expected


def test_a_pod_that_asks_for_nothing_needs_a_place_only() -> None:
    plugin = plugin_on(NodeResourcesFit)
    modest = make_pod("p")
    assert requeues(plugin, modest, None, sized()) is True
    assert requeues(plugin, modest, sized("8"), sized("9")) is False
    assert requeues(plugin, modest, with_pods(sized(), 1), with_pods(sized(), 2)) is True


def test_extended_resources_count_unless_they_are_ignored() -> None:
    assert requeues(plugin_on(NodeResourcesFit), GREEDY, None, sized()) is False
    assert requeues(plugin_on(NodeResourcesFit), GREEDY, None, sized(extended={GPU: 1})) is True
    ignoring = plugin_on(NodeResourcesFit, ignoredResources=[GPU])
    assert requeues(ignoring, GREEDY, None, sized()) is True
    by_group = plugin_on(NodeResourcesFit, ignoredResourceGroups=["nvidia.com"])
    assert requeues(by_group, GREEDY, None, sized()) is True


ANY = "0.0.0.0"  # noqa: S104 - a host port, nothing listens here


def using(*ports: dict[str, Any], name: str = "p", node: str = "") -> Pod:
    containers = [{"name": "c", "image": "x", "ports": list(ports)}]
    return make_pod(name, node=node, spec={"containers": containers})


@pytest.mark.parametrize(
    ("freed", "expected"),
    [
        ({"hostPort": 80}, True),
        ({"hostPort": 80, "hostIP": ANY}, True),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, True),
        ({"hostPort": 80, "hostIP": "10.0.0.2"}, False),
        ({"hostPort": 80, "protocol": "UDP"}, False),
        ({"hostPort": 81}, False),
        ({"containerPort": 80}, False),
    ],
)
def test_a_pod_that_had_the_port_helps_by_leaving(freed: dict[str, Any], expected: bool) -> None:
    waiting = using({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 443})
    gone = using(freed, name="q", node="n")
    plugin = plugin_on(NodePorts)
    assert requeues(plugin, waiting, gone, None) is expected
    assert requeues(plugin, waiting, using(freed, name="q"), None) is False
    assert requeues(plugin, waiting, nominated(using(freed, name="q")), None) is expected
    assert requeues(plugin, make_pod("p"), gone, None) is False


def test_a_new_node_has_all_its_ports() -> None:
    plugin = plugin_on(NodePorts)
    waiting = using({"hostPort": 80})
    assert requeues(plugin, waiting, None, make_node("n")) is True
    assert requeues(plugin, waiting, make_node("n"), make_node("n", labels={"a": "b"})) is None
