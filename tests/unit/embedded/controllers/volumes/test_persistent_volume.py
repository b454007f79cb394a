from typing import Any

import pytest

from mooring.embedded.resources import (
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
    Obj,
)
from tests.unit.embedded.fake_cluster import FakeCluster


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


def storage_class(cluster: FakeCluster, name: str = "fast", **fields: Any) -> None:
    cluster.create(
        STORAGE_CLASSES, {"metadata": {"name": name}, "provisioner": "csi.example.com", **fields}
    )


def claim(cluster: FakeCluster, name: str = "c", **spec: Any) -> Obj:
    inner = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "5Gi"}},
        "storageClassName": "",
        **spec,
    }
    return cluster.create(PERSISTENT_VOLUME_CLAIMS, {"metadata": {"name": name}, "spec": inner})


def volume(cluster: FakeCluster, name: str, size: str = "10Gi", **spec: Any) -> Obj:
    inner = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "hostPath": {"path": "/tmp/x"},
        **spec,
    }
    return cluster.create(PERSISTENT_VOLUMES, {"metadata": {"name": name}, "spec": inner})


def phases(cluster: FakeCluster) -> dict[str, str]:
    return {
        one["metadata"]["name"]: one["status"]["phase"]
        for resource in (PERSISTENT_VOLUMES, PERSISTENT_VOLUME_CLAIMS)
        for one in cluster.all(resource)
    }


def test_a_claim_gets_the_smallest_volume_that_fits(cluster: FakeCluster) -> None:
    volume(cluster, "small", "1Gi")
    volume(cluster, "large", "100Gi")
    volume(cluster, "right", "8Gi")
    volume(cluster, "other", "6Gi", accessModes=["ReadOnlyMany"])
    cluster.settle()
    assert set(phases(cluster).values()) == {"Available"}
    claim(cluster)
    cluster.settle()
    assert phases(cluster) == {
        "small": "Available", "large": "Available", "right": "Bound", "other": "Available",
        "c": "Bound",
    }  # fmt: skip
    bound = cluster.get(PERSISTENT_VOLUME_CLAIMS, "c")
    assert bound["spec"]["volumeName"] == "right"
    assert bound["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] == "yes"
    assert bound["status"]["capacity"] == {"storage": "8Gi"}


def test_a_claim_waits_for_a_volume(cluster: FakeCluster) -> None:
    claim(cluster)
    cluster.settle()
    assert phases(cluster) == {"c": "Pending"}
    assert cluster.events("c")[0][0] == "FailedBinding"
    volume(cluster, "v")
    cluster.settle()
    assert phases(cluster) == {"v": "Bound", "c": "Bound"}


def test_a_volume_is_made_for_a_claim_of_an_immediate_class(cluster: FakeCluster) -> None:
    storage_class(cluster)
    made = claim(cluster, storageClassName="fast")
    cluster.settle()
    name = f"pvc-{made['metadata']['uid']}"
    assert phases(cluster) == {name: "Bound", "c": "Bound"}
    assert cluster.events("c") == [
        ("ProvisioningSucceeded", f"Successfully provisioned volume {name}")
    ]
    cluster.delete(PERSISTENT_VOLUME_CLAIMS, "c")
    cluster.settle()
    assert phases(cluster) == {}  # a class deletes its volumes unless it says otherwise


def test_a_claim_that_waits_for_a_consumer_waits_for_a_node(cluster: FakeCluster) -> None:
    storage_class(cluster, volumeBindingMode="WaitForFirstConsumer")
    zone = {"topology.kubernetes.io/zone": "b"}
    cluster.create(NODES, {"metadata": {"name": "n1", "labels": zone}})
    claim(cluster, storageClassName="fast")
    cluster.settle()
    assert phases(cluster) == {"c": "Pending"}
    assert cluster.events("c")[0][0] == "WaitForFirstConsumer"
    chosen = {"volume.kubernetes.io/selected-node": "n1"}
    cluster.change(
        PERSISTENT_VOLUME_CLAIMS, "c", lambda obj: obj["metadata"].update(annotations=chosen)
    )
    cluster.settle()
    assert set(phases(cluster).values()) == {"Bound"}
    (made,) = cluster.all(PERSISTENT_VOLUMES)
    (term,) = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["b"]


def test_a_volume_that_the_scheduler_chose_is_bound(cluster: FakeCluster) -> None:
    storage_class(cluster, "local", provisioner="kubernetes.io/no-provisioner",
                  volumeBindingMode="WaitForFirstConsumer")  # fmt: skip
    volume(cluster, "v1", storageClassName="local")
    volume(cluster, "v2", storageClassName="local")
    asked = claim(cluster, storageClassName="local")
    cluster.settle()
    assert phases(cluster)["c"] == "Pending"

    def reserve(obj: Obj) -> None:
        obj["spec"]["claimRef"] = {
            "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": "default",
            "name": "c", "uid": asked["metadata"]["uid"],
        }  # fmt: skip
        obj["metadata"].setdefault("annotations", {})["pv.kubernetes.io/bound-by-controller"] = (
            "yes"
        )

    cluster.change(PERSISTENT_VOLUMES, "v2", reserve)
    cluster.settle()
    assert phases(cluster) == {"v1": "Available", "v2": "Bound", "c": "Bound"}
    assert cluster.get(PERSISTENT_VOLUME_CLAIMS, "c")["spec"]["volumeName"] == "v2"


def test_a_kept_volume_is_released_when_its_claim_is_gone(cluster: FakeCluster) -> None:
    volume(cluster, "v")
    claim(cluster)
    cluster.settle()
    cluster.delete(PERSISTENT_VOLUME_CLAIMS, "c")
    cluster.settle()
    assert phases(cluster) == {"v": "Released"}
    claim(cluster, "other")
    cluster.settle()
    assert phases(cluster) == {"v": "Released", "other": "Pending"}


def test_a_claim_whose_volume_is_gone_is_lost(cluster: FakeCluster) -> None:
    volume(cluster, "v")
    claim(cluster)
    cluster.settle()
    cluster.delete(PERSISTENT_VOLUMES, "v")
    cluster.settle()
    assert phases(cluster) == {"c": "Lost"}


def test_a_class_that_comes_later_serves_the_claims_that_wait(cluster: FakeCluster) -> None:
    claim(cluster, storageClassName="fast")
    cluster.settle()
    assert cluster.events("c")[0][0] == "ProvisioningFailed"
    storage_class(cluster)
    cluster.settle()
    assert phases(cluster)["c"] == "Bound"
