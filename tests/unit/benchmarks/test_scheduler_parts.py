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
from benchmarks.scheduler import cluster, contenders, footprint, kinds, limits, measuring, plot
from benchmarks.scheduler.claim_workloads import ALL_WORKLOADS
from benchmarks.scheduler.contenders import KUBE_SCHEDULER, MOORING
from benchmarks.scheduler.footprint import Footprint
from benchmarks.scheduler.kinds import Object
from benchmarks.scheduler.limits import Limit
from benchmarks.scheduler.results import Report, Result
from benchmarks.scheduler.run import Cpu, Events, Latency, Run, Throughput, latency, throughput
from benchmarks.scheduler.task import Task
from benchmarks.scheduler.watch import BindWatch
from benchmarks.scheduler.workloads import WORKLOADS


def run_of(scheduler: str, pods_per_second: float, bound: int = 1000) -> Run:
    rates = Throughput(*[pods_per_second] * 5)
    cpu, events = Cpu(2.5, 3.5), Events(bound, 12.0)
    delays = Latency(1200.0, 2400.0, 3000.0)
    return Run(
        scheduler, bound, 10.0, pods_per_second, cpu, 180.0, rates, events, delays,
        first_seconds=1.5,
    )  # fmt: skip


def result_of(
    kube: float,
    mooring: float,
    workload: str = "SchedulingBasic",
    nodes: int = 5000,
    way: str = "create",
) -> Result:
    runs = [run_of(KUBE_SCHEDULER, kube), run_of(MOORING, mooring)]
    return Result(workload, nodes, way, 1000, 1000, 10000, runs)


def limit_of(workload: str, nodes: int) -> Limit:
    return Limit(workload, nodes, 1000, 1500.0, 600.0, 600.0, 500.0)


def test_latencies_are_of_pods_that_were_bound() -> None:
    sent = {"a": 10.0, "b": 10.5, "c": 11.0, "never": 11.5}
    found = latency(sent, {"b": 11.0, "a": 10.1, "c": 14.0})
    assert found.p50_ms == pytest.approx(500.0)
    assert found.p99_ms == found.max_ms == pytest.approx(3000.0)


def test_throughput_is_sampled_second_by_second() -> None:
    found = throughput([10.0, 10.1, 10.9, 11.5, 13.2, 13.9, 14.0])
    assert (found.average, found.perc50, found.perc99) == (1.5, 1.0, 3.0)
    assert throughput([10.0, 10.2]).average == 2.0


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
    alone = Result("SchedulingBasic", 500, "create", 1, 1, None, [run_of(MOORING, 9.0)])
    assert alone.ratio is None


