"""Compares the CPU time of two source trees in turns; called by `__main__`.

Each tree has a process of its own that lives as long as the comparison. They take turns of a few
hundredths of a second, so that whatever else the machine does hits both alike; the ratio is the
median of the ratios within a pair of turns.
"""

import math
import statistics
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from benchmarks.check.cases import Case
from benchmarks.check.workers import ROOT, Worker
from benchmarks.command import BenchError

TURN_MILLISECONDS = 50.0
#: Standard deviations that 95 % of all samples are within.
_SURE = 1.96


class Comparison(msgspec.Struct):
    """One case on both trees.

    Attributes:
        base: microseconds of a decision of the base, the median of all turns.
        now: that of this tree.
        ratio: how many times the base this tree costs, the median within pairs.
        low: the ratio is at least this with a probability of 95 %, given the scatter of the pairs.
        high: and at most this.
        turns: how many pairs there were.
    """

    workload: str
    nodes: int
    base: float
    now: float
    ratio: float
    low: float
    high: float
    turns: int


@contextmanager
def source_of(revision: str) -> Iterator[Path]:
    """The folder `src` of a commit, in a folder of its own."""
    with TemporaryDirectory(prefix="mooring-base-") as folder:
        archive = subprocess.run(
            ["git", "archive", "--format=tar", revision, "src"],
            cwd=ROOT,
            capture_output=True,
            check=False,
        )
        if archive.returncode:
            raise BenchError(f"{revision} is no commit of this repository that has a folder src.")
        subprocess.run(
            ["tar", "-x", "-C", folder],
            input=archive.stdout,
            check=True,
        )
        yield Path(folder) / "src"


def compare(case: Case, base: Worker, now: Worker, turns: int) -> Comparison:
    """Measure a case in turns; who begins a pair alternates."""
    for worker in (base, now):
        worker.begin(case)
    for worker in (base, now):
        worker.wait()
    pairs: list[tuple[float, float]] = []
    for number in range(turns):
        if number % 2:
            second, first = now.measure(TURN_MILLISECONDS), base.measure(TURN_MILLISECONDS)
        else:
            first, second = base.measure(TURN_MILLISECONDS), now.measure(TURN_MILLISECONDS)
        pairs.append((first, second))
    return summary(case, pairs)


def summary(case: Case, pairs: Sequence[tuple[float, float]]) -> Comparison:
    """What pairs of turns say together."""
    ratios = sorted(now / base for base, now in pairs)
    middle, around = len(ratios) / 2, _SURE * math.sqrt(len(ratios)) / 2
    return Comparison(
        workload=case.workload,
        nodes=case.nodes,
        base=statistics.median(base for base, _ in pairs),
        now=statistics.median(now for _, now in pairs),
        ratio=statistics.median(ratios),
        low=ratios[max(0, math.floor(middle - around))],
        high=ratios[min(len(ratios) - 1, math.ceil(middle + around))],
        turns=len(ratios),
    )
