"""The command line of the benchmark: `python -m benchmarks.memory`, run by `make bench-memory`.

Exit codes: 0 done, 1 a goal is not met and ``--check`` was given, 2 it could not run.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks import command
from benchmarks.environment import Quiet, environment
from benchmarks.memory.measuring import Effort, cluster, measure
from benchmarks.memory.report import Report, goals, part, print_report
from benchmarks.memory.tenants import LARGER, TENANTS
from benchmarks.pages import write_page
from benchmarks.reporting import write_json

_QUICK = Effort(nodes=1000, names=2000, rest_seconds=15.0)


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.memory",
        description="Measure what invented names cost `moor run`.",
    )
    command.add_common_options(parser, "memory", "1,000 nodes and 2,000 names")
    parser.add_argument("--only", metavar="TEXT", default="", help="what has this in its name")
    parser.add_argument(
        "--add", action="store_true", help="keep what an earlier run in the folder found of others"
    )
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace) -> int:
    say = command.progress()
    out: Path = options.out
    command.make_folder(out)
    effort = _QUICK if options.quick else Effort()
    every = (*TENANTS, *LARGER)
    chosen = [one for one in (every if options.only else TENANTS) if options.only in one.name]
    if not chosen:
        names = ", ".join(one.name for one in every)
        raise command.BenchError(f"Nothing has {options.only!r} in its name; there are: {names}.")
    quiet = Quiet()
    with cluster(effort, say) as server:
        found = [measure(server, tenant, effort, say) for tenant in chosen]
    other_load = quiet.other_load()
    file = out / "memory.json"
    if options.add and file.exists():
        earlier = msgspec.json.decode(file.read_bytes(), type=Report)
        by_name = {one.tenant: one for one in (*earlier.tenants, *found)}
        found = [by_name[one.name] for one in every if one.name in by_name]
        other_load = max(other_load, earlier.other_load)
    report = Report(
        environment=environment(),
        quick=options.quick,
        other_load=other_load,
        effort=effort,
        tenants=found,
        goals=goals(found, effort),
    )
    print_report(report, command.output())
    written = write_json(report, file)
    write_page([part(written)], written.other_load, out / "memory.md")
    say(f"written: {file}")
    return 1 if options.check and not all(goal.met for goal in report.goals) else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    options = _arguments(arguments)
    return command.run("bench-memory", lambda: _run(options))


if __name__ == "__main__":
    sys.exit(main())
