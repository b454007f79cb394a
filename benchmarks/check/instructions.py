"""Counts the instructions of a decision with callgrind; called by `__main__`.

The same source tree gives the same count to the last instruction, however busy the machine is:
hashes are not random, nothing is collected in the window that is counted, one thread runs. Another
Python, numpy or processor gives other counts.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.check.cases import Case
from benchmarks.check.workers import ROOT, environment_for
from benchmarks.command import BenchError

_TOTALS = "totals: "


def count(
    cases: Sequence[Case], path: list[Path], counted: Callable[[Case, float], None]
) -> dict[Case, float]:
    """Instructions of a decision in each case, as many cases at a time as there are cores.

    Args:
        cases: the cases.
        path: where modules come from, first.
        counted: is told of each case.

    Raises:
        BenchError: valgrind is missing, or the program failed in it.
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise BenchError("instructions are counted by valgrind, which is not installed.")
    program = valgrind
    found: dict[Case, float] = {}

    def one(case: Case) -> tuple[Case, float]:
        return case, _count(program, case, path)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            for case, instructions in pool.map(one, cases):
                found[case] = instructions
                counted(case, instructions)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # what has begun ends by itself
            raise
    return found


def _count(valgrind: str, case: Case, path: list[Path]) -> float:
    with TemporaryDirectory(prefix="mooring-check-") as folder:
        file = Path(folder) / "counts"
        callgrind = [valgrind, "--tool=callgrind", "--instr-atstart=no"]
        program = [sys.executable, "-m", "benchmarks.check.counted", str(case)]
        done = subprocess.run(
            [*callgrind, f"--callgrind-out-file={file}", *program],
            env=environment_for(path),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            last = (done.stderr.strip() or "it said nothing").splitlines()[-1]
            raise BenchError(f"{case} could not be counted: {last}")
        return total(file.read_text()) / int(done.stdout)


def total(text: str) -> int:
    """The number of instructions in a file of callgrind's."""
    for line in text.splitlines():
        if line.startswith(_TOTALS):
            return int(line.removeprefix(_TOTALS))
    raise BenchError("callgrind counted nothing.")
