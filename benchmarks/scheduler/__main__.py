"""The command line of the benchmark: `python -m benchmarks.scheduler`.

Run by `make bench-scheduler`.
Exit codes: 0 done, 1 a goal is not met and ``--check`` was given, 2 it could not run, or not all.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks import command
from benchmarks.command import BenchError, Say
from benchmarks.environment import Quiet, environment
from benchmarks.pages import write_page
from benchmarks.reporting import read_report, rounded, write_json
from benchmarks.scheduler import cluster, data_items, footprint, limits, measuring, plot
from benchmarks.scheduler.claim_rules import broken_claims
from benchmarks.scheduler.claim_task import task_of
from benchmarks.scheduler.claim_workloads import ALL_WORKLOADS, QUICK_CLAIMS
from benchmarks.scheduler.cluster import Prepared
from benchmarks.scheduler.contenders import SCHEDULERS
from benchmarks.scheduler.goals import LEAST_RATIO, goals
from benchmarks.scheduler.plan import BOTH, MEMORY, PARTS, Plan, Step, plan
from benchmarks.scheduler.quality import quality
from benchmarks.scheduler.report import parts, print_report
from benchmarks.scheduler.results import Found, Report, Result
from benchmarks.scheduler.rules import broken_rules
from benchmarks.scheduler.run import Run
from benchmarks.scheduler.task import Task
from benchmarks.scheduler.workloads import LARGE, QUICK, SMALL
from mooring.errors import MooringError
from mooring.testing.real_kubernetes import find_binaries

_LEAST_NODES = 10
_LIMIT_PODS = 2000
_QUICK_LIMIT_PODS = 1000
_LIMIT_PODS_PER_NODE = 4
_RESOURCE_API = "resource.k8s.io/v1"


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
        if name in ALL_WORKLOADS:
            return name
    raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(ALL_WORKLOADS)}")


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
        help=f"some of the workloads: {', '.join(ALL_WORKLOADS)} (default: all)",
    )
    parser.add_argument(
        "--part",
        choices=[*PARTS, MEMORY],
        nargs="+",
        metavar="NAME",
        help="some of the parts: "
        + "; ".join(f"{name}, {part.title}" for name, part in PARTS.items())
        + f"; {MEMORY}, two replicas on a full cluster (default: all; drain and create if --quick)",
    )
    parser.add_argument(
        "--nodes",
        type=_nodes,
        nargs="+",
        default=[],
        metavar="N",
        help=f"numbers of nodes (default: {SMALL} and {LARGE}, or what scheduler_perf has)",
    )
    parser.add_argument(
        "--scheduler",
        choices=list(SCHEDULERS),
        nargs="+",
        default=[],
        metavar="NAME",
        help="only some of the schedulers: %(choices)s (default: all)",
    )
    parser.add_argument(
        "--add",
        action="store_true",
        help="keep what an earlier run wrote and this one does not measure anew",
    )
    options = parser.parse_args(arguments)
    options.part = options.part or (["drain", "create"] if options.quick else [*PARTS, MEMORY])
    if options.quick:
        # Pods with claims for devices have sizes of their own.
        options.nodes = options.nodes or [SMALL if options.part == ["claims"] else LARGE]
        options.workload = options.workload or [*QUICK, *QUICK_CLAIMS]
    options.nodes = sorted(set(options.nodes))
    options.workload = options.workload or []
    missing = set(LEAST_RATIO if not options.quick else QUICK) - set(options.workload)
    if options.check and (
        (options.nodes and LARGE not in options.nodes)
        or (options.workload and missing)
        or (options.scheduler and not set(BOTH) <= set(options.scheduler))
    ):
        parser.error(
            f"--check needs both schedulers, {LARGE} nodes and the workloads "
            f"{', '.join(LEAST_RATIO)}, which the goals are about"
        )
    return options


class Bench:
    """A run of the whole benchmark, and what it has found so far.

    Args:
        out: where the logs of failed runs go.
        quick: whether fewer pods are measured.
        say: is told what is going on.
    """

    def __init__(self, out: Path, say: Say, *, quick: bool) -> None:
        self.found = Found()
        self._out = out
        self._quick = quick
        self._say = say

    def measure(self, todo: Plan) -> None:
        """Measure everything; what fails is noted, and the rest goes on."""
        for (name, nodes), steps in todo.items():
            task = task_of(ALL_WORKLOADS[name], nodes, quick=self._quick)
            self._say(f"{name}, {nodes:,} nodes: preparing")
            with cluster.prepared(task) as prepared:
                if any(step.compared_with_limit for step in steps):
                    self._limit(prepared)
                for step in steps:
                    self._measure(prepared, step)

    def measure_memory(self, nodes: int, schedulers: Sequence[str]) -> None:
        """Measure two replicas of each scheduler on a full cluster."""
        task = Task(footprint.WORKLOAD, nodes, quick=self._quick)
        self._say(f"{task.workload.name}, {nodes:,} nodes: preparing")
        with cluster.prepared(task) as prepared:
            for name in schedulers:
                title = f"{task.workload.name}, {nodes:,} nodes, {name}"
                self._say(title)
                try:
                    with prepared.running() as plane:
                        self.found.footprints.append(footprint.measure(plane, name, task))
                except (BenchError, MooringError) as error:
                    self._failed(title, error)

    def _failed(self, title: str, error: Exception) -> None:
        self.found.failures.append(f"{title}: {error}")
        self._say(f"{title} failed: {error}")

    def _limit(self, prepared: Prepared) -> None:
        task = prepared.task
        if task.workload.daemon:
            return  # its node has room for others than those of the loop
        self._say(f"{task.workload.name}, {task.nodes:,} nodes: the API server alone")
        most = _QUICK_LIMIT_PODS if self._quick else _LIMIT_PODS
        with prepared.running() as plane:
            pods = min(most, _LIMIT_PODS_PER_NODE * task.nodes)
            if task.workload.claims is not None:
                # Shared claims are there for the measured pods alone.
                pods = min(pods, task.size.pods // 3)
            measure = limits.measure_steady if task.workload.steady else limits.measure
            self.found.limits.append(measure(plane, task, pods))

    def _measure(self, prepared: Prepared, step: Step) -> None:
        task = prepared.task
        title = f"{task.workload.name}, {task.nodes:,} nodes, {step.way}, {step.scheduler}"
        self._say(title)
        quiet = Quiet()
        try:
            run = self._run(prepared, step)
        except (BenchError, MooringError) as error:
            self._failed(title, error)
            return
        run.other_load = quiet.other_load()
        size, key = task.size, (task.workload.name, task.nodes, step.way)
        pods = measuring.pods_of(step.way, size.pods)
        same = pods == size.pods and task.workload.official
        official = size.official if same else 0
        before = self.found.result(*key)
        if before is not None:
            self.found.results.remove(before)
        runs = [*(before.runs if before is not None else []), run]
        self.found.results.append(Result(*key, task.init_pods, pods, official, runs))

    def _run(self, prepared: Prepared, step: Step) -> Run:
        task, name = prepared.task, step.scheduler
        with prepared.running() as plane:
            scheduler = SCHEDULERS[name](plane)
            whole = False
            try:
                run = measuring.measure(plane, name, scheduler, task, step.way)
                pods = plane.list_objects("Pod")
                broken = broken_rules(task, pods)
                if task.workload.claims is not None:
                    claims = plane.list_objects("ResourceClaim", api_version=_RESOURCE_API)
                    broken += broken_claims(pods, claims)
                if broken:
                    raise BenchError(f"it breaks rules: {'; '.join(broken)}.")
                run.quality = quality(task, pods)
                whole = run.bound == measuring.pods_of(step.way, task.size.pods)
                return run
            finally:
                scheduler.stop()
                if not whole:
                    way = step.way.replace("/", "-")
                    file = self._out / f"{name}-{task.workload.name}-{task.nodes}-{way}.log"
                    file.write_text(scheduler.log())
                    self._say(f"something went wrong; the log of {name} is {file}")


def _earlier(file: Path) -> Report | None:
    """What an earlier run found, if there was one."""
    return read_report(file, Report) if file.exists() else None


def _run(options: argparse.Namespace) -> int:
    say = command.progress()
    out: Path = options.out
    command.make_folder(out)
    find_binaries()  # before minutes of work, not after
    earlier = _earlier(out / "scheduler.json") if options.add else None
    bench = Bench(out, say, quick=options.quick)
    bench.measure(plan(options.part, options.workload, options.nodes, options.scheduler))
    if MEMORY in options.part:
        replicas = [name for name in BOTH if not options.scheduler or name in options.scheduler]
        bench.measure_memory(max(options.nodes, default=LARGE), replicas)
    failed = bool(bench.found.failures)
    if earlier is not None:
        bench.found.add(earlier)
    found = rounded(bench.found)
    report = Report(
        **msgspec.structs.asdict(found),
        environment=environment(),
        gomaxprocs=int(os.environ.get("GOMAXPROCS", os.cpu_count() or 1)),
        quick=options.quick,
        other_load=found.most_other_load(),
        goals=goals(found),
    )
    print_report(report, command.output())
    written = write_json(report, out / "scheduler.json")
    data_items.write(written, out / "scheduler-data-items.json")
    write_page(parts(written), written.other_load, out / "scheduler.md")
    plot.draw(report, out / "scheduler.png")
    say(f"written: {out / 'scheduler.json'} and {out / 'scheduler.png'}")
    if failed:
        return 2
    return 1 if options.check and not all(goal.met for goal in report.goals) else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    options = _arguments(arguments)
    return command.run("bench-scheduler", lambda: _run(options))


if __name__ == "__main__":
    sys.exit(main())