class Fake:
    """A control plane and the schedulers, without any process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, rates: dict[str, float]) -> None:
        self.rates = rates
        self.bound = 10**6
        self.pods: list[Object] = []
        self.prepared: list[tuple[str, int]] = []
        self.runs: list[tuple[str, str]] = []
        monkeypatch.setattr(command_line, "find_binaries", lambda: None)
        monkeypatch.setattr(cluster, "prepared", self._prepared)
        monkeypatch.setattr(measuring, "measure", self._measure)
        monkeypatch.setattr(footprint, "measure", self._footprint)
        monkeypatch.setattr(
            limits, "measure_steady", lambda _, task, __: limit_of(task.workload.name, task.nodes)
        )
        monkeypatch.setattr(
            limits, "measure", lambda _, task, __: limit_of(task.workload.name, task.nodes)
        )
        for name in contenders.SCHEDULERS:
            monkeypatch.setitem(contenders.SCHEDULERS, name, self._scheduler)

    @contextmanager
    def _prepared(self, task: Task) -> Iterator[SimpleNamespace]:
        self.prepared.append((task.workload.name, task.nodes))
        yield SimpleNamespace(task=task, running=self._nothing)

    @contextmanager
    def _nothing(self) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(list_objects=lambda kind, **_: self.pods if kind == "Pod" else [])

    def _scheduler(self, plane: object) -> SimpleNamespace:
        return SimpleNamespace(log=lambda: "last words", stop=lambda: None)

    def _footprint(self, plane: object, name: str, task: Task) -> Footprint:
        return Footprint(name, task.nodes, task.placed, 100.0, 110.0, 90.0, 95.0)

    def _measure(self, plane: object, name: str, scheduler: object, task: Task, way: str) -> Run:
        self.runs.append((name, way))
        if name not in self.rates:
            raise BenchError(f"{name} bound no pod at all.")
        pods = measuring.pods_of(way, task.size.pods)
        return run_of(name, self.rates[name], min(self.bound, pods))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    monkeypatch.setattr("benchmarks.command.signal.signal", lambda *_: None)
    rates = dict.fromkeys(contenders.SCHEDULERS, 100.0)
    return Fake(monkeypatch, {**rates, KUBE_SCHEDULER: 200.0, MOORING: 300.0})


def test_a_short_run_prints_tables_and_writes_its_files(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.main(["--quick", "--out", str(tmp_path)]) == 0
    assert fake.prepared == [
        ("SchedulingBasic", 5000),
        ("SchedulingPodAntiAffinity", 5000),
        ("TopologySpreading", 5000),
    ]
    shown = capsys.readouterr().out
    for text in (
        "1.50", "2.50 / 2.50", "180 / 180", "1,200 / 1,200", "10,000", "NOT MET", "12.0 / 12.0",
    ):  # fmt: skip
        assert text in shown
    report = json.loads((tmp_path / "scheduler.json").read_text())
    assert [limit["nodes"] for limit in report["limits"]] == [5000] * 3
    assert [one["ratio"] for one in report["results"]] == [1.5] * 6
    assert {one["way"] for one in report["results"]} == {"drain", "create"}
    assert report["results"][0]["runs"][0]["quality"]["nodes_used"] == 0
    items = json.loads((tmp_path / "scheduler-data-items.json").read_text())
    assert items["version"] == "v1"
    first = items["dataItems"][0]
    assert first["unit"] == "pods/s"
    assert set(first["data"]) == {"Average", "Perc50", "Perc90", "Perc95", "Perc99"}
    assert first["labels"]["Metric"] == "SchedulingThroughput"
    assert first["labels"]["Name"] == "SchedulingBasic/5000Nodes_2000Pods/drain"
    assert report["results"][0]["runs"][1]["scheduler"] == MOORING
    assert (tmp_path / "scheduler.png").read_bytes().startswith(b"\x89PNG")


def test_a_full_run_is_of_all_workloads_on_both_sizes(fake: Fake, tmp_path: Path) -> None:
    assert command_line.main(["--out", str(tmp_path)]) == 0
    expected = {(one.name, nodes) for one in ALL_WORKLOADS.values() for nodes in one.nodes}
    assert set(fake.prepared) == {*expected, ("FullCluster", 5000)}
    assert len(fake.prepared) == len(expected) + 1
    assert ("SchedulingDaemonset", 15000) in expected
    assert {name for name, _ in fake.runs} == set(contenders.SCHEDULERS)
    assert {way for _, way in fake.runs} == {
        "drain", "create", "steady", "50/s", "100/s", "200/s"
    }  # fmt: skip
    report = json.loads((tmp_path / "scheduler.json").read_text())
    basic = next(one for one in report["results"] if one["nodes"] == 5000)
    assert [run["scheduler"] for run in basic["runs"]] == [KUBE_SCHEDULER, MOORING]
    assert [one["scheduler"] for one in report["footprints"]] == [KUBE_SCHEDULER, MOORING]


def test_parts_can_be_run_one_after_the_other(fake: Fake, tmp_path: Path) -> None:
    common = ["--workload", "Basic", "--nodes", "500", "--out", str(tmp_path)]
    assert command_line.main([*common, "--part", "drain"]) == 0
    fake.rates[MOORING] = 400.0
    assert command_line.main([*common, "--part", "create", "policy", "--add"]) == 0
    assert command_line.main([*common, "--part", "memory", "--add"]) == 0
    report = json.loads((tmp_path / "scheduler.json").read_text())
    found = {one["way"]: one for one in report["results"]}
    assert (found["drain"]["ratio"], found["create"]["ratio"]) == (1.5, 2.0)
    assert {run["scheduler"] for run in found["drain"]["runs"]} == {
        KUBE_SCHEDULER, MOORING, contenders.POLICY,
    }  # fmt: skip
    assert len(report["limits"]) == 1
    assert len(report["footprints"]) == 2


def test_what_is_compared_with_the_api_server_stays_in_one_run(fake: Fake, tmp_path: Path) -> None:
    common = ["--workload", "Basic", "--nodes", "5000", "--out", str(tmp_path), "--add"]
    assert command_line.main([*common, "--part", "policy", "rates", "sampling", "limited"]) == 0
    report = json.loads((tmp_path / "scheduler.json").read_text())
    assert report["limits"] == []
    assert command_line.main([*common, "--part", "drain", "--scheduler", MOORING]) == 0
    report = json.loads((tmp_path / "scheduler.json").read_text())
    assert [one["workload"] for one in report["limits"]] == ["SchedulingBasic"]


def test_a_run_that_is_repeated_takes_its_noise_with_it(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = iter([0.3, 0.02, 0.01])
    monkeypatch.setattr("benchmarks.environment.Quiet.other_load", lambda _: next(loads))
    common = ["--workload", "Basic", "--nodes", "500", "--out", str(tmp_path), "--add"]
    common += ["--part", "drain", "--scheduler"]
    found = []
    for name in (MOORING, KUBE_SCHEDULER, MOORING):
        assert command_line.main([*common, name]) == 0
        found.append(json.loads((tmp_path / "scheduler.json").read_text())["other_load"])
    assert found == [0.3, 0.3, 0.02]


def test_what_cannot_be_added_to_says_so(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "scheduler.json").write_text('{"results": 1}')
    assert command_line.main(["--quick", "--add", "--out", str(tmp_path)]) == 2
    assert "scheduler.json cannot be read" in capsys.readouterr().err
    assert fake.prepared == []


@pytest.mark.parametrize(("check", "code"), [(["--check"], 1), ([], 0)])
def test_a_goal_that_is_missed_fails_only_a_check(
    check: list[str], code: int, fake: Fake, tmp_path: Path
) -> None:
    fake.rates[MOORING] = 150.0
    assert command_line.main(["--quick", "--out", str(tmp_path), *check]) == code
    assert not (tmp_path / "scheduler.md").exists()


def test_pods_left_over_are_told_and_the_log_is_kept(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.bound = 7
    arguments = ["--workload", "PodAffinity", "--nodes", "500", "--scheduler", "mooring"]
    arguments += ["--part", "create"]
    assert command_line.main([*arguments, "--out", str(tmp_path)]) == 0
    assert "mooring bound only 7 pods before the run was ended" in capsys.readouterr().out
    log = tmp_path / "mooring-SchedulingPodAffinity-500-create.log"
    assert log.read_text() == "last words"


def test_a_failure_does_not_lose_the_rest(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del fake.rates[MOORING]
    assert command_line.main(["--quick", "--out", str(tmp_path)]) == 2
    shown = capsys.readouterr().out
    assert "SchedulingBasic, 5,000 nodes, drain, mooring: mooring bound no pod" in shown
    report = json.loads((tmp_path / "scheduler.json").read_text())
    assert len(report["failures"]) == 6
    assert [len(one["runs"]) for one in report["results"]] == [1] * 6


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
        ["--part", "none"],
    ],
    ids=" ".join,
)
def test_wrong_arguments_are_rejected(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as rejected:
        command_line.main(wrong)
    assert rejected.value.code == 2
    assert wrong[0] in capsys.readouterr().err


@pytest.mark.parametrize("workloads", [1, 3, 16])
@pytest.mark.parametrize("panels", [("drain",), ("create", "drain"), ("50/s", "create")])
def test_the_legend_of_the_picture_covers_nothing(
    tmp_path: Path, workloads: int, panels: tuple[str, ...]
) -> None:
    names = list(WORKLOADS)[:workloads]
    results = [
        result_of(300.0, 590.0 - 20 * number, workload, 5000, way)
        for way in panels
        for number, workload in enumerate(names)
    ]
    bounds = [limit_of(name, 5000) for name in names]
    report = Report(
        bounds, results, environment=environment(), gomaxprocs=2, quick=True, other_load=0.0,
        goals=[],
    )  # fmt: skip
    figure = plot.draw(report, tmp_path / "scheduler.png")
    assert figure is not None
    assert len(figure.axes) == sum(way in ("drain", "create") for way in panels)
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


def test_there_is_no_picture_of_rates_alone(tmp_path: Path) -> None:
    report = Report(
        [], [result_of(1.0, 2.0, way="50/s")], environment=environment(), gomaxprocs=2, quick=True,
        other_load=0.0, goals=[],
    )  # fmt: skip
    assert plot.draw(report, tmp_path / "scheduler.png") is None
    assert not (tmp_path / "scheduler.png").exists()
