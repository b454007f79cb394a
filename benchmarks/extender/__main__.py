"""The command line of the benchmark: `python -m benchmarks.extender`, run by `make bench-extender`.

Exit codes: 0 done, 1 a goal is not met and ``--check`` was given, 2 it could not run.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import command
from benchmarks.environment import Quiet, environment
from benchmarks.extender import plot, scheduler, wire
from benchmarks.extender.build import go_extender, go_version
from benchmarks.extender.goals import goals
from benchmarks.extender.report import Report, print_report
from benchmarks.reporting import write_json
from mooring.testing.real_kubernetes import find_binaries


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.extender",
        description="Measure mooring's extender server against a plain Go extender.",
    )
    command.add_common_options(parser, "extender", "fewer requests and pods")
    parser.add_argument("--part", choices=("wire", "scheduler", "all"), default="all")
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace) -> int:
    say = command.progress()
    out: Path = options.out
    command.make_folder(out)
    if options.part != "wire":
        find_binaries()  # before minutes of work, not after
    say("building the Go extender")
    program = go_extender()
    quick: bool = options.quick
    quiet = Quiet()
    requests = wire.measure(program, quick=quick, say=say) if options.part != "scheduler" else []
    scheduled = scheduler.measure(program, quick=quick, say=say) if options.part != "wire" else []
    report = Report(
        environment=environment(go_version()),
        quick=quick,
        other_load=quiet.other_load(),
        wire=requests,
        scheduler=scheduled,
        goals=goals(requests, scheduled),
    )
    print_report(report, command.output())
    write_json(report, out / "extender.json")
    plot.draw(report, out / "extender.png")
    say(f"written: {out / 'extender.json'} and {out / 'extender.png'}")
    return 1 if options.check and not all(goal.met for goal in report.goals) else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    options = _arguments(arguments)
    return command.run("bench-extender", lambda: _run(options))


if __name__ == "__main__":
    sys.exit(main())
