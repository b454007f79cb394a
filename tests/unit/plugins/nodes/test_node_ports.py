from typing import Any

import pytest

from mooring.framework.hook import SKIP
from mooring.model.pod import Pod
from mooring.plugins.nodes.node_ports import NodePorts
from mooring.testing import make_node, make_pod
from tests.unit.plugins.one_plugin import accepted, cluster_of, filtered, pre_filtered


def with_ports(*ports: dict[str, Any], name: str = "pod", node: str = "") -> Pod:
    containers = [{"name": "c", "image": "x", "ports": list(ports)}]
    return make_pod(name, node=node, spec={"containers": containers})


ANY = "0.0.0.0"  # noqa: S104 - a host port, nothing listens here
CLUSTER = cluster_of(
    make_node("a"),
    make_node("b"),
    make_node("c"),
    with_ports({"hostPort": 80}, name="any", node="a"),
    with_ports({"hostPort": 80, "hostIP": "10.0.0.1"}, name="one", node="b"),
)


@pytest.mark.parametrize(
    ("port", "names"),
    [
        ({"hostPort": 80}, ["c"]),
        ({"hostPort": 80, "hostIP": ANY}, ["c"]),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, ["c"]),
        ({"hostPort": 80, "hostIP": "10.0.0.2"}, ["b", "c"]),
        ({"hostPort": 80, "protocol": "UDP"}, ["a", "b", "c"]),
        ({"hostPort": 81}, ["a", "b", "c"]),
    ],
)
def test_a_port_can_be_taken_once(port: dict[str, Any], names: list[str]) -> None:
    assert accepted(NodePorts(), CLUSTER, with_ports(port)) == names
    assert accepted(NodePorts(), CLUSTER, with_ports(port), ["a"]) == [
        name for name in names if name == "a"
    ]


def test_one_conflict_is_enough_and_preemption_may_help() -> None:
    pod = with_ports({"hostPort": 81}, {"hostPort": 80})
    verdict = filtered(NodePorts(), CLUSTER, pod)["a"]
    assert verdict.code == "Unschedulable"
    assert verdict.reasons == ("node(s) didn't have free ports for the requested pod ports",)


def test_pods_without_host_ports_are_skipped() -> None:
    assert pre_filtered(NodePorts(), CLUSTER, make_pod()) is SKIP
    assert pre_filtered(NodePorts(), CLUSTER, with_ports({"containerPort": 80})) is SKIP
    assert pre_filtered(NodePorts(), CLUSTER, with_ports({"hostPort": 80})) is None


def test_ports_of_sidecars_count_and_of_other_init_containers_do_not() -> None:
    def pod(**more: str) -> Pod:
        init = {"name": "i", "image": "x", "ports": [{"hostPort": 80}], **more}
        return make_pod(spec={"initContainers": [init]})

    assert pre_filtered(NodePorts(), CLUSTER, pod()) is SKIP
    assert accepted(NodePorts(), CLUSTER, pod(restartPolicy="Always")) == ["c"]


def test_a_port_that_is_given_back_in_a_what_if_is_free() -> None:
    cluster = cluster_of(make_node("a"), make_node("b"))
    other = with_ports({"hostPort": 80}, name="other", node="a")
    cluster.put(other)
    pod = with_ports({"hostPort": 80})
    cluster.remove_what_if(other, 0)
    assert accepted(NodePorts(), cluster, pod) == ["a", "b"]
    cluster.add_what_if(other, 0)
    assert accepted(NodePorts(), cluster, pod) == ["b"]
