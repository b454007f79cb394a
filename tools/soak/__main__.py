"""``python -m tools.soak``: one run, a table, and JSON; exit code 1 when something must not be."""

import argparse
import itertools
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
from rich.console import Console

from mooring.wording import counted
from tools.soak import report
from tools.soak.driver import soak
from tools.soak.script import Phase, phases


def main() -> int:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(prog="python -m tools.soak")
    parser.add_argument("--minutes", type=float, default=10.0, help="begin no phase after so long")
    parser.add_argument("--seed", type=int, default=1, help="decides what happens")
    parser.add_argument("--replicas", type=int, default=2, choices=(1, 2))
    parser.add_argument("--phases", type=int, help="at most so many phases")
    parser.add_argument("--only", help="only the phase with this number of the script")
    parser.add_argument("--folder", type=Path, help="keep all logs there; a temporary one if not")
    parser.add_argument("--json", type=Path, help="write the result there")
    asked = parser.parse_args()
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="mooring-soak-"))
    console = Console(width=132 if not sys.stdout.isatty() else None)
    result = report.RunResult(seed=asked.seed, replicas=asked.replicas, minutes=asked.minutes)
    script: Iterator[Phase] = itertools.islice(phases(asked.seed, asked.replicas), asked.phases)
    if asked.only:
        script = (one for one in script if str(one.number) == asked.only)

    def told(done: report.PhaseResult) -> None:
        console.print(report.line(report.cells(done)), highlight=False, soft_wrap=True)

    replicas = counted(asked.replicas, "replica")
    console.print(f"seed {asked.seed}, {replicas}, logs in {folder}", soft_wrap=True)
    console.print(report.line(report.TITLES), highlight=False, soft_wrap=True)
    try:
        soak(folder, script, result, told)
    finally:
        if asked.json is not None:
            content = {**result.totals(), "by_phase": msgspec.to_builtins(result.phases)}
            asked.json.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=1))
    report.show(result, console)
    if result.violations:
        failed = result.phases[-1]
        console.print(
            f"VIOLATED in phase {failed.phase.number} ({failed.phase.trouble}) of seed "
            f"{result.seed} with {replicas}:",
            highlight=False,
        )
        for one in failed.violations:
            console.print(f"  {one}", highlight=False, soft_wrap=True)
        again = f"SEED={result.seed} REPLICAS={result.replicas} MINUTES={result.minutes:g}"
        console.print(f"All logs are in {folder}. The same again: make soak {again}")
        return 1
    if asked.folder is None:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
