from typing import Any

import pytest

from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.resources import JOBS, PODS, Obj
from tests.unit.embedded.fake_cluster import FakeCluster


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster(kubelet=KubeletSettings(job_seconds=3))
    cluster.node("n1")
    return cluster


def job(cluster: FakeCluster, name: str = "work", *, annotations: Any = None, **spec: Any) -> Obj:
    inner = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    template = {"metadata": {"annotations": annotations or {}}, "spec": inner}
    return cluster.create(
        JOBS, {"metadata": {"name": name}, "spec": {"template": template, **spec}}
    )


def conditions(cluster: FakeCluster, name: str = "work") -> list[tuple[str, str, str]]:
    status = cluster.get(JOBS, name)["status"]
    return [(one["type"], one["status"], one["reason"]) for one in status.get("conditions", ())]


def live(cluster: FakeCluster, seconds: int) -> None:
    for _ in range(seconds):
        cluster.run_all()
        cluster.wait(1)


def test_a_job_runs_its_pods_a_few_at_a_time(cluster: FakeCluster) -> None:
    job(cluster, completions=3, parallelism=2)
    cluster.run_all()
    status = cluster.get(JOBS, "work")["status"]
    assert (status["active"], status["ready"]) == (2, 2)
    live(cluster, 8)
    status = cluster.get(JOBS, "work")["status"]
    assert (status["succeeded"], status.get("active")) == (3, None)
    assert status["completionTime"] == "2027-01-15T08:00:06Z"
    assert conditions(cluster) == [
        ("SuccessCriteriaMet", "True", "CompletionsReached"),
        ("Complete", "True", "CompletionsReached"),
    ]
    assert {pod["status"]["phase"] for pod in cluster.all(PODS)} == {"Succeeded"}
    assert all("finalizers" not in pod["metadata"] for pod in cluster.all(PODS))
    assert cluster.events("work")[-1] == ("Completed", "Job completed")


def test_a_job_that_fails_too_often_fails(cluster: FakeCluster) -> None:
    job(cluster, annotations={"mooring.dev/exit-code": "3"}, backoffLimit=1)
    live(cluster, 5)
    assert cluster.get(JOBS, "work")["status"]["failed"] == 1
    assert conditions(cluster) == []
    live(cluster, 15)  # the second pod comes ten seconds after the first one failed
    assert cluster.get(JOBS, "work")["status"]["failed"] == 2
    assert conditions(cluster) == [
        ("FailureTarget", "True", "BackoffLimitExceeded"),
        ("Failed", "True", "BackoffLimitExceeded"),
    ]
    (pod, _) = cluster.all(PODS)
    (container,) = pod["status"]["containerStatuses"]
    assert container["state"]["terminated"]["exitCode"] == 3
    assert cluster.events("work")[-1][0] == "BackoffLimitExceeded"


def test_every_pod_of_an_indexed_job_has_its_number(cluster: FakeCluster) -> None:
    job(cluster, completions=4, parallelism=2, completionMode="Indexed")
    cluster.run_all()
    names = [pod["metadata"]["generateName"] for pod in cluster.all(PODS)]
    assert names == ["work-0-", "work-1-"]
    live(cluster, 4)
    assert cluster.get(JOBS, "work")["status"]["completedIndexes"] == "0,1"
    live(cluster, 6)
    status = cluster.get(JOBS, "work")["status"]
    assert (status["completedIndexes"], status["succeeded"]) == ("0-3", 4)
    pod = cluster.all(PODS)[3]
    index = "batch.kubernetes.io/job-completion-index"
    assert pod["metadata"]["labels"][index] == pod["metadata"]["annotations"][index] == "3"
    assert pod["spec"]["hostname"] == "work-3"
    (env,) = pod["spec"]["containers"][0]["env"]
    assert env["name"] == "JOB_COMPLETION_INDEX"


def test_a_deleted_pod_counts_as_failed_and_is_replaced(cluster: FakeCluster) -> None:
    job(cluster, backoffLimit=2)
    cluster.run_all()
    (name,) = cluster.names(PODS)
    cluster.delete(PODS, name)
    live(cluster, 20)
    status = cluster.get(JOBS, "work")["status"]
    assert (status["failed"], status["succeeded"]) == (1, 1)


def test_a_suspended_job_has_no_pods(cluster: FakeCluster) -> None:
    job(cluster, suspend=True)
    cluster.run_all()
    assert cluster.names(PODS) == []
    assert conditions(cluster) == [("Suspended", "True", "JobSuspended")]
    assert "startTime" not in cluster.get(JOBS, "work")["status"]
    cluster.change(JOBS, "work", lambda obj: obj["spec"].update(suspend=False))
    cluster.run_all()
    assert len(cluster.names(PODS)) == 1
    assert conditions(cluster) == [("Suspended", "False", "JobResumed")]
    cluster.change(JOBS, "work", lambda obj: obj["spec"].update(suspend=True))
    cluster.run_all()
    assert cluster.names(PODS) == []
    assert "failed" not in cluster.get(JOBS, "work")["status"]


def test_a_job_has_a_deadline(cluster: FakeCluster) -> None:
    cluster = FakeCluster(kubelet=KubeletSettings())
    cluster.node("n1")
    job(cluster, activeDeadlineSeconds=20)
    cluster.run_all()
    cluster.wait(21)
    assert conditions(cluster)[-1] == ("Failed", "True", "DeadlineExceeded")
    assert cluster.names(PODS) == []


def test_a_finished_job_goes_after_its_time_with_its_pods(cluster: FakeCluster) -> None:
    job(cluster, ttlSecondsAfterFinished=30)
    live(cluster, 5)
    assert conditions(cluster)
    cluster.wait(31)
    assert cluster.find(JOBS, "work") is None
    assert cluster.names(PODS) == []


def test_pods_of_a_deleted_job_go_though_nobody_counted_them(cluster: FakeCluster) -> None:
    job(cluster, parallelism=2)
    cluster.run_all()
    cluster.delete(JOBS, "work", propagationPolicy="Background")
    cluster.settle()
    assert cluster.names(PODS) == []


def test_a_job_without_completions_ends_with_its_first_success(cluster: FakeCluster) -> None:
    created = job(cluster, parallelism=3, completions=None)
    assert created["spec"].get("completions") is None
    live(cluster, 5)
    status = cluster.get(JOBS, "work")["status"]
    assert (status["succeeded"], conditions(cluster)[-1][0]) == (3, "Complete")
