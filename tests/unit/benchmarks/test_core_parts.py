"""The parts of `make bench-core` compute what they say from what they measure."""

import gc
import json
from pathlib import Path

import msgspec
import pytest

from benchmarks import pages
from benchmarks.command import BenchError
from benchmarks.core import __main__ as command_line
from benchmarks.core import (
    by_plugin,
    confirming,
    growth,
    pauses,
    sizes,
    speed,
    waking,
)
from benchmarks.core.bench import Bench
from benchmarks.core.by_plugin import FRAMEWORK, Costs
from benchmarks.core.confirming import Confirming
from benchmarks.core.findings import Findings
from benchmarks.core.goals import goals
from benchmarks.core.growth import Growth
from benchmarks.core.pauses import Pauses
from benchmarks.core.report import part_names, tables
from benchmarks.core.sizes import Sizes
from benchmarks.core.speed import Effort, Speed
from benchmarks.core.waking import Waking
from benchmarks.core.workloads import WORKLOADS
from benchmarks.environment import environment

SHORT = Effort(seconds=0.0, rounds=2)


@pytest.fixture
def bench() -> Bench:
    return Bench(WORKLOADS["mix"], 40, 8)


def speed_of(workload: str, pods_per_second: float, nodes: int = 5000) -> Speed:
    return Speed(workload, nodes, 1000, 300, 1e6 / pods_per_second, 0, 0, pods_per_second)


def growth_of(workload: str, ratio: float, nodes: int = 5000) -> Growth:
    return Growth(workload, nodes, [1000, 20000], [1.0, ratio], ratio)


def test_a_speed_is_the_median_of_its_slices(bench: Bench) -> None:
    found = speed.summary(bench, [300.0, 200.0, 900.0, 250.0, 240.0])
    assert (found.microseconds, found.fastest, found.slowest) == (250.0, 200.0, 900.0)
    assert found.pods_per_second == 4000.0
    assert (found.nodes, found.pods, found.decisions) == (40, 8, 5 * 20)


def test_a_speed_is_measured_by_at_least_300_decisions(bench: Bench) -> None:
    found = speed.measure(bench, SHORT)
    assert found.decisions == 300
    assert 0 < found.fastest <= found.microseconds <= found.slowest
    assert bench.cluster.pods == bench.pods


@pytest.mark.parametrize(("nodes", "size"), [(20, 10), (100, 50), (200, 100), (5000, 100)])
def test_slices_leave_room_on_few_nodes(nodes: int, size: int) -> None:
    assert speed.slice_size(nodes) == size


def test_the_parts_of_a_decision_add_up(bench: Bench) -> None:
    found = by_plugin.measure(bench, SHORT)
    assert found.microseconds > 0
    assert sum(found.parts.values()) == pytest.approx(found.microseconds)
    asked = {"NodeResourcesFit", "InterPodAffinity", "PodTopologySpread", "TaintToleration"}
    assert {*asked, by_plugin.SHAPE, by_plugin.ASSUME, FRAMEWORK} <= set(found.parts)


def test_a_clock_times_every_plugin_while_it_is_on(bench: Bench) -> None:
    runtime = bench.core.runtimes["default-scheduler"]
    asked = {one.name for point in runtime.points.values() for one in point}
    with bench.clock as clock:
        bench.place(bench.new_pods(8))
        assert set(clock.spent) <= asked | {by_plugin.ASSUME}
        assert clock.spent["NodeResourcesFit"] > 0
    spent = dict(clock.spent)
    bench.place(bench.new_pods(1))
    assert dict(clock.spent) == spent


def test_a_slice_leaves_the_cluster_and_the_queue_as_they_were(bench: Bench) -> None:
    pods = bench.new_pods(4)
    assert len(bench.core.queue) == 4
    bench.place(pods)
    assert (len(bench.core.queue), len(bench.core.binding)) == (0, 4)
    bench.take_back(pods)
    assert (bench.cluster.pods, len(bench.core.binding)) == (bench.pods, 0)


