"""The command line of the benchmark: `python -m benchmarks.core`, run by `make bench-core`.

Exit codes: 0 done, 1 a goal is not met and ``--check`` was given, 2 it could not run.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import command
from benchmarks.core import by_plugin, growth, plot, speed
from benchmarks.core.bench import Bench
from benchmarks.core.by_plugin import Costs
from benchmarks.core.goals import GOAL_NODES, goals
from benchmarks.core.growth import Growth
from benchmarks.core.report import Report, print_report
from benchmarks.core.speed import Effort, Speed
from benchmarks.core.workloads import WORKLOADS, Workload
from benchmarks.environment import Quiet, environment
from benchmarks.reporting import write_json

_NODES = (100, 1000, GOAL_NODES)
_QUICK_NODES = (100, 1000)
_EFFORT = Effort(seconds=1.0, rounds=11)
_QUICK_EFFORT = Effort(seconds=0.1, rounds=3)
#: On fewer, pods that keep apart have no room.
_LEAST_NODES = 20


class Findings(NamedTuple):
    """What was measured so far."""

    speed: list[Speed]
    by_plugin: list[Costs]
    growth: list[Growth]


def _nodes(text: str) -> int:
    try:
        count = int(text.replace(",", ""))
    except ValueError:
        count = 0
    if count < _LEAST_NODES:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number, {_LEAST_NODES} or more")
    return count


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.core",
        description="Measure decisions in process, without I/O, on one core.",
    )
    command.add_common_options(parser, "core", "fewer decisions, and at most 1,000 nodes")
    parser.add_argument(
        "--nodes",
        type=_nodes,
        nargs="+",
        metavar="N",
        help="numbers of nodes; the growth with pods is measured at the largest "
        f"(default: {' '.join(map(str, _NODES))})",
    )
    parser.add_argument(
        "--workload",
        choices=list(WORKLOADS),
        nargs="+",
        default=list(WORKLOADS),
        metavar="NAME",
        help=f"some of the workloads: {', '.join(WORKLOADS)} (default: all)",
    )
    options = parser.parse_args(arguments)
    options.nodes = sorted(set(options.nodes or (_QUICK_NODES if options.quick else _NODES)))
    if options.check and GOAL_NODES not in options.nodes:
        parser.error(f"--check needs {GOAL_NODES} among the nodes, the goals are about that many")
    return options


def measure(
    workload: Workload, nodes: Sequence[int], effort: Effort, found: Findings, say: command.Say
) -> None:
    """Measure one workload at all numbers of nodes, and its growth with pods at the largest."""
    for count in nodes:
        say(f"{workload.title}: {count:,} nodes")
        few, *more = growth.pod_counts(count)
        bench = Bench(workload, count, few)
        found.speed.append(speed.measure(bench, effort))
        found.by_plugin.append(by_plugin.measure(bench, effort))
    say(f"{workload.title}: {count:,} nodes, up to {more[-1]:,} pods on them")
    benches = [bench, *(Bench(workload, count, pods) for pods in more)]
    found.growth.append(growth.measure(benches, effort))


def _run(options: argparse.Namespace) -> int:
    say = command.progress()
    out: Path = options.out
    command.make_folder(out)
    effort = _QUICK_EFFORT if options.quick else _EFFORT
    found = Findings([], [], [])
    quiet = Quiet()
    for name in dict.fromkeys(options.workload):
        measure(WORKLOADS[name], options.nodes, effort, found, say)
    report = Report(
        environment=environment(),
        quick=options.quick,
        other_load=quiet.other_load(),
        speed=found.speed,
        by_plugin=found.by_plugin,
        growth=found.growth,
        goals=goals(found.speed, found.growth),
    )
    print_report(report, command.output())
    write_json(report, out / "core.json")
    plot.draw(report, out / "core.png")
    say(f"written: {out / 'core.json'} and {out / 'core.png'}")
    return 1 if options.check and not all(goal.met for goal in report.goals) else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    options = _arguments(arguments)
    return command.run("bench-core", lambda: _run(options))


if __name__ == "__main__":
    sys.exit(main())
