"""The command line of the benchmark: `python -m benchmarks.hostile`, run by `make bench-hostile`.

Exit codes: 0 done, 1 a goal is not met and ``--check`` was given, 2 it could not run.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import command
from benchmarks.environment import Quiet, environment
from benchmarks.hostile.attacks import ATTACKS
from benchmarks.hostile.measuring import Effort, measure
from benchmarks.hostile.report import Report, goals, part, print_report
from benchmarks.pages import write_page
from benchmarks.reporting import write_json

_QUICK = Effort(seconds=7.0)
#: What is tried with two workers, too.
_TOGETHER = ("hanging", "stuck")


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.hostile",
        description="Measure what a well-behaved caller gets beside hostile ones.",
    )
    command.add_common_options(parser, "hostile", "7 s for each attack")
    parser.add_argument("--only", metavar="TEXT", default="", help="what has this in its name")
    parser.add_argument(
        "--source", type=Path, metavar="DIR", help="the src folder of another version of mooring"
    )
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace) -> int:
    say = command.progress()
    out: Path = options.out
    command.make_folder(out)
    effort = _QUICK if options.quick else Effort()
    chosen = [(one, 1) for one in ATTACKS if options.only in one.name]
    chosen += [(one, 2) for one, _ in chosen if one.name in _TOGETHER]
    if not chosen:
        names = ", ".join(one.name for one in ATTACKS)
        raise command.BenchError(f"Nothing has {options.only!r} in its name; there are: {names}.")
    quiet = Quiet()
    found = []
    for attack, workers in chosen:
        with TemporaryDirectory(prefix="mooring-hostile-") as folder:
            found.append(
                measure(
                    attack, effort, Path(folder), workers=workers, source=options.source, say=say
                )
            )
    report = Report(
        environment=environment(),
        quick=options.quick,
        other_load=quiet.other_load(),
        effort=effort,
        attacks=found,
        goals=goals(found),
    )
    print_report(report, command.output())
    written = write_json(report, out / "hostile.json")
    write_page([part(written)], written.other_load, out / "hostile.md")
    say(f"written: {out / 'hostile.json'}")
    return 1 if options.check and not all(goal.met for goal in report.goals) else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    options = _arguments(arguments)
    return command.run("bench-hostile", lambda: _run(options))


if __name__ == "__main__":
    sys.exit(main())
