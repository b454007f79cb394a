"""`make bench-all` runs every benchmark that docs/performance.md shows, and writes its places."""

from pathlib import Path

import pytest

from benchmarks.command import BenchError
from benchmarks.pages import with_places
from benchmarks.performance import __main__ as command_line
from benchmarks.performance import page
from benchmarks.performance.page import Results, places, readme
from benchmarks.scheduler.claim_workloads import ALL_WORKLOADS
from benchmarks.scheduler.contenders import KUBE_SCHEDULER, MOORING
from benchmarks.scheduler.plan import PARTS
from benchmarks.scheduler.results import Report, Result
from benchmarks.scheduler.run import Cpu, Run

PUBLISHED = Path(__file__).parents[3] / "docs" / "benchmarks"
ROW = "| plain pods (SchedulingBasic) | 1 pods/s | 2 pods/s | 2.0× |"


@pytest.fixture(autouse=True)
def the_signal_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """`main` takes SIGTERM, which belongs to whoever runs the tests."""
    monkeypatch.setattr("benchmarks.command.signal.signal", lambda *_: None)


def result_of(way: str, kube: float, mooring: float) -> Result:
    runs = [
        Run(name, 1, 1.0, rate, Cpu(1.0), 1.0)
        for name, rate in ((KUBE_SCHEDULER, kube), (MOORING, mooring))
    ]
    return Result("SchedulingBasic", 5000, way, 1, 1, None, runs)


def report_of(*results: Result) -> Report:
    whole = Results.read(PUBLISHED).scheduler
    return Report(
        results=list(results), environment=whole.environment, gomaxprocs=2, quick=False,
        other_load=0.0, goals=[],
    )  # fmt: skip


def test_texts_are_put_at_their_places() -> None:
    text = "a\n<!-- one -->\nold\n<!-- end -->\nb\n<!-- two -->\n<!-- end -->\nc\n"
    file = Path("page.md")
    found = with_places(text, {"two": "2", "one": "1"}, file)
    assert (
        found == "a\n<!-- one -->\n\n1\n\n<!-- end -->\nb\n<!-- two -->\n\n2\n\n<!-- end -->\nc\n"
    )
    assert with_places(found, {"two": "2", "one": "1"}, file) == found
    with pytest.raises(BenchError, match=r"page\.md has no place for three"):
        with_places(text, {"three": "3"}, file)


def test_the_readme_shows_drained_pods_if_they_were_measured() -> None:
    created, drained = result_of("create", 100.0, 150.0), result_of("drain", 100.0, 300.0)
    assert readme(f"a\n{ROW}\nb", report_of(created)) == (
        "a\n| plain pods (SchedulingBasic) | 100 pods/s | 150 pods/s | 1.5× |\nb"
    )
    assert "| 300 pods/s | 3.0× |" in readme(ROW, report_of(created, drained))
    assert (
        readme("| no row | 1 ms | 2 ms | 2.0× |", report_of()) == "| no row | 1 ms | 2 ms | 2.0× |"
    )
    with pytest.raises(BenchError, match=r"SchedulingBasic, which README\.md shows"):
        readme(ROW, report_of())


def test_what_was_not_measured_says_so() -> None:
    results = Results.read(PUBLISHED)
    shown = places(results._replace(scheduler=report_of(result_of("drain", 100.0, 300.0))))
    assert "SchedulingBasic" in shown["drain"]
    assert shown["rates"] == "The published run has no figures for this."
    assert "goals are met" in shown["goals"]
    assert "GOMAXPROCS=2" in shown["machine"]


def test_a_missing_result_says_so(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"core\.json cannot be read"):
        Results.read(tmp_path)


class Steps:
    """Stands for the benchmarks, and notes how they were called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.called: list[tuple[str, ...]] = []
        self.written: list[Path] = []
        self.codes: dict[str, int] = {}
        for name in ("core", "scheduler", "extender"):
            monkeypatch.setattr(command_line, name, self._main(name))
        monkeypatch.setattr(page, "write", lambda folder, _: self.written.append(folder))

    def _main(self, name: str) -> command_line.Main:
        def main(arguments: object) -> int:
            assert isinstance(arguments, list)
            self.called.append((name, *arguments))
            return self.codes.get(name, 0)

        return main


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    return Steps(monkeypatch)


def test_one_command_runs_everything_anew_and_writes_the_pages(
    steps: Steps, tmp_path: Path
) -> None:
    assert command_line.main(["--out", str(tmp_path)]) == 0
    first, *live, last = steps.called
    assert (first[0], last[0]) == ("core", "extender")
    assert {call[0] for call in live} == {"scheduler"}
    # The first begins anew, all others add to it.
    assert ["--add" in call for call in live] == [False, *[True] * (len(live) - 1)]
    measured = {
        (call[call.index("--workload") + 1], int(call[call.index("--nodes") + 1]))
        for call in live
        if "--workload" in call
    }
    assert measured == {(one.name, nodes) for one in ALL_WORKLOADS.values() for nodes in one.nodes}
    parts = {call[call.index("--part") + 1] for call in live}
    assert parts == {*PARTS, "memory"} - {"create"}
    assert all("create" in call for call in live if "drain" in call)
    assert steps.written == [tmp_path]


def test_some_steps_can_be_run_alone(steps: Steps, tmp_path: Path) -> None:
    out = ["--out", str(tmp_path)]
    assert command_line.main([*out, "--quick", "--step", "scheduler-rates"]) == 0
    assert steps.called == [("scheduler", *out, "--part", "rates", "--quick", "--add")]
    assert steps.written == []
    steps.called.clear()
    assert command_line.main([*out, "--step", "pages", "scheduler-15000"]) == 0
    (call,) = steps.called
    assert call[call.index("--workload") + 1] == "SchedulingDaemonset"
    assert steps.written == [tmp_path]


def test_a_step_that_does_not_exist_says_so(
    steps: Steps, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.main(["--step", "nothing"]) == 2
    assert "nothing is none of the steps core, scheduler-500" in capsys.readouterr().err
    assert steps.called == []


def test_a_step_that_fails_does_not_lose_the_rest(
    steps: Steps, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps.codes["core"] = 2
    assert command_line.main(["--out", str(tmp_path), "--step", "core", "extender"]) == 2
    assert [call[0] for call in steps.called] == ["core", "extender"]
    assert "step core failed; run it again with --step core pages" in capsys.readouterr().err
