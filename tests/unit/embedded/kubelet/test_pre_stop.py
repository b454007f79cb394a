"""A preStop hook keeps a terminating pod on its node; without one a pod goes at once."""

from typing import Any

import pytest

from mooring.embedded.kubelet.kubelet import KubeletSettings
from mooring.embedded.resources import PODS, Obj
from tests.unit.embedded.fake_cluster import FakeCluster

COMMAND = {"exec": {"command": ["drain"]}}


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster(kubelet=KubeletSettings(events=True), controllers=False)
    cluster.node("n1")
    return cluster


def container(name: str = "main", **lifecycle: Any) -> Obj:
    return {"name": name, "image": "nginx", "lifecycle": lifecycle}


def running(cluster: FakeCluster, *containers: Obj, **spec: Any) -> None:
    """A pod that runs, with so many seconds to terminate."""
    spec.setdefault("terminationGracePeriodSeconds", 10)
    cluster.pod("p", node="n1", containers=list(containers), **spec)
    cluster.settle()
    assert cluster.get(PODS, "p")["status"]["phase"] == "Running"


def lived(cluster: FakeCluster, seconds: float) -> bool:
    """Whether the pod is there until a moment before that time, and gone a moment after it."""
    cluster.wait(seconds - 0.1)
    before = cluster.names(PODS)
    cluster.wait(0.2)
    return (before, cluster.names(PODS)) == (["p"], [])


@pytest.mark.parametrize("hook", [COMMAND, {"httpGet": {"port": 80}}])
def test_a_hook_of_unknown_length_takes_the_whole_grace_period(
    cluster: FakeCluster, hook: Obj
) -> None:
    running(cluster, container(preStop=hook))
    cluster.delete(PODS, "p")
    cluster.settle()
    pod = cluster.get(PODS, "p")
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 10
    assert pod["status"]["phase"] == "Running"
    assert lived(cluster, 10)
    assert [reason for reason, _ in cluster.events("p")].count("Killing") == 1


@pytest.mark.parametrize(("grace", "expected"), [(10, 3), (2, 2)])
def test_a_hook_that_sleeps_takes_as_long_as_it_says(
    cluster: FakeCluster, grace: int, expected: int
) -> None:
    running(cluster, container(preStop={"sleep": {"seconds": 3}}))
    cluster.delete(PODS, "p", gracePeriodSeconds=grace)
    assert lived(cluster, expected)


def test_the_longest_hook_counts(cluster: FakeCluster) -> None:
    def sleep(seconds: int) -> Obj:
        return {"preStop": {"sleep": {"seconds": seconds}}}

    sidecar = {**container("side", **sleep(7)), "restartPolicy": "Always"}
    running(cluster, container(**sleep(2)), container("other"), initContainers=[sidecar])
    cluster.delete(PODS, "p")
    assert lived(cluster, 7)


def test_a_request_may_give_another_grace_period(cluster: FakeCluster) -> None:
    running(cluster, container(preStop=COMMAND))
    cluster.delete(PODS, "p", gracePeriodSeconds=4)
    assert lived(cluster, 4)


def test_a_later_request_may_shorten_it(cluster: FakeCluster) -> None:
    running(cluster, container(preStop=COMMAND), terminationGracePeriodSeconds=60)
    cluster.delete(PODS, "p")
    cluster.wait(20)
    cluster.delete(PODS, "p", gracePeriodSeconds=1)
    assert lived(cluster, 1)
    assert [reason for reason, _ in cluster.events("p")].count("Killing") == 1


def test_a_pod_that_is_deleted_by_force_goes_at_once(cluster: FakeCluster) -> None:
    running(cluster, container(preStop=COMMAND))
    cluster.delete(PODS, "p", gracePeriodSeconds=0)
    assert cluster.names(PODS) == []


def test_a_pod_that_has_not_started_or_has_ended_runs_no_hook(cluster: FakeCluster) -> None:
    settings = KubeletSettings(start_seconds=5)
    for before in (1, 9):
        cluster = FakeCluster(kubelet=settings, controllers=False)
        cluster.node("n1")
        annotations = {"mooring.dev/run-seconds": "2"}
        cluster.pod(
            "p", node="n1", containers=[container(preStop=COMMAND)],
            metadata={"annotations": annotations},
        )  # fmt: skip
        cluster.wait(before)
        assert cluster.get(PODS, "p")["status"]["phase"] != "Running"
        cluster.delete(PODS, "p")
        cluster.settle()
        assert cluster.names(PODS) == []


def test_a_pod_without_a_hook_goes_at_once(cluster: FakeCluster) -> None:
    running(cluster, container(postStart=COMMAND), terminationGracePeriodSeconds=60)
    cluster.delete(PODS, "p")
    cluster.settle()
    assert cluster.names(PODS) == []
