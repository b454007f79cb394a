"""What `make bench-scheduler` sends, counts and looks at beside the pods it measures."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from benchmarks.command import BenchError
from benchmarks.scheduler import event_count, kinds, measuring
from benchmarks.scheduler.clients import Clients, Reply, Request, create_event
from benchmarks.scheduler.measuring import Measuring
from benchmarks.scheduler.quality import quality
from benchmarks.scheduler.run import Events, Run, must_be_bound
from benchmarks.scheduler.task import Task
from benchmarks.scheduler.updates import streams
from benchmarks.scheduler.workloads import WORKLOADS


def task_of(name: str, nodes: int = 30) -> Task:
    return Task(WORKLOADS[name], nodes)


def body(request: Request) -> Any:
    return msgspec.json.decode(request.content.partition(b"\r\n\r\n")[2])


def path(request: Request) -> str:
    return request.content.split(b" ")[1].decode()


def test_updates_are_those_of_a_cluster_that_works() -> None:
    assert streams(task_of("SchedulingBasic")) == []
    (heartbeat, often), (images, fifty), (replicas, twenty) = streams(
        task_of("SchedulingWithUpdates", 5000)
    )
    assert often == pytest.approx(5000 / 300)
    assert (fifty, twenty) == (50.0, 20.0)
    assert path(heartbeat(7)) == "/api/v1/nodes/scheduler-perf-00007/status"
    first, second = (body(heartbeat(number))["status"]["conditions"][0] for number in (0, 5000))
    assert first["type"] == "Ready"
    assert first["lastHeartbeatTime"] != second["lastHeartbeatTime"]
    assert body(images(0)) != body(images(1))
    assert path(images(0)) == "/api/v1/nodes/scheduler-perf-02500/status"
    assert path(replicas(21)).endswith("/replicasets/updated-1/status")


def test_churn_is_a_pod_every_200_ms() -> None:
    ((make, rate),) = streams(task_of("Unschedulable"))
    assert rate == 5.0
    assert body(make(3))["metadata"]["name"] == "pod-h-00003"


def test_what_stays_pending_and_what_else_there_is() -> None:
    gated = list(task_of("SchedulingWhileGated").waiting_pods())
    assert len(gated) == 60
    assert all(pod["spec"]["schedulingGates"] for pod in gated)
    large = list(task_of("UnschedulableInTheWay").waiting_pods())
    cpus = {pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] for pod in large}
    assert (len(large), cpus) == (30, {"5", "6", "7", "8", "9"})
    ((where, service),) = task_of("DefaultTopologySpreading").others()
    assert where == "/api/v1/namespaces/namespace-2/services"
    pod = next(task_of("DefaultTopologySpreading").measured_pods())
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    assert len(list(task_of("SchedulingWithUpdates").others())) == 20


def test_an_event_is_written_as_a_scheduler_writes_it() -> None:
    event = create_event("namespace-2", "pod-00001", "a")
    assert path(event) == "/apis/events.k8s.io/v1/namespaces/namespace-2/events"
    assert body(event)["reason"] == "Scheduled"
    assert body(event)["regarding"]["name"] == "pod-00001"


class Pages:
    """A control plane that has as many events as it is told, one look after the other."""

    def __init__(self, counts: list[int]) -> None:
        self.counts = counts

    def request(self, method: str, where: str) -> object:
        count = self.counts.pop(0) if len(self.counts) > 1 else self.counts[0]
        items = [{"kind": "Event"}] if count else []
        rest = {"remainingItemCount": count - 1} if count > 1 else {}
        return json.loads(json.dumps({"items": items, "metadata": rest}))


@pytest.mark.parametrize(("counts", "written", "late"), [([0, 1, 9], 9, True), ([0, 4], 4, False)])
def test_events_are_counted_until_no_more_come(
    counts: list[int], written: int, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_count, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(event_count, "_PATIENCE_SECONDS", 0.0)
    plane: Any = Pages(counts)
    found = asyncio.run(event_count.wait_for_events(plane, "n", 9, since=0.0))
    assert found.written == written
    assert (found.seconds is not None) is late


def test_pods_at_a_rate_are_timed_from_when_they_were_due() -> None:
    class Wire:
        async def send(self, content: bytes) -> Reply:
            return Reply(201, b"")

    clients = Clients.__new__(Clients)
    clients._connections = [Wire(), Wire()]  # type: ignore[list-item]
    sent: dict[str, float] = {}
    chains = [(Request(str(number), b""),) for number in range(5)]
    asyncio.run(clients.send_at_rate(chains, 1000.0, sent))
    distances = {round(sent[str(number + 1)] - sent[str(number)], 6) for number in range(4)}
    assert distances == {0.001}


def on(kind: kinds.PodKind, number: int, node: int, namespace: str = "namespace-2") -> kinds.Object:
    return kind.manifest(number, namespace, kinds.node_name(node))


def test_quality_is_of_all_pods_and_zones_of_the_measured() -> None:
    task = task_of("TopologySpreading", 4)
    pods = [
        on(kinds.PLAIN, 0, 3, "namespace-1"),
        *(on(kinds.SPREAD, number, 0) for number in range(3)),
        on(kinds.SPREAD, 3, 1),
        kinds.SPREAD.manifest(4, "namespace-2"),
    ]
    found = quality(task, pods)
    assert (found.cpu_most, found.nodes_used) == (300 / 4000, 2)
    assert found.cpu_deviation == pytest.approx(0.0272, abs=1e-4)
    assert found.zone_difference == 3
    assert quality(task_of("SchedulingBasic", 4), pods).zone_difference is None


def test_the_plane_is_not_asked_for_more_than_one_event() -> None:
    asked: list[str] = []

    def request(method: str, where: str) -> object:
        asked.append(where)
        return {"items": [], "metadata": {}}

    plane: Any = SimpleNamespace(request=request)
    assert event_count._count(plane, "n") == 0
    assert asked[0].endswith("/events?limit=1")


def summary_of(first: int, monkeypatch: pytest.MonkeyPatch) -> Run:
    """What is made of three pods that were seen bound, after so many of which CPU time counts."""

    async def no_events(plane: object, namespace: str, wanted: int, since: float) -> Events:
        return Events(wanted, 9.0)

    monkeypatch.setattr(measuring, "wait_for_events", no_events)
    monkeypatch.setattr(measuring, "cpu_ms", lambda _: 40.0)
    monkeypatch.setattr(measuring, "peak_memory_mb", lambda _: 99.0)
    scheduler: Any = SimpleNamespace(pid=1)
    plane: Any = SimpleNamespace()
    watch: Any = SimpleNamespace(bound={"a": 10.0, "b": 10.5, "c": 14.0})
    run = Measuring(plane, "mooring", scheduler, task_of("SchedulingBasic"))
    return asyncio.run(run._summary(watch, 10.0, first, 10.0))


def test_pods_that_are_created_count_from_the_first_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = summary_of(0, monkeypatch)
    assert (run.bound, run.seconds, run.pods_per_second) == (3, 4.0, 0.75)
    assert (run.cpu.per_pod, run.cpu.per_pod_with_start) == (10.0, 40.0 / 3)
    assert (run.peak_memory_mb, run.events) == (99.0, Events(3, 9.0))


def test_pods_that_wait_count_from_the_first_that_is_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    run = summary_of(1, monkeypatch)
    assert (run.bound, run.seconds, run.pods_per_second) == (3, 4.0, 0.5)
    assert run.cpu.per_pod == 15.0


def test_a_scheduler_that_binds_nothing_has_no_figures() -> None:
    with pytest.raises(BenchError, match="mooring bound no pod at all"):
        must_be_bound("mooring", [])
