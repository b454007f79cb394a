"""Deployments roll out as the real controller does it, seen from their objects."""

from typing import Any

import pytest

from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.resources import DEPLOYMENTS, PODS, REPLICA_SETS, Obj
from tests.unit.embedded.controllers.world import World, template


@pytest.fixture
def world() -> World:
    world = World(kubelet=KubeletSettings())
    world.node("n1")
    return world


def deploy(world: World, replicas: int = 3, **spec: Any) -> Obj:
    return world.create(
        DEPLOYMENTS,
        {
            "metadata": {"name": "web"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": "web"}},
                "template": template(app="web"),
                **spec,
            },
        },
    )


def set_image(image: str) -> Any:
    def change(obj: Obj) -> None:
        obj["spec"]["template"]["spec"]["containers"][0]["image"] = image

    return change


def conditions(obj: Obj) -> dict[str, tuple[str, str]]:
    return {
        one["type"]: (one["status"], one["reason"]) for one in obj["status"].get("conditions", ())
    }


def test_a_new_deployment_gets_a_replica_set_and_pods(world: World) -> None:
    deploy(world)
    world.settle()
    waiting = world.get(DEPLOYMENTS, "web")
    assert waiting["status"]["unavailableReplicas"] == 3
    assert conditions(waiting)["Available"] == ("False", "MinimumReplicasUnavailable")
    assert conditions(waiting)["Progressing"] == ("True", "ReplicaSetUpdated")
    world.run_all()

    (only,) = world.all(REPLICA_SETS)
    digest = only["metadata"]["labels"]["pod-template-hash"]
    assert only["metadata"]["name"] == f"web-{digest}"
    assert only["spec"]["selector"]["matchLabels"] == {"app": "web", "pod-template-hash": digest}
    pods = world.all(PODS)
    assert len(pods) == 3
    assert {pod["metadata"]["generateName"] for pod in pods} == {f"web-{digest}-"}
    done = world.get(DEPLOYMENTS, "web")
    assert done["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"
    status = done["status"]
    counts = {name: value for name, value in status.items() if name != "conditions"}
    assert counts == {
        "observedGeneration": 1, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3,
        "availableReplicas": 3, "terminatingReplicas": 0,
    }  # fmt: skip
    assert conditions(done) == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("True", "NewReplicaSetAvailable"),
    }
    assert world.events("web") == [
        ("ScalingReplicaSet", f"Scaled up replica set web-{digest} from 0 to 3")
    ]


def test_a_rolling_update_never_has_too_many_or_too_few(world: World) -> None:
    rolling = {"maxSurge": 1, "maxUnavailable": 0}
    deploy(world, 4, strategy={"type": "RollingUpdate", "rollingUpdate": rolling})
    world.run_all()
    world.change(DEPLOYMENTS, "web", set_image("nginx:2"))

    for _ in range(40):
        world.settle()
        sets = world.all(REPLICA_SETS)
        assert sum(one["spec"]["replicas"] for one in sets) <= 5
        assert sum(one["status"].get("availableReplicas", 0) for one in sets) >= 4
        if not world.bind_all("n1"):
            break
    old, new = sorted(world.all(REPLICA_SETS), key=lambda one: one["spec"]["replicas"])
    assert (old["spec"]["replicas"], new["spec"]["replicas"]) == (0, 4)
    assert {pod["spec"]["containers"][0]["image"] for pod in world.all(PODS)} == {"nginx:2"}
    told = [message.split(" from ")[1] for _, message in world.events("web")]
    assert told == [
        "0 to 4", "0 to 1", "4 to 3", "1 to 2", "3 to 2", "2 to 3", "2 to 1", "3 to 4", "1 to 0",
    ]  # fmt: skip


def test_recreate_waits_until_the_old_pods_are_gone(world: World) -> None:
    world = World(kubelet=KubeletSettings(stop_seconds=5))
    world.node("n1")
    deploy(world, 2, strategy={"type": "Recreate"})
    world.run_all()
    world.change(DEPLOYMENTS, "web", set_image("nginx:2"))
    world.settle()
    assert len(world.names(REPLICA_SETS)) == 1
    assert len(world.names(PODS)) == 2
    world.wait(6)
    assert len(world.names(REPLICA_SETS)) == 2
    world.run_all()
    assert {pod["spec"]["containers"][0]["image"] for pod in world.all(PODS)} == {"nginx:2"}


