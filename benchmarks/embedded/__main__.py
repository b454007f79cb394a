"""The command line of the benchmark: `python -m benchmarks.embedded`, run by `make bench-embedded`.

Exit codes: 0 done, 1 a goal is not met and ``--check`` was given, 2 it could not run.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import command
from benchmarks.embedded import plot, servers
from benchmarks.embedded.goals import goals
from benchmarks.embedded.measuring import Effort, measure
from benchmarks.embedded.report import Report, print_report
from benchmarks.environment import Quiet, environment
from benchmarks.reporting import write_json

_QUICK = Effort(nodes=500, pods=2000, changes=20_000)


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.embedded",
        description="Measure the embedded API server, and the real kube-apiserver beside it.",
    )
    command.add_common_options(parser, "embedded", "500 nodes and 2,000 pods")
    parser.add_argument(
        "--alone", action="store_true", help="leave out the real kube-apiserver (no binaries)"
    )
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace) -> int:
    say = command.progress()
    out: Path = options.out
    command.make_folder(out)
    effort = _QUICK if options.quick else Effort()
    quiet = Quiet()
    with servers.embedded() as server:
        found = [measure(server, effort, say)]
    if not options.alone:
        with servers.real() as server:
            found.append(measure(server, effort, say))
    report = Report(
        environment=environment(),
        quick=options.quick,
        other_load=quiet.other_load(),
        effort=effort,
        servers=found,
        goals=goals(found, effort),
    )
    print_report(report, command.output())
    write_json(report, out / "embedded.json")
    plot.draw(report, out / "embedded.png")
    say(f"written: {out / 'embedded.json'} and {out / 'embedded.png'}")
    return 1 if options.check and not all(goal.met for goal in report.goals) else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    options = _arguments(arguments)
    return command.run("bench-embedded", lambda: _run(options))


if __name__ == "__main__":
    sys.exit(main())
