"""`make bench-check` compares what it says it compares, and fails on a loss."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.check import __main__ as command_line
from benchmarks.check import instructions, recorded, turns
from benchmarks.check.cases import Case
from benchmarks.check.recorded import Recorded
from benchmarks.check.report import Counted, losses
from benchmarks.check.turns import Comparison
from benchmarks.check.worker import CpuTime, measure, measure_slice
from benchmarks.check.workers import ROOT, Worker, environment_for
from benchmarks.command import BenchError

PLAIN = Case("plain", 20)


@pytest.fixture(autouse=True)
def the_signal_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """`main` takes SIGTERM, which belongs to whoever runs the tests."""
    monkeypatch.setattr("benchmarks.command.signal.signal", lambda *_: None)


def test_a_case_can_be_written_and_read() -> None:
    assert Case.parse(str(PLAIN)) == PLAIN
    for wrong in ("plain", "plain@many", "nothing@20"):
        with pytest.raises(BenchError, match="is no case"):
            Case.parse(wrong)


def test_a_slice_is_measured_in_its_window_and_taken_back() -> None:
    bench = PLAIN.bench()
    clock = CpuTime()
    assert measure_slice(bench, clock) == 10
    assert clock.nanoseconds > 0
    assert bench.cluster.pods == bench.pods
    answer = measure(bench, 1.0)
    assert answer.decisions % 10 == 0
    assert answer.microseconds * answer.decisions >= 1000


def test_nothing_is_collected_while_a_case_is_measured() -> None:
    code = (
        "import gc\n"
        "from benchmarks.check.cases import Case\n"
        "from benchmarks.check.worker import ready\n"
        "bench = ready(Case('plain', 20))\n"
        "assert not gc.isenabled()\n"
        "assert gc.get_freeze_count() > 1000\n"
    )
    environment = environment_for([ROOT / "src"])
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)


def test_a_worker_answers_until_it_is_ended() -> None:
    with Worker("this tree", [ROOT / "src"]) as worker:
        worker.begin(PLAIN)
        assert worker.wait().decisions == 0
        assert worker.measure(1.0) > 0


def test_a_worker_that_has_ended_says_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mooring").mkdir()
    (tmp_path / "mooring" / "__init__.py").touch()
    with Worker("another tree", [tmp_path]) as worker:
        worker.begin(PLAIN)
        with pytest.raises(BenchError, match="the process that measures another tree has ended"):
            worker.wait()
    assert "mooring" in capfd.readouterr().err


def test_another_tree_is_that_of_the_commit() -> None:
    with turns.source_of("HEAD") as source:
        assert (source / "mooring" / "__init__.py").exists()
        assert source.parent != ROOT
    assert not source.exists()
    with (
        pytest.raises(BenchError, match="nothing-like-it is no commit"),
        turns.source_of("nothing-like-it"),
    ):
        pass


def test_the_ratio_is_the_median_within_pairs() -> None:
    # Noise doubles every second pair as a whole, and one turn is hit alone.
    pairs = [(100.0, 110.0), (200.0, 220.0)] * 10 + [(100.0, 400.0)]
    found = turns.summary(PLAIN, pairs)
    assert found.ratio == pytest.approx(1.1)
    assert found.low == pytest.approx(1.1)
    assert found.high == pytest.approx(1.1)
    assert found.turns == 21
    scattered = turns.summary(PLAIN, [(100.0, 100.0 + number) for number in range(101)])
    assert scattered.low == pytest.approx(1.40)
    assert scattered.ratio == pytest.approx(1.50)
    assert scattered.high == pytest.approx(1.61)


class Turns:
    """A worker that takes so long, whatever it is asked."""

    def __init__(self, asked: list[str], name: str, microseconds: float) -> None:
        self._asked = asked
        self._name = name
        self._microseconds = microseconds

    def begin(self, case: Case) -> None:
        self._asked.append(f"{self._name} begins {case}")

    def wait(self) -> None:
        return

    def measure(self, milliseconds: float) -> float:
        self._asked.append(self._name)
        return self._microseconds


def test_who_begins_a_pair_alternates() -> None:
    asked: list[str] = []
    base, now = Turns(asked, "base", 10.0), Turns(asked, "now", 9.0)
    found = turns.compare(PLAIN, base, now, 3)  # type: ignore[arg-type]
    assert asked == [
        "base begins plain@20", "now begins plain@20", "base", "now", "now", "base", "base", "now",
    ]  # fmt: skip
    assert (found.base, found.now, found.ratio) == (10.0, 9.0, 0.9)


def test_a_loss_is_more_than_15_percent() -> None:
    near = Counted("plain", 100, 1000, 1150)
    over = Counted("plain", 100, 1000, 1151)
    unsure = Comparison("plain", 100, 1.0, 1.2, 1.2, 1.1, 1.3, 9)
    sure = Comparison("plain", 100, 1.0, 1.2, 1.2, 1.16, 1.3, 9)
    assert losses([near, unsure]) == []
    assert len(losses([over])) == len(losses([sure])) == 1


def test_counts_are_read_from_callgrinds_file() -> None:
    assert instructions.total("events: Ir\nsummary: 0\ntotals: 1234\n") == 1234
    with pytest.raises(BenchError, match="counted nothing"):
        instructions.total("events: Ir\n")


def test_without_valgrind_nothing_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(BenchError, match="valgrind, which is not installed"):
        instructions.count([PLAIN], [], lambda *_: None)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, float]:
    """Counts as they would be now, by case, and a file of recorded ones."""
    now = {"plain@20": 1000.0, "mix@20": 2000.0}

    def count(cases: list[Case], path: object, say: object) -> dict[Case, float]:
        return {case: now[str(case)] for case in cases}

    monkeypatch.setattr(instructions, "count", count)
    file = tmp_path / "recorded.json"
    monkeypatch.setattr(recorded, "FILE", file)
    return now


def check(*arguments: str) -> int:
    return command_line.main(["--nodes", "20", *arguments])


def test_counts_are_recorded_and_compared(
    counted: dict[str, float], capsys: pytest.CaptureFixture[str]
) -> None:
    assert check("--workload", "plain", "--record") == 0
    assert check("--workload", "mix", "--record") == 0
    assert set(Recorded.read().instructions) == {"plain@20", "mix@20"}
    counted["plain@20"] = 1140.0
    assert check("--workload", "plain", "mix") == 0
    assert "1.140" in capsys.readouterr().out
    counted["plain@20"] = 1160.0
    assert check("--workload", "plain", "mix") == 1
    assert "plain on 20 nodes costs 1.16 times" in capsys.readouterr().out


def test_what_is_not_recorded_cannot_be_compared(
    counted: dict[str, float], capsys: pytest.CaptureFixture[str]
) -> None:
    assert check("--workload", "plain") == 2
    assert "has no recorded counts" in capsys.readouterr().err
    assert check("--workload", "plain", "--record") == 0
    assert check("--workload", "mix") == 2
    assert "nothing is recorded for mix@20" in capsys.readouterr().err
    other = Recorded.read()
    other.python = "3.99.0"
    other.write()
    assert check("--workload", "plain") == 2
    assert "were recorded with Python 3.99.0" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong",
    [["--instructions"], ["--adapter", "x"], ["--base", "HEAD", "--record"]],
    ids=" ".join,
)
def test_wrong_arguments_are_rejected(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as rejected:
        check(*wrong)
    assert rejected.value.code == 2
    assert wrong[0] in capsys.readouterr().err or "--record" in wrong


def test_two_trees_are_compared_in_turns(capsys: pytest.CaptureFixture[str]) -> None:
    code = check("--base", "HEAD", "--workload", "plain", "--turns", "2")
    assert code in (0, 1)  # two pairs say nothing
    assert "this tree" in capsys.readouterr().out
