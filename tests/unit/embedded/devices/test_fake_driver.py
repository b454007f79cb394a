"""The fake driver publishes slices for the nodes that are there."""

from typing import Any

import pytest

from mooring.embedded.controllers.controller_client import ControllerClient
from mooring.embedded.controllers.pod_index import PodIndex
from mooring.embedded.controllers.workqueue import WorkQueue
from mooring.embedded.devices.fake_driver import FakeDriver
from mooring.embedded.resources import NODES, RESOURCE_SLICES, Obj
from tests.unit.embedded.devices.device_files import NAME, driver
from tests.unit.embedded.fake_cluster import START, FakeCluster

GPUS = driver({"name": "gpu", "count": 2}, nodeLabels={"gpu": "yes"})


class DriverCluster(FakeCluster):
    """A cluster in which a driver runs."""

    def __init__(self, *drivers: Any) -> None:
        super().__init__(controllers=False)
        pods = PodIndex()
        client = ControllerClient(self.api, "fake-driver")
        self._workqueue = WorkQueue(self.api.store, [FakeDriver(client, pods, drivers)], pods)

    def publish(self) -> list[str]:
        """The names of slices, once the driver has done its work."""
        assert self._workqueue.run(START, 1000) < 1000
        assert self._workqueue.next_due() is None
        return self.names(RESOURCE_SLICES)

    def label(self, node: str, **labels: str) -> None:
        self.change(NODES, node, lambda obj: obj["metadata"]["labels"].update(labels))


@pytest.fixture
def cluster() -> DriverCluster:
    return DriverCluster(GPUS)


def test_nodes_get_their_slices_when_they_come(cluster: DriverCluster) -> None:
    cluster.node("a")
    assert cluster.publish() == []
    cluster.label("a", gpu="yes")
    assert cluster.publish() == ["a-gpu.example.com-0"]
    published = cluster.get(RESOURCE_SLICES, "a-gpu.example.com-0")
    assert [one["name"] for one in published["spec"]["devices"]] == ["gpu-0", "gpu-1"]
    cluster.label("a", gpu="no")
    assert cluster.publish() == []


def test_nodes_lose_their_slices_when_they_go(cluster: DriverCluster) -> None:
    for name in "ab":
        cluster.node(name)
        cluster.label(name, gpu="yes")
    assert cluster.publish() == ["a-gpu.example.com-0", "b-gpu.example.com-0"]
    cluster.delete(NODES, "a")
    assert cluster.publish() == ["b-gpu.example.com-0"]


def test_a_missing_slice_is_published_again_and_a_changed_one_is_left(
    cluster: DriverCluster,
) -> None:
    cluster.node("a")
    cluster.label("a", gpu="yes")
    (name,) = cluster.publish()
    taint = {"key": "a", "effect": "NoExecute"}

    def change(obj: Obj) -> None:
        obj["spec"]["devices"][0]["taints"] = [taint]

    cluster.change(RESOURCE_SLICES, name, change)
    assert cluster.publish() == [name]
    kept = cluster.get(RESOURCE_SLICES, name)["spec"]["devices"][0]["taints"]
    assert [one["key"] for one in kept] == ["a"]
    assert kept[0]["timeAdded"]
    cluster.delete(RESOURCE_SLICES, name)
    assert cluster.publish() == [name]
    assert "taints" not in cluster.get(RESOURCE_SLICES, name)["spec"]["devices"][0]


def test_slices_of_other_drivers_are_left_alone(cluster: DriverCluster) -> None:
    pool = {"name": "p", "resourceSliceCount": 1}
    spec = {"driver": "other.example.com", "nodeName": "a", "pool": pool}
    cluster.create(RESOURCE_SLICES, {"metadata": {"name": "other"}, "spec": spec})
    cluster.node("a")
    assert cluster.publish() == ["other"]
    cluster.delete(NODES, "a")
    assert cluster.publish() == ["other"]


def test_pools_for_several_nodes_are_published_once() -> None:
    cluster = DriverCluster(driver({"name": "port"}, name="fabric"))
    cluster.node("a")
    cluster.node("b")
    name = f"fabric-{NAME}-0"
    assert cluster.publish() == [name]
    cluster.delete(NODES, "a")
    assert cluster.publish() == [name]
    cluster.delete(RESOURCE_SLICES, name)
    assert cluster.publish() == [name]
