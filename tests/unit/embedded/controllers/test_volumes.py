from typing import Any

import pytest

from mooring.embedded.resources import (
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
    Obj,
)
from tests.unit.embedded.controllers.world import World


@pytest.fixture
def world() -> World:
    return World()


def storage_class(world: World, name: str = "fast", **fields: Any) -> None:
    world.create(
        STORAGE_CLASSES, {"metadata": {"name": name}, "provisioner": "csi.example.com", **fields}
    )


def claim(world: World, name: str = "c", **spec: Any) -> Obj:
    inner = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "5Gi"}},
        "storageClassName": "",
        **spec,
    }
    return world.create(PERSISTENT_VOLUME_CLAIMS, {"metadata": {"name": name}, "spec": inner})


def volume(world: World, name: str, size: str = "10Gi", **spec: Any) -> Obj:
    inner = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "hostPath": {"path": "/tmp/x"},
        **spec,
    }
    return world.create(PERSISTENT_VOLUMES, {"metadata": {"name": name}, "spec": inner})


def phases(world: World) -> dict[str, str]:
    return {
        one["metadata"]["name"]: one["status"]["phase"]
        for resource in (PERSISTENT_VOLUMES, PERSISTENT_VOLUME_CLAIMS)
        for one in world.all(resource)
    }


def test_a_claim_gets_the_smallest_volume_that_fits(world: World) -> None:
    volume(world, "small", "1Gi")
    volume(world, "large", "100Gi")
    volume(world, "right", "8Gi")
    volume(world, "other", "6Gi", accessModes=["ReadOnlyMany"])
    world.settle()
    assert set(phases(world).values()) == {"Available"}
    claim(world)
    world.settle()
    assert phases(world) == {
        "small": "Available", "large": "Available", "right": "Bound", "other": "Available",
        "c": "Bound",
    }  # fmt: skip
    bound = world.get(PERSISTENT_VOLUME_CLAIMS, "c")
    assert bound["spec"]["volumeName"] == "right"
    assert bound["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] == "yes"
    assert bound["status"]["capacity"] == {"storage": "8Gi"}


def test_a_claim_waits_for_a_volume(world: World) -> None:
    claim(world)
    world.settle()
    assert phases(world) == {"c": "Pending"}
    assert world.events("c")[0][0] == "FailedBinding"
    volume(world, "v")
    world.settle()
    assert phases(world) == {"v": "Bound", "c": "Bound"}


def test_a_volume_is_made_for_a_claim_of_an_immediate_class(world: World) -> None:
    storage_class(world)
    made = claim(world, storageClassName="fast")
    world.settle()
    name = f"pvc-{made['metadata']['uid']}"
    assert phases(world) == {name: "Bound", "c": "Bound"}
    assert world.events("c") == [
        ("ProvisioningSucceeded", f"Successfully provisioned volume {name}")
    ]
    world.delete(PERSISTENT_VOLUME_CLAIMS, "c")
    world.settle()
    assert phases(world) == {}  # a class deletes its volumes unless it says otherwise


def test_a_claim_that_waits_for_a_consumer_waits_for_a_node(world: World) -> None:
    storage_class(world, volumeBindingMode="WaitForFirstConsumer")
    zone = {"topology.kubernetes.io/zone": "b"}
    world.create(NODES, {"metadata": {"name": "n1", "labels": zone}})
    claim(world, storageClassName="fast")
    world.settle()
    assert phases(world) == {"c": "Pending"}
    assert world.events("c")[0][0] == "WaitForFirstConsumer"
    chosen = {"volume.kubernetes.io/selected-node": "n1"}
    world.change(
        PERSISTENT_VOLUME_CLAIMS, "c", lambda obj: obj["metadata"].update(annotations=chosen)
    )
    world.settle()
    assert set(phases(world).values()) == {"Bound"}
    (made,) = world.all(PERSISTENT_VOLUMES)
    (term,) = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["b"]


def test_a_volume_that_the_scheduler_chose_is_bound(world: World) -> None:
    storage_class(world, "local", provisioner="kubernetes.io/no-provisioner",
                  volumeBindingMode="WaitForFirstConsumer")  # fmt: skip
    volume(world, "v1", storageClassName="local")
    volume(world, "v2", storageClassName="local")
    asked = claim(world, storageClassName="local")
    world.settle()
    assert phases(world)["c"] == "Pending"

    def reserve(obj: Obj) -> None:
        obj["spec"]["claimRef"] = {
            "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": "default",
            "name": "c", "uid": asked["metadata"]["uid"],
        }  # fmt: skip
        obj["metadata"].setdefault("annotations", {})["pv.kubernetes.io/bound-by-controller"] = (
            "yes"
        )

    world.change(PERSISTENT_VOLUMES, "v2", reserve)
    world.settle()
    assert phases(world) == {"v1": "Available", "v2": "Bound", "c": "Bound"}
    assert world.get(PERSISTENT_VOLUME_CLAIMS, "c")["spec"]["volumeName"] == "v2"


def test_a_kept_volume_is_released_when_its_claim_is_gone(world: World) -> None:
    volume(world, "v")
    claim(world)
    world.settle()
    world.delete(PERSISTENT_VOLUME_CLAIMS, "c")
    world.settle()
    assert phases(world) == {"v": "Released"}
    claim(world, "other")
    world.settle()
    assert phases(world) == {"v": "Released", "other": "Pending"}


def test_a_claim_whose_volume_is_gone_is_lost(world: World) -> None:
    volume(world, "v")
    claim(world)
    world.settle()
    world.delete(PERSISTENT_VOLUMES, "v")
    world.settle()
    assert phases(world) == {"c": "Lost"}


def test_a_class_that_comes_later_serves_the_claims_that_wait(world: World) -> None:
    claim(world, storageClassName="fast")
    world.settle()
    assert world.events("c")[0][0] == "ProvisioningFailed"
    storage_class(world)
    world.settle()
    assert phases(world)["c"] == "Bound"
