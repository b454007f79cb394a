"""Deployments roll out as the real controller does it, seen from their objects."""

from typing import Any

import pytest

from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.resources import DEPLOYMENTS, PODS, REPLICA_SETS, Obj
from tests.unit.embedded.fake_cluster import FakeCluster, template


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster(kubelet=KubeletSettings())
    cluster.node("n1")
    return cluster


def deploy(cluster: FakeCluster, replicas: int = 3, **spec: Any) -> Obj:
    return cluster.create(
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


def test_a_new_deployment_gets_a_replica_set_and_pods(cluster: FakeCluster) -> None:
    deploy(cluster)
    cluster.settle()
    waiting = cluster.get(DEPLOYMENTS, "web")
    assert waiting["status"]["unavailableReplicas"] == 3
    assert conditions(waiting)["Available"] == ("False", "MinimumReplicasUnavailable")
    assert conditions(waiting)["Progressing"] == ("True", "ReplicaSetUpdated")
    cluster.run_all()

    (only,) = cluster.all(REPLICA_SETS)
    digest = only["metadata"]["labels"]["pod-template-hash"]
    assert only["metadata"]["name"] == f"web-{digest}"
    assert only["spec"]["selector"]["matchLabels"] == {"app": "web", "pod-template-hash": digest}
    pods = cluster.all(PODS)
    assert len(pods) == 3
    assert {pod["metadata"]["generateName"] for pod in pods} == {f"web-{digest}-"}
    done = cluster.get(DEPLOYMENTS, "web")
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
    assert cluster.events("web") == [
        ("ScalingReplicaSet", f"Scaled up replica set web-{digest} from 0 to 3")
    ]


def test_a_rolling_update_never_has_too_many_or_too_few(cluster: FakeCluster) -> None:
    rolling = {"maxSurge": 1, "maxUnavailable": 0}
    deploy(cluster, 4, strategy={"type": "RollingUpdate", "rollingUpdate": rolling})
    cluster.run_all()
    cluster.change(DEPLOYMENTS, "web", set_image("nginx:2"))

    for _ in range(40):
        cluster.settle()
        sets = cluster.all(REPLICA_SETS)
        assert sum(one["spec"]["replicas"] for one in sets) <= 5
        assert sum(one["status"].get("availableReplicas", 0) for one in sets) >= 4
        if not cluster.bind_all("n1"):
            break
    old, new = sorted(cluster.all(REPLICA_SETS), key=lambda one: one["spec"]["replicas"])
    assert (old["spec"]["replicas"], new["spec"]["replicas"]) == (0, 4)
    assert {pod["spec"]["containers"][0]["image"] for pod in cluster.all(PODS)} == {"nginx:2"}
    told = [message.split(" from ")[1] for _, message in cluster.events("web")]
    assert told == [
        "0 to 4", "0 to 1", "4 to 3", "1 to 2", "3 to 2", "2 to 3", "2 to 1", "3 to 4", "1 to 0",
    ]  # fmt: skip


def test_recreate_waits_until_the_old_pods_are_gone(cluster: FakeCluster) -> None:
    cluster = FakeCluster(kubelet=KubeletSettings(stop_seconds=5))
    cluster.node("n1")
    deploy(cluster, 2, strategy={"type": "Recreate"})
    cluster.run_all()
    cluster.change(DEPLOYMENTS, "web", set_image("nginx:2"))
    cluster.settle()
    assert len(cluster.names(REPLICA_SETS)) == 1
    assert len(cluster.names(PODS)) == 2
    cluster.wait(6)
    assert len(cluster.names(REPLICA_SETS)) == 2
    cluster.run_all()
    assert {pod["spec"]["containers"][0]["image"] for pod in cluster.all(PODS)} == {"nginx:2"}


def test_rolling_back_reuses_the_old_replica_set_with_a_new_revision(cluster: FakeCluster) -> None:
    deploy(cluster)
    cluster.run_all()
    (first,) = cluster.names(REPLICA_SETS)
    cluster.change(DEPLOYMENTS, "web", set_image("nginx:2"))
    cluster.run_all()
    cluster.change(DEPLOYMENTS, "web", set_image("nginx"))
    cluster.run_all()
    assert len(cluster.names(REPLICA_SETS)) == 2
    again = cluster.get(REPLICA_SETS, first)
    assert again["spec"]["replicas"] == 3
    annotations = again["metadata"]["annotations"]
    assert annotations["deployment.kubernetes.io/revision"] == "3"
    assert annotations["deployment.kubernetes.io/revision-history"] == "1"
    deployment = cluster.get(DEPLOYMENTS, "web")
    assert deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3"


def test_scaling_changes_the_one_replica_set(cluster: FakeCluster) -> None:
    deploy(cluster, 2)
    cluster.run_all()
    cluster.change(DEPLOYMENTS, "web", lambda obj: obj["spec"].update(replicas=5))
    cluster.run_all()
    assert len(cluster.names(PODS)) == 5
    cluster.change(DEPLOYMENTS, "web", lambda obj: obj["spec"].update(replicas=0))
    cluster.run_all()
    assert cluster.names(PODS) == []
    assert cluster.get(DEPLOYMENTS, "web")["status"]["observedGeneration"] == 3
    assert [message.split(" from ")[1] for _, message in cluster.events("web")] == [
        "0 to 2", "2 to 5", "5 to 0",
    ]  # fmt: skip


def test_a_paused_deployment_is_scaled_but_not_rolled(cluster: FakeCluster) -> None:
    deploy(cluster, 2)
    cluster.run_all()
    cluster.change(DEPLOYMENTS, "web", lambda obj: obj["spec"].update(paused=True))
    cluster.change(DEPLOYMENTS, "web", set_image("nginx:2"))
    cluster.change(DEPLOYMENTS, "web", lambda obj: obj["spec"].update(replicas=3))
    cluster.run_all()
    assert len(cluster.names(REPLICA_SETS)) == 1
    assert len(cluster.names(PODS)) == 3
    assert conditions(cluster.get(DEPLOYMENTS, "web"))["Progressing"][1] == "DeploymentPaused"
    cluster.change(DEPLOYMENTS, "web", lambda obj: obj["spec"].pop("paused"))
    cluster.run_all()
    assert {pod["spec"]["containers"][0]["image"] for pod in cluster.all(PODS)} == {"nginx:2"}
    assert conditions(cluster.get(DEPLOYMENTS, "web"))["Progressing"][1] == "NewReplicaSetAvailable"


def test_a_rollout_without_progress_is_late(cluster: FakeCluster) -> None:
    deploy(cluster, progressDeadlineSeconds=30)
    cluster.wait(35)
    late = cluster.get(DEPLOYMENTS, "web")
    assert conditions(late)["Progressing"] == ("False", "ProgressDeadlineExceeded")
    cluster.run_all()
    done = cluster.get(DEPLOYMENTS, "web")
    assert conditions(done)["Progressing"] == ("True", "NewReplicaSetAvailable")


def test_old_replica_sets_beyond_the_limit_are_deleted(cluster: FakeCluster) -> None:
    deploy(cluster, 1, revisionHistoryLimit=1)
    cluster.run_all()
    for number in range(4):
        cluster.now += 10
        cluster.change(DEPLOYMENTS, "web", set_image(f"nginx:{number}"))
        cluster.run_all()
    assert len(cluster.names(REPLICA_SETS)) == 2


def test_a_deployment_scaled_in_mid_rollout_shares_the_pods_in_proportion(
    cluster: FakeCluster,
) -> None:
    deploy(cluster, 10)
    cluster.run_all()
    cluster.now += 10
    cluster.change(DEPLOYMENTS, "web", set_image("nginx:2"))
    cluster.settle()  # nobody binds the new pods: 8 old ones, 5 new ones
    sizes = sorted(one["spec"]["replicas"] for one in cluster.all(REPLICA_SETS))
    assert sizes == [5, 8]
    cluster.change(DEPLOYMENTS, "web", lambda obj: obj["spec"].update(replicas=20))
    cluster.settle()
    sizes = sorted(one["spec"]["replicas"] for one in cluster.all(REPLICA_SETS))
    assert sum(sizes) == 25
    assert sizes == [10, 15]


def test_a_deployment_takes_in_the_replica_sets_it_left_behind(cluster: FakeCluster) -> None:
    deploy(cluster)
    cluster.run_all()
    before = cluster.names(PODS)
    cluster.delete(DEPLOYMENTS, "web", propagationPolicy="Orphan")
    cluster.settle()
    assert cluster.names(PODS) == before
    (orphan,) = cluster.all(REPLICA_SETS)
    assert not orphan["metadata"].get("ownerReferences")
    again = deploy(cluster)
    cluster.run_all()
    (adopted,) = cluster.all(REPLICA_SETS)
    assert adopted["metadata"]["ownerReferences"][0]["uid"] == again["metadata"]["uid"]
    assert cluster.names(PODS) == before
