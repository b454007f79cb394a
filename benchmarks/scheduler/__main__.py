"""The command line of the benchmark: `python -m benchmarks.scheduler`.

Run by `make bench-scheduler`.
Exit codes: 0 done, 1 a goal is not met and ``--check`` was given, 2 it could not run, or not all.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import command
from benchmarks.command import BenchError, Say
from benchmarks.environment import Quiet, environment
from benchmarks.reporting import write_json
from benchmarks.scheduler import cluster, limits, measuring, plot
from benchmarks.scheduler.cluster import Prepared
from benchmarks.scheduler.contenders import SCHEDULERS
from benchmarks.scheduler.goals import goals
from benchmarks.scheduler.limits import Limit
from benchmarks.scheduler.measuring import Run
from benchmarks.scheduler.report import print_report
from benchmarks.scheduler.results import Report, Result
from benchmarks.scheduler.rules import broken_rules
from benchmarks.scheduler.task import Task
from benchmarks.scheduler.workloads import LARGE, QUICK, SMALL, WORKLOADS
from mooring.errors import MooringError
from mooring.testing.real_kubernetes import find_binaries

_LEAST_NODES = 10
_LIMIT_PODS = 2000
_QUICK_LIMIT_PODS = 1000


def _nodes(text: str) -> int:
    try:
        count = int(text.replace(",", ""))
    except ValueError:
        count = 0
    if count < _LEAST_NODES:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number, {_LEAST_NODES} or more")
    return count


def _workload(text: str) -> str:
    for name in (text, f"Scheduling{text}"):
        if name in WORKLOADS:
            return name
    raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(WORKLOADS)}")


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scheduler",
        description="Measure kube-scheduler and `moor run` on a real API server.",
    )
    command.add_common_options(
        parser, "scheduler", f"only {', '.join(QUICK)} with {LARGE} nodes, and fewer pods"
    )
    parser.add_argument(
        "--workload",
        type=_workload,
        nargs="+",
        metavar="NAME",
        help=f"some of the workloads: {', '.join(WORKLOADS)} (default: all)",
    )
    parser.add_argument(
        "--nodes",
        type=_nodes,
        nargs="+",
        metavar="N",
        help=f"numbers of nodes (default: {SMALL} {LARGE})",
    )
    parser.add_argument(
        "--scheduler",
        choices=list(SCHEDULERS),
        nargs="+",
        default=list(SCHEDULERS),
        metavar="NAME",
        help=f"only some of the schedulers: {', '.join(SCHEDULERS)} (default: all)",
    )
    options = parser.parse_args(arguments)
    options.nodes = sorted(set(options.nodes or ([LARGE] if options.quick else [SMALL, LARGE])))
    options.workload = options.workload or (QUICK if options.quick else list(WORKLOADS))
    if options.check and not (
        LARGE in options.nodes
        and set(QUICK) <= set(options.workload)
        and set(options.scheduler) == set(SCHEDULERS)
    ):
        parser.error(
            f"--check needs both schedulers, {LARGE} nodes and the workloads {', '.join(QUICK)}, "
            "which the goals are about"
        )
    return options


class Bench:
    """A run of the whole benchmark, and what it has found so far.

    Args:
        options: of the command line.
        say: is told what is going on.
    """

    def __init__(self, options: argparse.Namespace, say: Say) -> None:
        self.limits: list[Limit] = []
        self.results: list[Result] = []
        self.failures: list[str] = []
        self._schedulers: list[str] = list(dict.fromkeys(options.scheduler))
        self._workloads: list[str] = list(dict.fromkeys(options.workload))
        self._nodes: list[int] = options.nodes
        self._quick: bool = options.quick
        self._out: Path = options.out
        self._say = say

    def measure(self) -> None:
        """Measure everything; what fails is noted, and the rest goes on."""
        for nodes in self._nodes:
            for place, name in enumerate(self._workloads):
                task = Task(WORKLOADS[name], nodes, quick=self._quick)
                self._say(f"{name}, {nodes:,} nodes: preparing")
                with cluster.prepared(task) as prepared:
                    if place == 0:
                        self.limits.append(self._limit(prepared))
                    self._measure(prepared)

    def _limit(self, prepared: Prepared) -> Limit:
        nodes = prepared.task.nodes
        self._say(f"{nodes:,} nodes: the API server alone")
        pods = _QUICK_LIMIT_PODS if self._quick else _LIMIT_PODS
        with prepared.running() as plane:
            return limits.measure(plane, nodes, pods, prepared.task.workload.namespaces[1])

    def _measure(self, prepared: Prepared) -> None:
        task = prepared.task
        runs: list[Run] = []
        for name in self._schedulers:
            title = f"{task.workload.name}, {task.nodes:,} nodes, {name}"
            self._say(title)
            try:
                runs.append(self._run(prepared, name))
            except (BenchError, MooringError) as error:
                self.failures.append(f"{title}: {error}")
                self._say(f"{title} failed: {error}")
        size = task.size
        self.results.append(
            Result(task.workload.name, task.nodes, task.init_pods, size.pods, size.official, runs)
        )

    def _run(self, prepared: Prepared, name: str) -> Run:
        task = prepared.task
        with prepared.running() as plane, SCHEDULERS[name](plane) as scheduler:
            whole = False
            try:
                run = measuring.measure(plane, name, scheduler, task)
                broken = broken_rules(task, plane.list_objects("Pod"))
                if broken:
                    raise BenchError(f"it breaks rules: {'; '.join(broken)}.")
                whole = run.bound == task.size.pods
                return run
            finally:
                if not whole:
                    file = self._out / f"{name}-{task.workload.name}-{task.nodes}.log"
                    file.write_text(scheduler.log())
                    self._say(f"something went wrong; the log of {name} is {file}")


def _run(options: argparse.Namespace) -> int:
    say = command.progress()
    out: Path = options.out
    command.make_folder(out)
    find_binaries()  # before minutes of work, not after
    quiet = Quiet()
    bench = Bench(options, say)
    bench.measure()
    report = Report(
        environment=environment(),
        quick=options.quick,
        other_load=quiet.other_load(),
        limits=bench.limits,
        results=bench.results,
        goals=goals(bench.results),
        failures=bench.failures,
    )
    print_report(report, command.output())
    write_json(report, out / "scheduler.json")
    if any(result.runs for result in report.results):
        plot.draw(report, out / "scheduler.png")
    say(f"written: {out / 'scheduler.json'} and {out / 'scheduler.png'}")
    if report.failures:
        return 2
    return 1 if options.check and not all(goal.met for goal in report.goals) else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    options = _arguments(arguments)
    return command.run("bench-scheduler", lambda: _run(options))


if __name__ == "__main__":
    sys.exit(main())
