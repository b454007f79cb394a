"""The parts of `make bench-scheduler` compute what they say, and survive what goes wrong."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.command import BenchError
from benchmarks.environment import environment
from benchmarks.reporting import percentile
from benchmarks.scheduler import __main__ as command_line
from benchmarks.scheduler import cluster, contenders, kinds, limits, measuring, plot
from benchmarks.scheduler.contenders import KUBE_SCHEDULER, MOORING
from benchmarks.scheduler.goals import goals
from benchmarks.scheduler.kinds import Object
from benchmarks.scheduler.limits import Limit
from benchmarks.scheduler.measuring import Run, summary
from benchmarks.scheduler.results import Report, Result
from benchmarks.scheduler.task import Task
from benchmarks.scheduler.watch import BindWatch
from benchmarks.scheduler.workloads import WORKLOADS


def run_of(scheduler: str, pods_per_second: float, bound: int = 1000) -> Run:
    return Run(scheduler, bound, 10.0, pods_per_second, 2.5, 180.0, 1200.0, 2400.0)


def result_of(
    kube: float, mooring: float, workload: str = "SchedulingBasic", nodes: int = 5000
) -> Result:
    runs = [run_of(KUBE_SCHEDULER, kube), run_of(MOORING, mooring)]
    return Result(workload, nodes, 1000, 1000, 10000, runs)


def test_a_run_lasts_from_the_first_pod_sent_to_the_last_bound() -> None:
    sent = {"a": 10.0, "b": 10.5, "c": 11.0, "never": 11.5}
    bound = {"b": 11.0, "a": 10.1, "c": 14.0}
    run = summary("mooring", sent, bound, 30.0, 99.0)
    assert (run.bound, run.seconds, run.pods_per_second) == (3, 4.0, 0.75)
    assert (run.cpu_ms_per_pod, run.peak_memory_mb) == (10.0, 99.0)
    assert run.p50_ms == pytest.approx(500.0)
    assert run.p99_ms == pytest.approx(3000.0)


def test_a_scheduler_that_binds_nothing_has_no_figures() -> None:
    with pytest.raises(BenchError, match="mooring bound no pod at all"):
        summary("mooring", {"a": 1.0}, {}, 1.0, 1.0)


@pytest.mark.parametrize(("share", "value"), [(0.5, 2), (0.51, 3), (0.99, 4), (1.0, 4)])
def test_a_percentile_is_one_of_the_values(share: float, value: int) -> None:
    assert percentile([4, 1, 3, 2], share) == value


class Wire(asyncio.Transport):
    """The other end of a watch."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def write(self, data: object) -> None:
        assert isinstance(data, bytes)
        self.asked.append(data.decode().split(" ")[1])


def event(kind: str, name: str, version: int) -> bytes:
    metadata = {"name": name, "namespace": "n", "resourceVersion": str(version)}
    line = {"type": kind, "object": {"kind": "Pod", "metadata": metadata, "spec": {}}}
    return json.dumps(line).encode() + b"\n"


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


LIST = b'{"kind":"PodList","metadata":{"resourceVersion":"41"},"items":[]}'
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


async def begun() -> tuple[BindWatch, Wire]:
    watch, wire = BindWatch(), Wire()
    watch.connection_made(wire)
    beginning = asyncio.create_task(watch.begin("n"))
    await asyncio.sleep(0)
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(LIST)}\r\n\r\n".encode()
    watch.data_received(head + LIST)
    await beginning
    return watch, wire