def test_growth_compares_within_turns_and_turns_around(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    benches = [Bench(WORKLOADS["plain"], 20, pods) for pods in growth.pod_counts(20)]
    assert [bench.pods for bench in benches] == [4, 20, 80]
    asked: list[int] = []
    # A first slice on each cluster does not count. Noise doubles the second turn as a whole.
    times = iter([9.0, 9.0, 9.0, 10.0, 11.0, 12.0, 26.0, 22.0, 20.0, 10.0, 11.0, 13.0])

    def fake(bench: Bench) -> float:
        asked.append(bench.pods)
        return next(times)

    monkeypatch.setattr(growth, "slice_microseconds", fake)
    found = growth.measure(benches, Effort(seconds=0.0, rounds=3))
    assert asked == [4, 20, 80, 4, 20, 80, 80, 20, 4, 4, 20, 80]
    assert found.microseconds == [10.0, 11.0, 13.0]
    assert found.ratio == pytest.approx(1.3)


def confirming_of(confirmed: float, slowdown: float, nodes: int = 5000) -> Confirming:
    return Confirming("plain", nodes, 5.0, confirmed, 40.0, 40.0 * slowdown, slowdown)


def test_goals_are_about_5000_nodes() -> None:
    assert growth.pod_counts(5000) == [1000, 5000, 20000]
    found = Findings(
        speed=[speed_of("plain", 1.0, nodes=1000)],
        growth=[growth_of("plain", 9.0, nodes=1000)],
        sizes=[Sizes("plain", [1000, 3000], [1.0, 9.0], 9.0)],
        confirming=[confirming_of(99.0, 9.0, nodes=1000)],
        waking=[Waking(1000, 4000, 9.0, 4000, 4001, 9.0)],
    )
    assert goals(found) == []


@pytest.mark.parametrize(
    ("workload", "pods_per_second", "met"),
    [
        ("plain", 25_000, True),
        ("plain", 24_999, False),
        ("spread", 12_000, True),
        ("anti-affinity", 11_999, False),
        ("deployment", 10_000, True),
        ("templates", 8_000, True),
        ("mix", 1, None),
    ],
)
def test_goals_of_speed(workload: str, pods_per_second: float, met: bool | None) -> None:
    found = goals(Findings(speed=[speed_of(workload, pods_per_second)]))
    assert [goal.met for goal in found] == ([] if met is None else [met])


@pytest.mark.parametrize(("ratio", "met"), [(0.9, True), (1.3, True), (1.31, False)])
def test_goals_of_growth(ratio: float, met: bool) -> None:
    assert [goal.met for goal in goals(Findings(growth=[growth_of("mix", ratio)]))] == [met]


@pytest.mark.parametrize(
    ("workload", "ratio", "met"),
    [("plain", 1.4, True), ("plain", 1.41, False), ("spread", 2.0, True), ("mix", 2.1, False)],
)
def test_goals_of_sizes(workload: str, ratio: float, met: bool) -> None:
    found = Findings(sizes=[Sizes(workload, [5000, 15000], [1.0, ratio], ratio)])
    assert [goal.met for goal in goals(found)] == [met]


@pytest.mark.parametrize(
    ("confirmed", "slowdown", "met"),
    [(8.0, 1.05, [True, True]), (8.1, 1.0, [False, True]), (5.0, 1.1, [True, False])],
)
def test_goals_of_confirming(confirmed: float, slowdown: float, met: list[bool]) -> None:
    found = Findings(confirming=[confirming_of(confirmed, slowdown)])
    assert [goal.met for goal in goals(found)] == met


@pytest.mark.parametrize(("seconds", "met"), [(0.5, True), (0.51, False)])
def test_goals_of_waking(seconds: float, met: bool) -> None:
    found = Findings(waking=[Waking(5000, 20000, 9.0, 20000, 6, seconds)])
    assert [goal.met for goal in goals(found)] == [met]


def test_sizes_compare_with_three_times_the_nodes() -> None:
    found = sizes.measure(WORKLOADS["plain"], 20, SHORT)
    assert (found.workload, found.nodes) == ("plain", [20, 60])
    assert len(found.microseconds) == 2
    assert found.ratio > 0


def test_confirming_leaves_the_cluster_as_it_was(bench: Bench) -> None:
    found = confirming.measure(bench, SHORT)
    assert (found.workload, found.nodes) == ("mix", 40)
    assert min(found.confirmed, found.undisturbed, found.disturbed, found.slowdown) > 0
    assert (bench.cluster.pods, len(bench.core.binding)) == (bench.pods, 0)


def test_confirming_compares_within_turns() -> None:
    # Noise doubles the second turn as a whole.
    turns = [
        (confirming.Turn(10.0, 5.0, 7.0), confirming.Turn(11.0, 5.0, 9.0)),
        (confirming.Turn(20.0, 10.0, 14.0), confirming.Turn(22.0, 10.0, 18.0)),
        (confirming.Turn(10.0, 4.0, 7.0), confirming.Turn(11.0, 4.0, 8.0)),
    ]
    found = confirming.summary("plain", 100, turns)
    assert (found.undisturbed, found.disturbed) == (10.0, 11.0)
    assert found.slowdown == pytest.approx(1.1)
    assert (found.answered, found.confirmed) == (5.0, 8.5)


def test_one_deleted_pod_wakes_all_unschedulable_pods() -> None:
    found = waking.measure(20)
    assert (found.nodes, found.pods) == (20, 80)
    assert found.woken == 80
    assert 1 <= found.decisions <= 81
    assert found.seconds > 0


def test_pauses_are_those_of_the_collector_and_its_settings_are_put_back() -> None:
    before = gc.get_threshold(), list(gc.callbacks)
    found = pauses.measure(50)
    assert (found.nodes, found.pods, found.placed) == (50, 500, 100)
    assert found.longest_ms >= 0
    assert 0 <= found.share < 1
    assert (gc.get_threshold(), list(gc.callbacks)) == before


@pytest.mark.parametrize(("longest", "met"), [(5.0, True), (5.1, False)])
def test_goals_of_pauses(longest: float, met: bool) -> None:
    found = Findings(pauses=[Pauses(5000, 50000, 10000, 9, longest, 0.01)])
    assert [goal.met for goal in goals(found)] == [met]


def test_parts_are_listed_dearest_plugin_first_and_others_last() -> None:
    costs = [
        Costs("plain", 100, 9, {"A": 1.0, "B": 3.0, FRAMEWORK: 5.0}, 0.1),
        Costs("mix", 100, 9, {"A": 1.0, "C": 2.5, by_plugin.SHAPE: 5.5}, 0.1),
    ]
    assert part_names(costs) == ["B", "C", "A", by_plugin.SHAPE, FRAMEWORK]


def run(*arguments: str) -> int:
    return command_line.main(["--quick", "--nodes", "20", "--workload", "plain", *arguments])


def test_a_run_prints_tables_and_writes_its_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.main(
        ["--quick", "--nodes", "20", "40", "--workload", "plain", "mix", "--out", str(tmp_path)]
    ) == 0  # fmt: skip
    shown = capsys.readouterr().out
    for text in (
        "40 nodes", "plain pods", "NodeResourcesFit", "160 pods", "times first", "120 nodes",
        "the pod is confirmed", "new pod placed after",
    ):  # fmt: skip
        assert text in shown
    report = json.loads((tmp_path / "core.json").read_text())
    assert report["quick"] is True
    assert [(one["workload"], one["nodes"]) for one in report["speed"]] == [
        ("plain", 20), ("plain", 40), ("mix", 20), ("mix", 40),
    ]  # fmt: skip
    assert [(one["nodes"], one["pods"]) for one in report["growth"]] == [(40, [8, 40, 160])] * 2
    assert [one["nodes"] for one in report["sizes"]] == [[40, 120]] * 2
    assert [one["workload"] for one in report["confirming"]] == ["plain"]
    assert [one["pods"] for one in report["waking"]] == [160]
    assert (tmp_path / "core.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("part", [one for one in command_line.PARTS if one != "pythons"])
def test_a_part_alone_is_measured_and_drawn(part: str, tmp_path: Path) -> None:
    page = tmp_path / "core.md"
    page.write_text("# Page\n\n<!-- tables -->\n<!-- end -->\n")
    assert run("--part", part, "--out", str(tmp_path)) == 0
    report = json.loads((tmp_path / "core.json").read_text())
    fields = {"plugins": "by_plugin"}
    lists = ("speed", "by_plugin", "growth", "sizes", "confirming", "devices", "waking", "pauses")
    assert [name for name in lists if report[name]] == [fields.get(part, part)]
    undrawn = ("confirming", "devices", "waking", "pauses")
    assert (tmp_path / "core.png").exists() is (part not in undrawn)
    assert page.read_text().count("**") == 2


def test_parts_can_be_measured_one_after_the_other(tmp_path: Path) -> None:
    assert run("--part", "speed", "waking", "--out", str(tmp_path)) == 0
    first = json.loads((tmp_path / "core.json").read_text())
    first["waking"][0]["seconds"] = 1000.0
    (tmp_path / "core.json").write_text(json.dumps(first))
    assert run("--part", "waking", "growth", "--add", "--out", str(tmp_path)) == 0
    second = json.loads((tmp_path / "core.json").read_text())
    assert second["speed"] == first["speed"]
    assert second["waking"][0]["seconds"] < 1000.0
    assert [one["workload"] for one in second["growth"]] == ["plain"]
    assert run("--part", "waking", "--out", str(tmp_path)) == 0
    assert json.loads((tmp_path / "core.json").read_text())["speed"] == []


@pytest.mark.parametrize(("check", "code"), [(["--check"], 1), ([], 0)])
def test_a_goal_that_is_missed_fails_only_a_check(
    check: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(self: command_line.Run, workload: object) -> None:
        self.found.speed.append(speed_of("plain", 1500))

    monkeypatch.setattr(command_line.Run, "measure", slow)
    arguments = ["--workload", "plain", "--part", "speed", "--out", str(tmp_path), *check]
    assert command_line.main(arguments) == code


def test_other_interpreters_make_the_same_decisions_in_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = iter([30.0, 20.0, 33.0, 21.0, 90.0, 22.0])
    ran: list[list[str]] = []

    def measured(command: list[str], **_: object) -> None:
        ran.append(command)
        cost = next(costs)
        report = {
            "environment": {**msgspec.to_builtins(environment()), "python": command[0]},
            "speed": [
                msgspec.to_builtins(Speed("plain", 20, 8, 300, cost, cost, cost, 1e6 / cost))
            ],
        }
        (Path(command[-1]) / "core.json").write_text(json.dumps(report))

    monkeypatch.setattr("benchmarks.core.pythons.subprocess.run", measured)
    monkeypatch.setattr("benchmarks.core.pythons.sys.executable", "3.11")
    assert run("--part", "pythons", "--python", "3.13", "--out", str(tmp_path)) == 0
    assert [command[0] for command in ran] == ["3.11", "3.13"] * 3
    assert ran[0][1:9] == [
        "-m", "benchmarks.core", "--part", "speed", "--workload", "plain", "--nodes", "20",
    ]  # fmt: skip
    report = json.loads((tmp_path / "core.json").read_text())
    assert [(one["python"], one["microseconds"]) for one in report["pythons"]] == [
        ("3.11", 33.0), ("3.13", 21.0),
    ]  # fmt: skip
    assert "| plain pods | 20 | 33.0 | 21.0 |" in pages.table(
        tables(msgspec.convert(report, Findings, strict=False))["pythons"]
    )


@pytest.mark.parametrize(
    ("program", "why"),
    [("/no/such/python", "cannot be run: No such file"), ("false", "cannot run the benchmark")],
)
def test_an_interpreter_that_cannot_run_it_is_named(
    program: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--part", "pythons", "--python", program, "--out", str(tmp_path)) == 2
    assert f"--python: {program} {why}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong",
    [
        ["--check"],
        ["--nodes", "5"],
        ["--nodes", "many"],
        ["--workload", "nothing"],
        ["--part", "none"],
        ["--part", "pythons"],
    ],
    ids=" ".join,
)
def test_wrong_arguments_are_rejected(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as rejected:
        run(*wrong)
    assert rejected.value.code == 2
    assert wrong[0] in capsys.readouterr().err


def test_what_cannot_run_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.touch()
    assert run("--out", str(file)) == 2
    assert capsys.readouterr().err.startswith(f"bench-core: {file} is no folder to write to: ")


def test_a_pod_without_room_ends_the_run() -> None:
    bench = Bench(WORKLOADS["anti-affinity"], 20, 4)
    with pytest.raises(BenchError, match="finds no room on 20 nodes"):
        bench.place(bench.new_pods(17))


@pytest.fixture(autouse=True)
def the_signal_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """`main` takes SIGTERM, which belongs to whoever runs the tests."""
    monkeypatch.setattr("benchmarks.command.signal.signal", lambda *_: None)
