from typing import Any

import pytest

from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.resources import (
    CONTROLLER_REVISIONS,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    STATEFUL_SETS,
    Obj,
)
from tests.unit.embedded.fake_cluster import FakeCluster, template


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster(kubelet=KubeletSettings())
    cluster.node("n1")
    return cluster


def stateful_set(cluster: FakeCluster, replicas: int = 3, **spec: Any) -> Obj:
    inner = {
        "replicas": replicas,
        "serviceName": "db",
        "selector": {"matchLabels": {"app": "db"}},
        "template": template(app="db"),
        **spec,
    }
    return cluster.create(STATEFUL_SETS, {"metadata": {"name": "db"}, "spec": inner})


def images(cluster: FakeCluster) -> list[str]:
    return [pod["spec"]["containers"][0]["image"] for pod in cluster.all(PODS)]


def set_image(obj: Obj) -> None:
    obj["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2"


def test_pods_come_one_after_the_other(cluster: FakeCluster) -> None:
    stateful_set(cluster)
    cluster.settle()
    assert cluster.names(PODS) == ["db-0"]
    cluster.bind_all("n1")
    cluster.settle()
    assert cluster.names(PODS) == ["db-0", "db-1"]
    cluster.run_all()
    assert cluster.names(PODS) == ["db-0", "db-1", "db-2"]
    pod = cluster.get(PODS, "db-1")
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("db-1", "db")
    assert pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "1"
    status = cluster.get(STATEFUL_SETS, "db")["status"]
    assert status["currentRevision"] == status["updateRevision"]
    assert (status["replicas"], status["readyReplicas"], status["currentReplicas"]) == (3, 3, 3)


def test_parallel_pods_come_at_once(cluster: FakeCluster) -> None:
    stateful_set(cluster, podManagementPolicy="Parallel")
    cluster.settle()
    assert cluster.names(PODS) == ["db-0", "db-1", "db-2"]


def test_the_highest_go_first_and_come_back_under_the_same_name(cluster: FakeCluster) -> None:
    stateful_set(cluster)
    cluster.run_all()
    cluster.change(STATEFUL_SETS, "db", lambda obj: obj["spec"].update(replicas=1))
    cluster.settle()
    assert cluster.names(PODS) == ["db-0"]
    before = cluster.get(PODS, "db-0")["metadata"]["uid"]
    cluster.delete(PODS, "db-0")
    cluster.run_all()
    assert cluster.names(PODS) == ["db-0"]
    assert cluster.get(PODS, "db-0")["metadata"]["uid"] != before


def test_an_update_goes_from_the_highest_down_to_the_partition(cluster: FakeCluster) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    stateful_set(cluster, updateStrategy=strategy)
    cluster.run_all()
    cluster.change(STATEFUL_SETS, "db", set_image)
    cluster.settle()
    cluster.bind_all("n1")
    assert images(cluster)[1] == "nginx"
    cluster.run_all()
    assert images(cluster) == ["nginx", "nginx:2", "nginx:2"]
    status = cluster.get(STATEFUL_SETS, "db")["status"]
    assert (status["currentReplicas"], status["updatedReplicas"]) == (1, 2)
    cluster.delete(PODS, "db-0")
    cluster.run_all()
    assert images(cluster)[0] == "nginx"  # below the partition the old template counts
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    cluster.change(STATEFUL_SETS, "db", lambda obj: obj["spec"].update(updateStrategy=strategy))
    cluster.run_all()
    assert set(images(cluster)) == {"nginx:2"}
    status = cluster.get(STATEFUL_SETS, "db")["status"]
    assert status["currentRevision"] == status["updateRevision"]
    assert [one["revision"] for one in cluster.all(CONTROLLER_REVISIONS)] in ([1, 2], [2, 1])


def test_every_pod_keeps_its_claim(cluster: FakeCluster) -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    stateful_set(cluster, 2, volumeClaimTemplates=[claim])
    cluster.run_all()
    assert cluster.names(PERSISTENT_VOLUME_CLAIMS) == ["data-db-0", "data-db-1"]
    (volume,) = cluster.get(PODS, "db-1")["spec"]["volumes"]
    assert volume["persistentVolumeClaim"]["claimName"] == "data-db-1"
    cluster.change(STATEFUL_SETS, "db", lambda obj: obj["spec"].update(replicas=1))
    cluster.settle()
    assert cluster.names(PERSISTENT_VOLUME_CLAIMS) == ["data-db-0", "data-db-1"]