def test_a_watch_sees_each_pod_bound_once_and_goes_on_where_it_was_ended() -> None:
    async def scenario() -> None:
        watch, wire = await begun()
        assert wire.asked[-1].endswith("resourceVersion=41")
        first = event("ADDED", "a", 43) + event("MODIFIED", "a", 45)
        watch.data_received(HEAD + chunk(first[:30]))
        assert watch.bound == {}
        watch.data_received(chunk(first[30:]) + END)
        assert set(watch.bound) == {"a"}
        assert wire.asked[-1].endswith("resourceVersion=45")
        assert not await watch.wait(2, patience=0.0, seconds=10.0)
        watch.data_received(HEAD + chunk(event("ADDED", "b", 47) + event("DELETED", "a", 48)))
        assert await watch.wait(2, patience=10.0, seconds=10.0)
        assert set(watch.bound) == {"a", "b"}

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "said",
    [
        HEAD + chunk(b'{"type":"ERROR","object":{"metadata":{},"code":410}}\n') + END,
        b"HTTP/1.1 410 Gone\r\nContent-Length: 17\r\n\r\n" + b'{"kind":"Status"}',
        b"",
    ],
    ids=["error", "rejected", "closed"],
)
def test_a_watch_that_cannot_go_on_ends_the_run(said: bytes) -> None:
    async def scenario() -> None:
        watch, _ = await begun()
        waiting = asyncio.create_task(watch.wait(1, patience=10.0, seconds=10.0))
        await asyncio.sleep(0)
        if said:
            watch.data_received(said)
        else:
            watch.connection_lost(None)
        with pytest.raises(BenchError, match="ended a watch"):
            await waiting

    asyncio.run(scenario())


def test_the_ratio_is_of_mooring_to_kube_scheduler() -> None:
    assert result_of(100.0, 150.0).ratio == 1.5
    assert Result("SchedulingBasic", 500, 1, 1, None, [run_of(MOORING, 9.0)]).ratio is None


def test_goals_are_about_three_workloads_on_5000_nodes() -> None:
    assert goals([result_of(1, 2, nodes=500), result_of(1, 2, workload="Unschedulable")]) == []
    met = [goal.met for goal in goals([result_of(100, 101), result_of(100, 100)])]
    assert met == [True, False]
    partial = result_of(100, 200)
    partial.runs[1].bound = 999
    (goal,) = goals([partial])
    assert not goal.met
    assert goal.measured == "not all pods were bound"


