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
from tests.unit.embedded.controllers.world import World, template


@pytest.fixture
def world() -> World:
    world = World(kubelet=KubeletSettings())
    world.node("n1")
    return world


def stateful_set(world: World, replicas: int = 3, **spec: Any) -> Obj:
    inner = {
        "replicas": replicas,
        "serviceName": "db",
        "selector": {"matchLabels": {"app": "db"}},
        "template": template(app="db"),
        **spec,
    }
    return world.create(STATEFUL_SETS, {"metadata": {"name": "db"}, "spec": inner})


def images(world: World) -> list[str]:
    return [pod["spec"]["containers"][0]["image"] for pod in world.all(PODS)]


def set_image(obj: Obj) -> None:
    obj["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2"


def test_pods_come_one_after_the_other(world: World) -> None:
    stateful_set(world)
    world.settle()
    assert world.names(PODS) == ["db-0"]
    world.bind_all("n1")
    world.settle()
    assert world.names(PODS) == ["db-0", "db-1"]
    world.run_all()
    assert world.names(PODS) == ["db-0", "db-1", "db-2"]
    pod = world.get(PODS, "db-1")
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("db-1", "db")
    assert pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "1"
    status = world.get(STATEFUL_SETS, "db")["status"]
    assert status["currentRevision"] == status["updateRevision"]
    assert (status["replicas"], status["readyReplicas"], status["currentReplicas"]) == (3, 3, 3)


def test_parallel_pods_come_at_once(world: World) -> None:
    stateful_set(world, podManagementPolicy="Parallel")
    world.settle()
    assert world.names(PODS) == ["db-0", "db-1", "db-2"]


def test_the_highest_go_first_and_come_back_under_the_same_name(world: World) -> None:
    stateful_set(world)
    world.run_all()
    world.change(STATEFUL_SETS, "db", lambda obj: obj["spec"].update(replicas=1))
    world.settle()
    assert world.names(PODS) == ["db-0"]
    before = world.get(PODS, "db-0")["metadata"]["uid"]
    world.delete(PODS, "db-0")
    world.run_all()
    assert world.names(PODS) == ["db-0"]
    assert world.get(PODS, "db-0")["metadata"]["uid"] != before


def test_an_update_goes_from_the_highest_down_to_the_partition(world: World) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    stateful_set(world, updateStrategy=strategy)
    world.run_all()
    world.change(STATEFUL_SETS, "db", set_image)
    world.settle()
    world.bind_all("n1")
    assert images(world)[1] == "nginx"
    world.run_all()
    assert images(world) == ["nginx", "nginx:2", "nginx:2"]
    status = world.get(STATEFUL_SETS, "db")["status"]
    assert (status["currentReplicas"], status["updatedReplicas"]) == (1, 2)
    world.delete(PODS, "db-0")
    world.run_all()
    assert images(world)[0] == "nginx"  # below the partition the old template counts
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    world.change(STATEFUL_SETS, "db", lambda obj: obj["spec"].update(updateStrategy=strategy))
    world.run_all()
    assert set(images(world)) == {"nginx:2"}
    status = world.get(STATEFUL_SETS, "db")["status"]
    assert status["currentRevision"] == status["updateRevision"]
    assert [one["revision"] for one in world.all(CONTROLLER_REVISIONS)] in ([1, 2], [2, 1])


def test_every_pod_keeps_its_claim(world: World) -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    stateful_set(world, 2, volumeClaimTemplates=[claim])
    world.run_all()
    assert world.names(PERSISTENT_VOLUME_CLAIMS) == ["data-db-0", "data-db-1"]
    (volume,) = world.get(PODS, "db-1")["spec"]["volumes"]
    assert volume["persistentVolumeClaim"]["claimName"] == "data-db-1"
    world.change(STATEFUL_SETS, "db", lambda obj: obj["spec"].update(replicas=1))
    world.settle()
    assert world.names(PERSISTENT_VOLUME_CLAIMS) == ["data-db-0", "data-db-1"]