def test_rolling_back_reuses_the_old_replica_set_with_a_new_revision(world: World) -> None:
    deploy(world)
    world.run_all()
    (first,) = world.names(REPLICA_SETS)
    world.change(DEPLOYMENTS, "web", set_image("nginx:2"))
    world.run_all()
    world.change(DEPLOYMENTS, "web", set_image("nginx"))
    world.run_all()
    assert len(world.names(REPLICA_SETS)) == 2
    again = world.get(REPLICA_SETS, first)
    assert again["spec"]["replicas"] == 3
    annotations = again["metadata"]["annotations"]
    assert annotations["deployment.kubernetes.io/revision"] == "3"
    assert annotations["deployment.kubernetes.io/revision-history"] == "1"
    deployment = world.get(DEPLOYMENTS, "web")
    assert deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3"


def test_scaling_changes_the_one_replica_set(world: World) -> None:
    deploy(world, 2)
    world.run_all()
    world.change(DEPLOYMENTS, "web", lambda obj: obj["spec"].update(replicas=5))
    world.run_all()
    assert len(world.names(PODS)) == 5
    world.change(DEPLOYMENTS, "web", lambda obj: obj["spec"].update(replicas=0))
    world.run_all()
    assert world.names(PODS) == []
    assert world.get(DEPLOYMENTS, "web")["status"]["observedGeneration"] == 3
    assert [message.split(" from ")[1] for _, message in world.events("web")] == [
        "0 to 2", "2 to 5", "5 to 0",
    ]  # fmt: skip


def test_a_paused_deployment_is_scaled_but_not_rolled(world: World) -> None:
    deploy(world, 2)
    world.run_all()
    world.change(DEPLOYMENTS, "web", lambda obj: obj["spec"].update(paused=True))
    world.change(DEPLOYMENTS, "web", set_image("nginx:2"))
    world.change(DEPLOYMENTS, "web", lambda obj: obj["spec"].update(replicas=3))
    world.run_all()
    assert len(world.names(REPLICA_SETS)) == 1
    assert len(world.names(PODS)) == 3
    assert conditions(world.get(DEPLOYMENTS, "web"))["Progressing"][1] == "DeploymentPaused"
    world.change(DEPLOYMENTS, "web", lambda obj: obj["spec"].pop("paused"))
    world.run_all()
    assert {pod["spec"]["containers"][0]["image"] for pod in world.all(PODS)} == {"nginx:2"}
    assert conditions(world.get(DEPLOYMENTS, "web"))["Progressing"][1] == "NewReplicaSetAvailable"


def test_a_rollout_without_progress_is_late(world: World) -> None:
    deploy(world, progressDeadlineSeconds=30)
    world.wait(35)
    late = world.get(DEPLOYMENTS, "web")
    assert conditions(late)["Progressing"] == ("False", "ProgressDeadlineExceeded")
    world.run_all()
    done = world.get(DEPLOYMENTS, "web")
    assert conditions(done)["Progressing"] == ("True", "NewReplicaSetAvailable")


def test_old_replica_sets_beyond_the_limit_are_deleted(world: World) -> None:
    deploy(world, 1, revisionHistoryLimit=1)
    world.run_all()
    for number in range(4):
        world.now += 10
        world.change(DEPLOYMENTS, "web", set_image(f"nginx:{number}"))
        world.run_all()
    assert len(world.names(REPLICA_SETS)) == 2


def test_a_deployment_scaled_in_mid_rollout_shares_the_pods_in_proportion(world: World) -> None:
    deploy(world, 10)
    world.run_all()
    world.now += 10
    world.change(DEPLOYMENTS, "web", set_image("nginx:2"))
    world.settle()  # nobody binds the new pods: 8 old ones, 5 new ones
    sizes = sorted(one["spec"]["replicas"] for one in world.all(REPLICA_SETS))
    assert sizes == [5, 8]
    world.change(DEPLOYMENTS, "web", lambda obj: obj["spec"].update(replicas=20))
    world.settle()
    sizes = sorted(one["spec"]["replicas"] for one in world.all(REPLICA_SETS))
    assert sum(sizes) == 25
    assert sizes == [10, 15]


def test_a_deployment_takes_in_the_replica_sets_it_left_behind(world: World) -> None:
    deploy(world)
    world.run_all()
    before = world.names(PODS)
    world.delete(DEPLOYMENTS, "web", propagationPolicy="Orphan")
    world.settle()
    assert world.names(PODS) == before
    (orphan,) = world.all(REPLICA_SETS)
    assert not orphan["metadata"].get("ownerReferences")
    again = deploy(world)
    world.run_all()
    (adopted,) = world.all(REPLICA_SETS)
    assert adopted["metadata"]["ownerReferences"][0]["uid"] == again["metadata"]["uid"]
    assert world.names(PODS) == before