class Fake:
    """A control plane and the schedulers, without any process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, rates: dict[str, float]) -> None:
        self.rates = rates
        self.bound = 10**6
        self.pods: list[Object] = []
        self.prepared: list[tuple[str, int]] = []
        monkeypatch.setattr(command_line, "find_binaries", lambda: None)
        monkeypatch.setattr(cluster, "prepared", self._prepared)
        monkeypatch.setattr(measuring, "measure", self._measure)
        monkeypatch.setattr(
            limits, "measure", lambda _, nodes, pods, __: Limit(nodes, pods, 3, 2, 1)
        )
        for name in contenders.SCHEDULERS:
            monkeypatch.setitem(contenders.SCHEDULERS, name, self._scheduler)

    @contextmanager
    def _prepared(self, task: Task) -> Iterator[SimpleNamespace]:
        self.prepared.append((task.workload.name, task.nodes))
        yield SimpleNamespace(task=task, running=self._nothing)

    @contextmanager
    def _nothing(self) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(list_objects=lambda _: self.pods)

    @contextmanager
    def _scheduler(self, plane: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(log=lambda: "last words")

    def _measure(self, plane: object, name: str, scheduler: object, task: Task) -> Run:
        if name not in self.rates:
            raise BenchError(f"{name} bound no pod at all.")
        return run_of(name, self.rates[name], min(self.bound, task.size.pods))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    monkeypatch.setattr("benchmarks.command.signal.signal", lambda *_: None)
    return Fake(monkeypatch, {KUBE_SCHEDULER: 200.0, MOORING: 300.0})


def test_a_short_run_prints_tables_and_writes_its_files(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.main(["--quick", "--check", "--out", str(tmp_path)]) == 0
    assert fake.prepared == [
        ("SchedulingBasic", 5000),
        ("SchedulingPodAntiAffinity", 5000),
        ("TopologySpreading", 5000),
    ]
    shown = capsys.readouterr().out
    for text in ("1.50", "2.50 / 2.50", "180 / 180", "1,200 / 1,200", "10,000", "ok  "):
        assert text in shown
    report = json.loads((tmp_path / "scheduler.json").read_text())
    assert [limit["nodes"] for limit in report["limits"]] == [5000]
    assert [one["ratio"] for one in report["results"]] == [1.5] * 3
    assert report["results"][0]["runs"][1]["scheduler"] == MOORING
    assert (tmp_path / "scheduler.png").read_bytes().startswith(b"\x89PNG")


def test_a_full_run_is_of_all_workloads_on_both_sizes(fake: Fake, tmp_path: Path) -> None:
    assert command_line.main(["--out", str(tmp_path)]) == 0
    names = list(WORKLOADS)
    assert fake.prepared == [(name, nodes) for nodes in (500, 5000) for name in names]


@pytest.mark.parametrize(("check", "code"), [(["--check"], 1), ([], 0)])
def test_a_goal_that_is_missed_fails_only_a_check(
    check: list[str], code: int, fake: Fake, tmp_path: Path
) -> None:
    fake.rates[MOORING] = 150.0
    assert command_line.main(["--quick", "--out", str(tmp_path), *check]) == code


def test_pods_left_over_are_told_and_the_log_is_kept(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.bound = 7
    arguments = ["--workload", "PodAffinity", "--nodes", "500", "--scheduler", "mooring"]
    assert command_line.main([*arguments, "--out", str(tmp_path)]) == 0
    assert "mooring bound only 7 pods before the run was ended" in capsys.readouterr().out
    log = tmp_path / "mooring-SchedulingPodAffinity-500.log"
    assert log.read_text() == "last words"


def test_a_failure_does_not_lose_the_rest(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del fake.rates[MOORING]
    assert command_line.main(["--quick", "--out", str(tmp_path)]) == 2
    assert "SchedulingBasic, 5,000 nodes, mooring: mooring bound no pod" in capsys.readouterr().out
    report = json.loads((tmp_path / "scheduler.json").read_text())
    assert len(report["failures"]) == 3
    assert [len(one["runs"]) for one in report["results"]] == [1, 1, 1]


def test_a_scheduler_that_breaks_rules_has_failed(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.pods = [kinds.PLAIN.manifest(0, "a", "nowhere")]
    arguments = ["--workload", "Basic", "--nodes", "500", "--scheduler", "mooring"]
    assert command_line.main([*arguments, "--out", str(tmp_path)]) == 2
    assert "mooring: it breaks rules: a pod is on nowhere" in capsys.readouterr().out


@pytest.mark.parametrize(
    "wrong",
    [
        ["--check", "--nodes", "500"],
        ["--check", "--scheduler", "mooring"],
        ["--check", "--workload", "Unschedulable"],
        ["--nodes", "5"],
        ["--nodes", "many"],
        ["--workload", "nothing"],
        ["--scheduler", "another"],
    ],
    ids=" ".join,
)
def test_wrong_arguments_are_rejected(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as rejected:
        command_line.main(wrong)
    assert rejected.value.code == 2
    assert wrong[0] in capsys.readouterr().err


@pytest.mark.parametrize("workloads", [1, 3, 11])
@pytest.mark.parametrize("nodes", [(5000,), (500, 5000)])
def test_the_legend_of_the_picture_covers_nothing(
    tmp_path: Path, workloads: int, nodes: tuple[int, ...]
) -> None:
    results = [
        result_of(300.0, 590.0 - 20 * number, workload, count)
        for count in nodes
        for number, workload in enumerate(list(WORKLOADS)[:workloads])
    ]
    bounds = [Limit(count, 1000, 1500.0, 1500.0, 600.0) for count in nodes]
    report = Report(environment(), True, 0.0, bounds, results, [], [])
    figure = plot.draw(report, tmp_path / "scheduler.png")
    assert len(figure.axes) == len(nodes)
    for axes in figure.axes:
        legend = axes.get_legend()
        assert legend is not None
        drawn = legend.get_window_extent()
        inside = axes.get_window_extent()
        assert inside.x0 <= drawn.x0
        assert drawn.x1 <= inside.x1
        assert drawn.y1 <= inside.y1
        above = [drawn.y0 - text.get_window_extent().y1 for text in axes.texts]
        assert min(above) > 0
        line = axes.transData.transform((0, 600.0))[1]
        assert line < drawn.y0
