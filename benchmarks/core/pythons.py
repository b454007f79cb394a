"""Part `pythons`: the same decisions with other interpreters; called by `__main__`.

Each interpreter runs part `speed` in processes of its own, in turns, so that all of them meet the
same machine.
"""

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from benchmarks.check.workers import ROOT
from benchmarks.command import BenchError, Say
from benchmarks.core.speed import Speed
from benchmarks.environment import Environment
from benchmarks.reporting import read_report

_TURNS = 3


class OfPython(msgspec.Struct):
    """What a decision costs with one interpreter.

    Attributes:
        python: its version.
        workload: whose pods were placed.
        nodes: on how many nodes.
        microseconds: CPU time of a decision, the median of all turns.
    """

    python: str
    workload: str
    nodes: int
    microseconds: float


class _Result(msgspec.Struct):
    """What this part reads of the report of a process."""

    environment: Environment
    speed: list[Speed]


def measure(others: Iterable[str], arguments: Sequence[str], say: Say) -> list[OfPython]:
    """Measure this interpreter and others.

    Args:
        others: their programs; mooring and matplotlib are installed for each.
        arguments: of a run of part `speed`: workloads, nodes.
        say: is told what is going on.

    Raises:
        BenchError: one of them cannot run the benchmark.
    """
    found: dict[tuple[str, str, int], list[float]] = {}
    for turn in range(1, _TURNS + 1):
        for program in (sys.executable, *others):
            say(f"{program}, turn {turn} of {_TURNS}")
            result = _run(program, arguments)
            for speed in result.speed:
                key = (result.environment.python, speed.workload, speed.nodes)
                found.setdefault(key, []).append(speed.microseconds)
    return [OfPython(*key, statistics.median(times)) for key, times in found.items()]


def _run(program: str, arguments: Sequence[str]) -> _Result:
    with tempfile.TemporaryDirectory(prefix="mooring-pythons-") as folder:
        command = [program, "-m", "benchmarks.core", "--part", "speed", *arguments]
        try:
            subprocess.run(
                [*command, "--out", folder], cwd=ROOT, check=True, capture_output=True, text=True
            )
        except OSError as error:
            raise BenchError(f"--python: {program} cannot be run: {error.strerror}.") from error
        except subprocess.CalledProcessError as error:
            last = error.stderr.strip().rpartition("\n")[2]
            raise BenchError(f"--python: {program} cannot run the benchmark: {last}") from error
        return read_report(Path(folder) / "core.json", _Result)
