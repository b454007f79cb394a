"""The command line of the benchmark: `python -m benchmarks.simulator`.

Run by `make bench-simulator`.

Exit codes: 0 done, 1 a goal is not met and ``--check`` was given, 2 it could not run.
"""

import argparse
import multiprocessing
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import command
from benchmarks.environment import Quiet, environment
from benchmarks.pages import write_page
from benchmarks.reporting import write_json
from benchmarks.simulator.cases import Case, Measured, measure
from benchmarks.simulator.report import Report, goals, parts, print_report
from mooring.process.garbage_collection import collect_in_short_pauses

CASES = (
    Case("churn", 100, 10_000),
    Case("churn", 1000, 10_000),
    Case("churn", 5000, 10_000),
    Case("churn", 5000, 25_000),
    Case("churn", 5000, 50_000),
    Case("churn", 15_000, 50_000),
    Case("mix", 1000, 20_000),
    Case("mix", 5000, 20_000),
    Case("mix", 5000, 100_000),
)
_QUICK = (Case("churn", 100, 2000), Case("churn", 1000, 2000), Case("mix", 200, 2000))


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.simulator",
        description="Measure simulations in virtual time, on one core.",
    )
    command.add_common_options(parser, "simulator", "three small simulations")
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace) -> int:
    say = command.progress()
    out: Path = options.out
    command.make_folder(out)
    quiet = Quiet()
    measured: list[Measured] = []
    # A fresh process for each, so that none inherits the memory of another.
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(1, collect_in_short_pauses, maxtasksperchild=1) as pool:
        for case in _QUICK if options.quick else CASES:
            say(f"{case.workload}: {case.pods:,} pods on {case.nodes:,} nodes")
            measured.append(pool.apply(measure, (case,)))
    report = Report(
        environment=environment(),
        quick=options.quick,
        other_load=quiet.other_load(),
        measured=measured,
        goals=goals(measured),
    )
    print_report(report, command.output())
    write_json(report, out / "simulator.json")
    write_page(parts(report), report.other_load, out / "simulator.md")
    say(f"written: {out / 'simulator.json'}")
    return 1 if options.check and not all(goal.met for goal in report.goals) else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    options = _arguments(arguments)
    return command.run("bench-simulator", lambda: _run(options))


if __name__ == "__main__":
    sys.exit(main())
