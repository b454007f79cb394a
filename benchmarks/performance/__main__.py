"""The command line: `python -m benchmarks.performance`, run by `make bench-all`.

Exit codes: 0 done, 2 something could not run; what could is written all the same.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import command
from benchmarks.check.workers import ROOT
from benchmarks.core.__main__ import main as core
from benchmarks.extender.__main__ import main as extender
from benchmarks.performance import page
from benchmarks.performance.steps import CORE, EXTENDER, NAMES, PAGES, SCHEDULER, Step, chosen
from benchmarks.scheduler.__main__ import main as scheduler

_DOCS = ROOT / "docs"

#: Runs a benchmark with arguments; its exit code.
Main = Callable[[Sequence[str]], int]


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.performance",
        description="Measure everything docs/performance.md shows, and write the pages.",
    )
    parser.add_argument(
        "--step",
        nargs="+",
        default=[],
        metavar="NAME",
        help=f"some of the steps: {', '.join(NAMES)}; {SCHEDULER}-5000/StartUp is one workload "
        "(default: all, and nothing of earlier runs is kept)",
    )
    parser.add_argument("--quick", action="store_true", help="short runs, to see that all works")
    parser.add_argument(
        "--out",
        type=Path,
        default=_DOCS / "benchmarks",
        metavar="DIR",
        help="folder for the results (default: docs/benchmarks)",
    )
    return parser.parse_args(arguments)


def _call(step: Step, options: argparse.Namespace, *, add: bool) -> int:
    mains: dict[str, Main] = {CORE: core, SCHEDULER: scheduler, EXTENDER: extender}
    more = ["--quick"] if options.quick else []
    more += ["--add"] if add and step.benchmark == SCHEDULER else []
    return mains[step.benchmark](["--out", str(options.out), *step.arguments, *more])


def _run(options: argparse.Namespace) -> int:
    say = command.progress()
    failed = []
    add = bool(options.step)
    for step in chosen(options.step):
        say(f"step {step.name}")
        if step.benchmark == PAGES:
            page.write(options.out, (_DOCS / "performance.md", ROOT / "README.md"))
            continue
        if _call(step, options, add=add):
            failed.append(step.name)
        add = add or step.benchmark == SCHEDULER
    for name in failed:
        say(f"step {name} failed; run it again with --step {name} {PAGES}")
    return 2 if failed else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the steps and return the exit code."""
    options = _arguments(arguments)
    return command.run("bench-all", lambda: _run(options))


if __name__ == "__main__":
    sys.exit(main())
