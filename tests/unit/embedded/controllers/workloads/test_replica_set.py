from typing import Any

import pytest

from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.resources import (
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    Obj,
)
from tests.unit.embedded.fake_cluster import FakeCluster, template


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster(kubelet=KubeletSettings())
    cluster.node("n1")
    return cluster


def replica_set(cluster: FakeCluster, replicas: int = 3, **spec: Any) -> Obj:
    return cluster.create(
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


def test_a_deleted_pod_is_replaced(cluster: FakeCluster) -> None:
    replica_set(cluster)
    cluster.run_all()
    gone = cluster.names(PODS)[0]
    cluster.delete(PODS, gone)
    cluster.run_all()
    assert len(cluster.names(PODS)) == 3
    assert gone not in cluster.names(PODS)
    assert cluster.get(REPLICA_SETS, "web")["status"] == {
        "replicas": 3, "fullyLabeledReplicas": 3, "readyReplicas": 3, "availableReplicas": 3,
        "terminatingReplicas": 0, "observedGeneration": 1,
    }  # fmt: skip
    assert [reason for reason, _ in cluster.events("web")] == ["SuccessfulCreate"] * 4


def test_a_failed_pod_is_replaced_and_kept(cluster: FakeCluster) -> None:
    replica_set(cluster, 1)
    cluster.run_all()
    (name,) = cluster.names(PODS)
    cluster.change(PODS, name, lambda pod: pod["status"].update(phase="Failed"), "status")
    cluster.run_all()
    assert len(cluster.names(PODS)) == 2
    assert cluster.get(REPLICA_SETS, "web")["status"]["readyReplicas"] == 1


def test_pods_that_wait_are_given_up_first_and_then_the_youngest(cluster: FakeCluster) -> None:
    replica_set(cluster, 1)
    cluster.run_all()
    (oldest,) = cluster.names(PODS)
    cluster.now += 10
    cluster.change(REPLICA_SETS, "web", lambda obj: obj["spec"].update(replicas=2))
    cluster.run_all()
    cluster.change(REPLICA_SETS, "web", lambda obj: obj["spec"].update(replicas=3))
    cluster.settle()
    (waiting,) = [one for one in cluster.all(PODS) if not one["spec"].get("nodeName")]
    cluster.change(REPLICA_SETS, "web", lambda obj: obj["spec"].update(replicas=2))
    cluster.settle()
    assert waiting["metadata"]["name"] not in cluster.names(PODS)
    cluster.change(REPLICA_SETS, "web", lambda obj: obj["spec"].update(replicas=1))
    cluster.settle()
    assert cluster.names(PODS) == [oldest]


def test_a_pod_with_a_low_cost_goes_first(cluster: FakeCluster) -> None:
    replica_set(cluster, 3)
    cluster.run_all()
    cheap = cluster.names(PODS)[1]
    cost = {"controller.kubernetes.io/pod-deletion-cost": "-5"}
    cluster.change(PODS, cheap, lambda pod: pod["metadata"].update(annotations=cost))
    cluster.change(REPLICA_SETS, "web", lambda obj: obj["spec"].update(replicas=2))
    cluster.settle()
    assert cheap not in cluster.names(PODS)


def test_pods_are_taken_in_and_let_go_by_their_labels(cluster: FakeCluster) -> None:
    cluster.pod("alone", metadata={"labels": {"app": "web"}})
    replica_set(cluster, 2)
    cluster.settle()
    assert len(cluster.names(PODS)) == 2
    adopted = cluster.get(PODS, "alone")
    assert adopted["metadata"]["ownerReferences"][0]["name"] == "web"
    cluster.change(PODS, "alone", lambda pod: pod["metadata"].update(labels={"app": "other"}))
    cluster.settle()
    assert not cluster.get(PODS, "alone")["metadata"].get("ownerReferences")
    assert len(cluster.names(PODS)) == 3
    cluster.change(PODS, "alone", lambda pod: pod["metadata"].update(labels={"app": "web"}))
    cluster.settle()
    assert len(cluster.names(PODS)) == 2


def test_hundreds_of_pods_come_in_batches(cluster: FakeCluster) -> None:
    replica_set(cluster, 450)
    cluster.settle()
    assert len(cluster.names(PODS)) == 450
    cluster.wait(1)
    assert cluster.get(REPLICA_SETS, "web")["status"]["replicas"] == 450
    # As the real recorder does, floods of events are cut off.
    assert len(cluster.events("web")) == 25


def test_pods_count_as_available_after_a_while(cluster: FakeCluster) -> None:
    replica_set(cluster, 2, minReadySeconds=10)
    cluster.run_all()
    status = cluster.get(REPLICA_SETS, "web")["status"]
    assert (status["readyReplicas"], status.get("availableReplicas", 0)) == (2, 0)
    cluster.wait(11)
    assert cluster.get(REPLICA_SETS, "web")["status"]["availableReplicas"] == 2


def test_a_pod_that_cannot_be_made_is_told_and_tried_again(cluster: FakeCluster) -> None:
    replica_set(
        cluster, 1,
        template={
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [{"name": "main", "image": "nginx"}],
                "priorityClassName": "missing",
            },
        },
    )  # fmt: skip
    cluster.settle()
    (condition,) = cluster.get(REPLICA_SETS, "web")["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("ReplicaFailure", "FailedCreate")
    assert cluster.events("web")[0][0] == "FailedCreate"
    from mooring.embedded.resources import PRIORITY_CLASSES

    cluster.create(PRIORITY_CLASSES, {"metadata": {"name": "missing"}, "value": 7})
    cluster.wait(60)
    assert len(cluster.names(PODS)) == 1
    assert "conditions" not in cluster.get(REPLICA_SETS, "web")["status"]


def test_a_replication_controller_works_too(cluster: FakeCluster) -> None:
    cluster.create(
        REPLICATION_CONTROLLERS,
        {
            "metadata": {"name": "old"},
            "spec": {"replicas": 2, "selector": {"app": "o"}, "template": template(app="o")},
        },
    )
    cluster.run_all()
    assert cluster.get(REPLICATION_CONTROLLERS, "old")["status"]["readyReplicas"] == 2
