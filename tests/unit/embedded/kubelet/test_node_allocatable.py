"""An extended resource that somebody adds to a node's capacity becomes allocatable."""

import pytest

from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.resources import NODES, Obj
from tests.unit.embedded.fake_cluster import FakeCluster

DEVICE = "example.com/device"


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster(kubelet=KubeletSettings(), controllers=False)
    cluster.node("n1")
    return cluster


def offer(cluster: FakeCluster, **capacity: str | None) -> Obj:
    """Change the capacity of the node; its status when its kubelet has seen it."""

    def change(node: Obj) -> None:
        for name, amount in capacity.items():
            node["status"]["capacity"].pop(name, None)
            if amount is not None:
                node["status"]["capacity"][name] = amount

    cluster.change(NODES, "n1", change, "status")
    cluster.settle()
    found: Obj = cluster.get(NODES, "n1")["status"]
    return found


def test_a_new_resource_becomes_allocatable_and_goes_again(cluster: FakeCluster) -> None:
    assert offer(cluster, **{DEVICE: "5"})["allocatable"][DEVICE] == "5"
    assert offer(cluster, **{DEVICE: "7"})["allocatable"][DEVICE] == "7"
    status = offer(cluster, **{DEVICE: None})
    assert DEVICE not in status["allocatable"]
    assert status["allocatable"].keys() == {"cpu", "memory", "pods"}


def test_what_the_node_says_itself_stays(cluster: FakeCluster) -> None:
    cluster.change(NODES, "n1", lambda node: node["status"]["allocatable"].update(
        {DEVICE: "1", "example.com/other": "2"}
    ), "status")  # fmt: skip
    status = offer(cluster, **{DEVICE: "5", "cpu": "99"})
    assert status["allocatable"][DEVICE] == "1"
    assert status["allocatable"]["example.com/other"] == "2"
    assert status["allocatable"]["cpu"] == "4"


def test_a_node_that_is_gone_is_forgotten(cluster: FakeCluster) -> None:
    offer(cluster, **{DEVICE: "5"})
    cluster.delete(NODES, "n1")
    cluster.settle()
    cluster.node("n1", **{DEVICE: "3"})
    assert offer(cluster, **{DEVICE: None})["allocatable"][DEVICE] == "3"
