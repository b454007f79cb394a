"""The lines that a soak run prints while it goes on."""

import sys
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

import pytest

from tools.soak import __main__ as command
from tools.soak.report import TITLES, PhaseResult, RunResult, cells, line
from tools.soak.script import Phase, phases


def done(phase: Phase) -> PhaseResult:
    return PhaseResult(phase=phase, seconds=31, pods=120, bound=98, recovered=1.26, memory_mb=88)


def test_cells_stand_below_their_titles() -> None:
    titles = line(TITLES)
    for phase in islice(phases(1, 2), 25):
        result = done(phase)
        result.leaderless = 17.5
        row = line(cells(result))
        assert row.index(phase.trouble) == titles.index("trouble")
        for title, cell in (("pods", "120"), ("recovered", "1.3 s"), ("no leader", "17.5 s")):
            end = titles.index(title) + len(title)
            assert row[:end].endswith(f" {cell}")


def test_the_titles_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    at_first: list[str] = []

    def soak(
        folder: Path,
        script: Iterable[Phase],
        result: RunResult,
        told: Callable[[PhaseResult], None],
    ) -> None:
        at_first.append(capsys.readouterr().out)
        for phase in script:
            result.phases.append(done(phase))
            told(result.phases[-1])

    monkeypatch.setattr(command, "soak", soak)
    arguments = ["soak", "--replicas", "1", "--phases", "2", "--folder", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", arguments)
    assert command.main() == 0
    assert at_first == [f"seed 1, 1 replica, logs in {tmp_path}\n{line(TITLES)}\n"]
    assert capsys.readouterr().out.startswith(line(cells(done(next(phases(1, 1))))))
