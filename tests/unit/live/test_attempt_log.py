"""What the log says of pods: those that stay unschedulable, and, in detail, every binding."""

import asyncio
import logging
import re

import pytest

import mooring as mr
from mooring import Pod
from mooring.framework.binding import Binding
from mooring.framework.cycle import Cycle
from mooring.live.attempt_log import AttemptLog
from mooring.live.run import scheduling
from mooring.log_kinds import TRACE
from mooring.scheduler.effects import Bind, PatchStatus
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod
from tests.unit.live.fake_cluster import fake_cluster
from tests.unit.live.running_scheduler import make_settings

NO_CPU = "0/3 nodes are available: 3 Insufficient cpu. preemption: no victims."


class Log:
    """An attempt log and its clock."""

    def __init__(self) -> None:
        self.now = 100.0
        self.log = AttemptLog(lambda: self.now)

    def failed(
        self, pod: Pod, message: str, reason: str = "Unschedulable", nominated_node: str = ""
    ) -> None:
        self.log.failed(PatchStatus(pod, reason, message, nominated_node))

    def bound(self, pod: Pod, attempt: int = 1) -> None:
        binding = Binding(namespace="default", name=pod.name, uid=pod.uid, node_name="a", pod=pod)
        cycle = Cycle(pod, Cluster())
        self.log.bound(Bind(pod, binding, cycle, "s", attempt, self.now - 0.0042))


@pytest.fixture
def pod() -> Pod:
    return make_pod("p")


def test_an_unschedulable_pod_is_logged_when_its_reason_is_new(
    pod: Pod, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    log = Log()
    log.failed(pod, NO_CPU)
    log.failed(pod, NO_CPU)
    # Nodes come and go, and reasons are ordered by their numbers: the reason is the same.
    log.failed(pod, "0/5 nodes are available: 5 Insufficient cpu. preemption: no victims.")
    assert caplog.messages == [f"pod default/p is unschedulable: {NO_CPU}"]
    both = "0/5 nodes are available: 1 Insufficient cpu, 4 too few GPUs. preemption: no victims."
    log.failed(pod, both)
    log.failed(
        pod, "0/5 nodes are available: 1 too few GPUs, 4 Insufficient cpu. preemption: no victims."
    )
    assert caplog.messages[1:] == [f"pod default/p is still unschedulable: {both}"]
    assert {one.levelname for one in caplog.records} == {"INFO"}


def test_other_pods_are_logged_too(pod: Pod, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    log = Log()
    for name in ("p", "q"):
        log.failed(make_pod(name), NO_CPU)
    assert len(caplog.messages) == 2


def test_a_message_without_end_is_cut(pod: Pod, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    Log().failed(pod, "x" * 30_000)
    assert len(caplog.messages[0]) < 1100
    assert caplog.messages[0].endswith("x ...")


def test_room_that_is_being_made_is_said(pod: Pod, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    Log().failed(pod, NO_CPU, nominated_node="a")
    assert caplog.messages[0].endswith("victims.; pods are being preempted on node a")


def test_errors_are_logged_where_they_happen(pod: Pod, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    Log().failed(pod, "plugin x failed", reason="SchedulerError")
    assert caplog.messages == []


def test_a_pod_that_is_bound_after_all_is_said_once(
    pod: Pod, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    log = Log()
    log.failed(pod, NO_CPU)
    log.now += 42
    log.failed(pod, "0/3 nodes are available: 3 too few GPUs.")
    log.bound(pod)
    log.bound(pod)
    log.bound(make_pod("never-pending"))
    assert caplog.messages[2:] == [
        "pod default/p is bound to node a after being unschedulable for 42s"
    ]


def test_every_binding_is_logged_in_detail_if_that_is_wanted(
    pod: Pod, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    log = Log()
    log.bound(pod, attempt=3)
    assert caplog.messages == ["bound pod default/p to node a: no score, 4ms, attempt 3"]


def test_pods_that_are_gone_are_forgotten(pod: Pod, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    log = Log()
    log.failed(pod, NO_CPU)
    log.log.forget_gone(lambda _: pod)
    log.failed(pod, NO_CPU)
    assert len(caplog.messages) == 1
    log.log.forget_gone(lambda _: None)
    log.failed(pod, NO_CPU)
    assert len(caplog.messages) == 2


def policy() -> mr.Policy:
    made = mr.Policy("pack")
    made.score(name="full")(lambda _, node: 90 if node.name == "a" else 10)
    return made


@pytest.mark.parametrize("level", [logging.INFO, logging.DEBUG, TRACE])
def test_a_scheduler_logs_bindings_with_node_score_and_time(
    level: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        async with fake_cluster() as cluster:
            for name in "ab":
                cluster.put_node(make_node(name))
            cluster.put_pod(make_pod("p"))
            settings = make_settings(cluster, {}, policies=(policy(),))
            async with scheduling(settings):
                await cluster.until(lambda: cluster.bindings)

    caplog.set_level(level)
    asyncio.run(run())
    lines = [one.getMessage() for one in caplog.records if one.name == "mooring.live"]
    bound = [one for one in lines if one.startswith("bound pod")]
    parts = [one for one in lines if "pack" in one and "×90" in one]
    assert (len(bound), len(parts)) == (level < logging.INFO, level < logging.DEBUG)
    if bound:
        line = r"bound pod default/p to node a: score \d{2,}, \d+(\.\d)?m?s, attempt 1"
        assert re.fullmatch(line, bound[0])
    if parts:
        assert parts[0].startswith("pod default/p on node a, one of 2 nodes that fit: ")
