"""The command line: `python -m benchmarks.check`, run by `make bench-check`.

Exit codes: 0 nothing became dearer, 1 something did, 2 it could not run.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks import command
from benchmarks.check import instructions, report, turns
from benchmarks.check.cases import SIZES, Case
from benchmarks.check.recorded import Recorded
from benchmarks.check.report import Counted
from benchmarks.check.turns import Comparison
from benchmarks.check.workers import ROOT, Worker
from benchmarks.command import BenchError, Say
from benchmarks.core.options import add_workloads

_TURNS = 100
_THIS = [ROOT / "src"]


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.check",
        description="Has a decision become dearer? Counts instructions and compares them with "
        "recorded ones; fails when one case has 15 %% more.",
    )
    parser.add_argument(
        "--base",
        metavar="REV",
        help="compare with this commit instead, by CPU time in turns",
    )
    parser.add_argument(
        "--instructions", action="store_true", help="with --base: by instructions instead"
    )
    parser.add_argument(
        "--adapter",
        type=Path,
        metavar="DIR",
        help="with --base: modules that adapt the commit to this benchmark, found before its own",
    )
    parser.add_argument(
        "--turns",
        type=int,
        default=_TURNS,
        metavar="N",
        help="with --base: pairs of turns for each case (default: %(default)s)",
    )
    add_workloads(parser)
    parser.add_argument(
        "--nodes",
        type=int,
        nargs="+",
        default=list(SIZES),
        metavar="N",
        help=f"numbers of nodes (default: {' '.join(map(str, SIZES))})",
    )
    parser.add_argument("--record", action="store_true", help="record the counts as they are now")
    options = parser.parse_args(arguments)
    if options.base is None and (options.instructions or options.adapter):
        parser.error("--instructions and --adapter say how to compare with --base REV")
    if options.base is not None and options.record:
        parser.error("--record records this tree, without --base")
    return options


@contextmanager
def _base_path(options: argparse.Namespace) -> Iterator[list[Path]]:
    """Where the modules of the commit to compare with are."""
    with turns.source_of(options.base) as source:
        yield [*([options.adapter.resolve()] if options.adapter else []), source]


def _by_time(options: argparse.Namespace, cases: Sequence[Case], say: Say) -> list[Comparison]:
    found: list[Comparison] = []
    with (
        _base_path(options) as path,
        Worker(options.base, path) as base,
        Worker("this tree", _THIS) as now,
    ):
        for case in cases:
            one = turns.compare(case, base, now, options.turns)
            say(f"{case}: {one.ratio:.3f} ({one.low:.3f} to {one.high:.3f})")
            found.append(one)
    return found


def _count(cases: Sequence[Case], path: list[Path], say: Say) -> dict[Case, float]:
    return instructions.count(
        cases, path, lambda case, count: say(f"{case}: {count:,.0f} instructions")
    )


def _recorded(now: Recorded, cases: Sequence[Case]) -> dict[Case, float]:
    before = Recorded.read()
    before.must_be_comparable(now)
    missing = [str(case) for case in cases if str(case) not in before.instructions]
    if missing:
        raise BenchError(f"nothing is recorded for {', '.join(missing)}; record it with --record.")
    return {case: before.instructions[str(case)] for case in cases}


def _run(options: argparse.Namespace) -> int:
    say = command.progress()
    cases = [Case(name, nodes) for nodes in options.nodes for name in options.workload]
    console = command.output()
    if options.base is not None and not options.instructions:
        compared = _by_time(options, cases, say)
        report.print_table(report.comparisons(compared, options.base), compared, console)
        return 1 if report.losses(compared) else 0
    if options.base is not None:
        with _base_path(options) as path:
            before = _count(cases, path, say)
    elif not options.record:
        before = _recorded(Recorded.here({}), cases)
    now = _count(cases, _THIS, say)
    if options.record:
        here = Recorded.here(now)
        try:
            here = here.with_those_of(Recorded.read())
        except BenchError:
            say("these are the first counts")
        here.write()
        return 0
    counted = [Counted(case.workload, case.nodes, before[case], now[case]) for case in cases]
    report.print_table(report.counts(counted, options.base or "recorded"), counted, console)
    return 1 if report.losses(counted) else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare and return the exit code."""
    options = _arguments(arguments)
    return command.run("bench-check", lambda: _run(options))


if __name__ == "__main__":
    sys.exit(main())
