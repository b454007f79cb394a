from typing import Any

import pytest

from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.resources import (
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    Obj,
)
from tests.unit.embedded.controllers.world import World, template


@pytest.fixture
def world() -> World:
    world = World(kubelet=KubeletSettings())
    world.node("n1")
    return world


def replica_set(world: World, replicas: int = 3, **spec: Any) -> Obj:
    return world.create(
        REPLICA_SETS,
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


def test_a_deleted_pod_is_replaced(world: World) -> None:
    replica_set(world)
    world.run_all()
    gone = world.names(PODS)[0]
    world.delete(PODS, gone)
    world.run_all()
    assert len(world.names(PODS)) == 3
    assert gone not in world.names(PODS)
    assert world.get(REPLICA_SETS, "web")["status"] == {
        "replicas": 3, "fullyLabeledReplicas": 3, "readyReplicas": 3, "availableReplicas": 3,
        "terminatingReplicas": 0, "observedGeneration": 1,
    }  # fmt: skip
    assert [reason for reason, _ in world.events("web")] == ["SuccessfulCreate"] * 4


def test_a_failed_pod_is_replaced_and_kept(world: World) -> None:
    replica_set(world, 1)
    world.run_all()
    (name,) = world.names(PODS)
    world.change(PODS, name, lambda pod: pod["status"].update(phase="Failed"), "status")
    world.run_all()
    assert len(world.names(PODS)) == 2
    assert world.get(REPLICA_SETS, "web")["status"]["readyReplicas"] == 1


def test_pods_that_wait_are_given_up_first_and_then_the_youngest(world: World) -> None:
    replica_set(world, 1)
    world.run_all()
    (oldest,) = world.names(PODS)
    world.now += 10
    world.change(REPLICA_SETS, "web", lambda obj: obj["spec"].update(replicas=2))
    world.run_all()
    world.change(REPLICA_SETS, "web", lambda obj: obj["spec"].update(replicas=3))
    world.settle()
    (waiting,) = [one for one in world.all(PODS) if not one["spec"].get("nodeName")]
    world.change(REPLICA_SETS, "web", lambda obj: obj["spec"].update(replicas=2))
    world.settle()
    assert waiting["metadata"]["name"] not in world.names(PODS)
    world.change(REPLICA_SETS, "web", lambda obj: obj["spec"].update(replicas=1))
    world.settle()
    assert world.names(PODS) == [oldest]


def test_a_pod_with_a_low_cost_goes_first(world: World) -> None:
    replica_set(world, 3)
    world.run_all()
    cheap = world.names(PODS)[1]
    cost = {"controller.kubernetes.io/pod-deletion-cost": "-5"}
    world.change(PODS, cheap, lambda pod: pod["metadata"].update(annotations=cost))
    world.change(REPLICA_SETS, "web", lambda obj: obj["spec"].update(replicas=2))
    world.settle()
    assert cheap not in world.names(PODS)


def test_pods_are_taken_in_and_let_go_by_their_labels(world: World) -> None:
    world.pod("alone", metadata={"labels": {"app": "web"}})
    replica_set(world, 2)
    world.settle()
    assert len(world.names(PODS)) == 2
    adopted = world.get(PODS, "alone")
    assert adopted["metadata"]["ownerReferences"][0]["name"] == "web"
    world.change(PODS, "alone", lambda pod: pod["metadata"].update(labels={"app": "other"}))
    world.settle()
    assert not world.get(PODS, "alone")["metadata"].get("ownerReferences")
    assert len(world.names(PODS)) == 3
    world.change(PODS, "alone", lambda pod: pod["metadata"].update(labels={"app": "web"}))
    world.settle()
    assert len(world.names(PODS)) == 2


def test_hundreds_of_pods_come_in_batches(world: World) -> None:
    replica_set(world, 450)
    world.settle()
    assert len(world.names(PODS)) == 450
    world.wait(1)
    assert world.get(REPLICA_SETS, "web")["status"]["replicas"] == 450
    # As the real recorder does, floods of events are cut off.
    assert len(world.events("web")) == 25


def test_pods_count_as_available_after_a_while(world: World) -> None:
    replica_set(world, 2, minReadySeconds=10)
    world.run_all()
    status = world.get(REPLICA_SETS, "web")["status"]
    assert (status["readyReplicas"], status.get("availableReplicas", 0)) == (2, 0)
    world.wait(11)
    assert world.get(REPLICA_SETS, "web")["status"]["availableReplicas"] == 2


def test_a_pod_that_cannot_be_made_is_told_and_tried_again(world: World) -> None:
    replica_set(
        world, 1,
        template={
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [{"name": "main", "image": "nginx"}],
                "priorityClassName": "missing",
            },
        },
    )  # fmt: skip
    world.settle()
    (condition,) = world.get(REPLICA_SETS, "web")["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("ReplicaFailure", "FailedCreate")
    assert world.events("web")[0][0] == "FailedCreate"
    from mooring.embedded.resources import PRIORITY_CLASSES

    world.create(PRIORITY_CLASSES, {"metadata": {"name": "missing"}, "value": 7})
    world.wait(60)
    assert len(world.names(PODS)) == 1
    assert "conditions" not in world.get(REPLICA_SETS, "web")["status"]


def test_a_replication_controller_works_too(world: World) -> None:
    world.create(
        REPLICATION_CONTROLLERS,
        {
            "metadata": {"name": "old"},
            "spec": {"replicas": 2, "selector": {"app": "o"}, "template": template(app="o")},
        },
    )
    world.run_all()
    assert world.get(REPLICATION_CONTROLLERS, "old")["status"]["readyReplicas"] == 2
