"""Every namespace has the config map kube-root-ca.crt, as it has its service account."""

import pytest

from mooring.embedded.controller_manager import ControllerManager
from mooring.embedded.resources import CONFIG_MAPS, NAMESPACES, Obj
from tests.unit.embedded.fake_cluster import FakeCluster

NAME = "kube-root-ca.crt"


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


def published(cluster: FakeCluster, namespace: str = "default") -> Obj:
    return cluster.get(CONFIG_MAPS, NAME, namespace)


def test_every_namespace_has_it(cluster: FakeCluster) -> None:
    cluster.create(NAMESPACES, {"metadata": {"name": "shop"}})
    cluster.settle()
    assert published(cluster)["data"] == published(cluster, "shop")["data"] == {"ca.crt": ""}
    assert published(cluster)["metadata"]["annotations"]["kubernetes.io/description"]


def test_it_has_the_certificates_of_the_server(cluster: FakeCluster) -> None:
    cluster = FakeCluster(controllers=False)
    manager = ControllerManager(cluster.api, root_ca="-----BEGIN", clock=lambda: cluster.now)
    manager.settle()
    assert published(cluster)["data"] == {"ca.crt": "-----BEGIN"}


def test_it_comes_back(cluster: FakeCluster) -> None:
    cluster.delete(CONFIG_MAPS, NAME)
    cluster.settle()
    assert cluster.names(CONFIG_MAPS) == [NAME]


def test_it_is_mended(cluster: FakeCluster) -> None:
    def spoil(obj: Obj) -> None:
        obj["data"] = {"ca.crt": "mine", "more": "x"}
        obj["metadata"]["annotations"] = {"mine": "yes"}

    cluster.change(CONFIG_MAPS, NAME, spoil)
    cluster.settle()
    found = published(cluster)
    assert found["data"] == {"ca.crt": ""}
    assert found["metadata"]["annotations"].keys() == {"mine", "kubernetes.io/description"}


def test_what_else_is_written_on_it_stays(cluster: FakeCluster) -> None:
    cluster.change(CONFIG_MAPS, NAME, lambda obj: obj["metadata"].update(labels={"a": "b"}))
    version = published(cluster)["metadata"]["resourceVersion"]
    cluster.settle()
    assert published(cluster)["metadata"]["resourceVersion"] == version


def test_a_namespace_that_ends_gets_none(cluster: FakeCluster) -> None:
    cluster.create(NAMESPACES, {"metadata": {"name": "gone", "finalizers": ["example.com/hold"]}})
    cluster.settle()
    cluster.delete(NAMESPACES, "gone")
    cluster.wait(5)
    assert cluster.get(NAMESPACES, "gone")["status"]["phase"] == "Terminating"
    assert cluster.names(CONFIG_MAPS, "gone") == []
