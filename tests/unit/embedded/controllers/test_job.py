from typing import Any

import pytest

from mooring.embedded.controllers.job_indexes import read_indexes, write_indexes
from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.resources import JOBS, PODS, Obj
from tests.unit.embedded.controllers.world import World


@pytest.fixture
def world() -> World:
    world = World(kubelet=KubeletSettings(job_seconds=3))
    world.node("n1")
    return world


def job(world: World, name: str = "work", *, annotations: Any = None, **spec: Any) -> Obj:
    inner = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    template = {"metadata": {"annotations": annotations or {}}, "spec": inner}
    return world.create(JOBS, {"metadata": {"name": name}, "spec": {"template": template, **spec}})


def conditions(world: World, name: str = "work") -> list[tuple[str, str, str]]:
    status = world.get(JOBS, name)["status"]
    return [(one["type"], one["status"], one["reason"]) for one in status.get("conditions", ())]


def live(world: World, seconds: int) -> None:
    for _ in range(seconds):
        world.run_all()
        world.wait(1)


def test_a_job_runs_its_pods_a_few_at_a_time(world: World) -> None:
    job(world, completions=3, parallelism=2)
    world.run_all()
    status = world.get(JOBS, "work")["status"]
    assert (status["active"], status["ready"]) == (2, 2)
    live(world, 8)
    status = world.get(JOBS, "work")["status"]
    assert (status["succeeded"], status.get("active")) == (3, None)
    assert status["completionTime"] == "2027-01-15T08:00:06Z"
    assert conditions(world) == [
        ("SuccessCriteriaMet", "True", "CompletionsReached"),
        ("Complete", "True", "CompletionsReached"),
    ]
    assert {pod["status"]["phase"] for pod in world.all(PODS)} == {"Succeeded"}
    assert all("finalizers" not in pod["metadata"] for pod in world.all(PODS))
    assert world.events("work")[-1] == ("Completed", "Job completed")


def test_a_job_that_fails_too_often_fails(world: World) -> None:
    job(world, annotations={"mooring.dev/exit-code": "3"}, backoffLimit=1)
    live(world, 5)
    assert world.get(JOBS, "work")["status"]["failed"] == 1
    assert conditions(world) == []
    live(world, 15)  # the second pod comes ten seconds after the first one failed
    assert world.get(JOBS, "work")["status"]["failed"] == 2
    assert conditions(world) == [
        ("FailureTarget", "True", "BackoffLimitExceeded"),
        ("Failed", "True", "BackoffLimitExceeded"),
    ]
    (pod, _) = world.all(PODS)
    (container,) = pod["status"]["containerStatuses"]
    assert container["state"]["terminated"]["exitCode"] == 3
    assert world.events("work")[-1][0] == "BackoffLimitExceeded"


def test_every_pod_of_an_indexed_job_has_its_number(world: World) -> None:
    job(world, completions=4, parallelism=2, completionMode="Indexed")
    world.run_all()
    names = [pod["metadata"]["generateName"] for pod in world.all(PODS)]
    assert names == ["work-0-", "work-1-"]
    live(world, 4)
    assert world.get(JOBS, "work")["status"]["completedIndexes"] == "0,1"
    live(world, 6)
    status = world.get(JOBS, "work")["status"]
    assert (status["completedIndexes"], status["succeeded"]) == ("0-3", 4)
    pod = world.all(PODS)[3]
    index = "batch.kubernetes.io/job-completion-index"
    assert pod["metadata"]["labels"][index] == pod["metadata"]["annotations"][index] == "3"
    assert pod["spec"]["hostname"] == "work-3"
    (env,) = pod["spec"]["containers"][0]["env"]
    assert env["name"] == "JOB_COMPLETION_INDEX"


def test_a_deleted_pod_counts_as_failed_and_is_replaced(world: World) -> None:
    job(world, backoffLimit=2)
    world.run_all()
    (name,) = world.names(PODS)
    world.delete(PODS, name)
    live(world, 20)
    status = world.get(JOBS, "work")["status"]
    assert (status["failed"], status["succeeded"]) == (1, 1)


def test_a_suspended_job_has_no_pods(world: World) -> None:
    job(world, suspend=True)
    world.run_all()
    assert world.names(PODS) == []
    assert conditions(world) == [("Suspended", "True", "JobSuspended")]
    assert "startTime" not in world.get(JOBS, "work")["status"]
    world.change(JOBS, "work", lambda obj: obj["spec"].update(suspend=False))
    world.run_all()
    assert len(world.names(PODS)) == 1
    assert conditions(world) == [("Suspended", "False", "JobResumed")]
    world.change(JOBS, "work", lambda obj: obj["spec"].update(suspend=True))
    world.run_all()
    assert world.names(PODS) == []
    assert "failed" not in world.get(JOBS, "work")["status"]


def test_a_job_has_a_deadline(world: World) -> None:
    world = World(kubelet=KubeletSettings())
    world.node("n1")
    job(world, activeDeadlineSeconds=20)
    world.run_all()
    world.wait(21)
    assert conditions(world)[-1] == ("Failed", "True", "DeadlineExceeded")
    assert world.names(PODS) == []


def test_a_finished_job_goes_after_its_time_with_its_pods(world: World) -> None:
    job(world, ttlSecondsAfterFinished=30)
    live(world, 5)
    assert conditions(world)
    world.wait(31)
    assert world.find(JOBS, "work") is None
    assert world.names(PODS) == []


def test_pods_of_a_deleted_job_go_though_nobody_counted_them(world: World) -> None:
    job(world, parallelism=2)
    world.run_all()
    world.delete(JOBS, "work", propagationPolicy="Background")
    world.settle()
    assert world.names(PODS) == []


def test_a_job_without_completions_ends_with_its_first_success(world: World) -> None:
    created = job(world, parallelism=3, completions=None)
    assert created["spec"].get("completions") is None
    live(world, 5)
    status = world.get(JOBS, "work")["status"]
    assert (status["succeeded"], conditions(world)[-1][0]) == (3, "Complete")


@pytest.mark.parametrize(
    ("text", "indexes"),
    [
        ("", []),
        ("0", [0]),
        ("0,1", [0, 1]),
        ("0-2,5", [0, 1, 2, 5]),
        ("1,3-5,7,8", [1, 3, 4, 5, 7, 8]),
    ],
)
def test_indexes_are_written_in_ranges(text: str, indexes: list[int]) -> None:
    assert write_indexes(indexes) == text
    assert read_indexes(text, 100) == set(indexes)
