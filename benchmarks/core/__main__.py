"""The command line of the benchmark: `python -m benchmarks.core`, run by `make bench-core`.

Exit codes: 0 done, 1 a goal is not met and ``--check`` was given, 2 it could not run.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks import command
from benchmarks.core import (
    by_plugin,
    confirming,
    devices,
    growth,
    pauses,
    plot,
    pythons,
    sizes,
    speed,
    waking,
)
from benchmarks.core.bench import Bench
from benchmarks.core.collection import collecting_as_moor_run
from benchmarks.core.findings import Findings
from benchmarks.core.goals import GOAL_NODES, goals
from benchmarks.core.options import add_workloads
from benchmarks.core.report import Report, parts, print_report
from benchmarks.core.speed import Effort
from benchmarks.core.workloads import WORKLOADS, Workload
from benchmarks.environment import Quiet, environment
from benchmarks.pages import write_page
from benchmarks.reporting import read_report, rounded, write_json

_NODES = (100, 1000, GOAL_NODES)
_QUICK_NODES = (100, 1000)
_EFFORT = Effort(seconds=1.0, rounds=11)
_QUICK_EFFORT = Effort(seconds=0.1, rounds=3)
#: On fewer, pods that keep apart have no room.
_LEAST_NODES = 20
#: What is measured of each workload, and once.
_OF_WORKLOADS = ("speed", "plugins", "growth", "sizes", "confirming")
PARTS = (*_OF_WORKLOADS, "devices", "waking", "pauses", "pythons")
#: Confirming is the same work for most pods, so these will do.
_CONFIRMED = ("plain", "anti-affinity", "spread", "deployment")


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
    add_workloads(parser)
    parser.add_argument(
        "--part",
        choices=PARTS,
        nargs="+",
        metavar="NAME",
        help=f"some of the parts: {', '.join(PARTS)} (default: all)",
    )
    parser.add_argument(
        "--python",
        nargs="+",
        default=[],
        metavar="PROGRAM",
        help="interpreters that part pythons compares with this one, at the largest number of "
        "nodes; they need mooring and matplotlib (default: that part is left out)",
    )
    parser.add_argument(
        "--add",
        action="store_true",
        help="keep the parts that an earlier run wrote and this has not",
    )
    options = parser.parse_args(arguments)
    if "pythons" in (options.part or ()) and not options.python:
        parser.error("--part pythons needs --python")
    options.part = options.part or list(PARTS)
    of_devices = devices.QUICK_NODES if options.quick else devices.NODES
    options.device_nodes = sorted(set(options.nodes or of_devices))
    options.nodes = sorted(set(options.nodes or (_QUICK_NODES if options.quick else _NODES)))
    if options.check and GOAL_NODES not in options.nodes:
        parser.error(f"--check needs {GOAL_NODES} among the nodes, the goals are about that many")
    return options


class Run:
    """What a run measures, and what it has found so far.

    Args:
        nodes: the numbers of nodes, ascending.
        chosen: the parts to measure.
        effort: how long.
        say: is told what is going on.
    """

    def __init__(
        self, nodes: Sequence[int], chosen: Sequence[str], effort: Effort, say: command.Say
    ) -> None:
        self.found = Findings()
        self._nodes = nodes
        self._chosen = chosen
        self._effort = effort
        self._say = say

    def measure(self, workload: Workload) -> None:
        """Measure one workload at all numbers of nodes, and how it grows from the largest."""
        largest = self._nodes[-1]
        more = growth.pod_counts(largest)[1:]
        for count in self._nodes if {"speed", "plugins"} & set(self._chosen) else (largest,):
            self._say(f"{workload.title}: {count:,} nodes")
            bench = Bench(workload, count, growth.pod_counts(count)[0])
            with collecting_as_moor_run():
                if "speed" in self._chosen:
                    self.found.speed.append(speed.measure(bench, self._effort))
                if "plugins" in self._chosen:
                    self.found.by_plugin.append(by_plugin.measure(bench, self._effort))
        if "confirming" in self._chosen and workload.name in _CONFIRMED:
            with collecting_as_moor_run():
                self.found.confirming.append(confirming.measure(bench, self._effort))
        if "growth" in self._chosen:
            self._say(f"{workload.title}: {largest:,} nodes, up to {more[-1]:,} pods on them")
            benches = [bench, *(Bench(workload, largest, pods) for pods in more)]
            with collecting_as_moor_run():
                self.found.growth.append(growth.measure(benches, self._effort))
        if "sizes" in self._chosen:
            self._say(f"{workload.title}: up to {sizes.TIMES * largest:,} nodes")
            self.found.sizes.append(sizes.measure(workload, largest, self._effort))

    def measure_once(self) -> None:
        """Measure what is the same for all workloads."""
        if "waking" in self._chosen:
            self._say("unschedulable pods, woken at once")
            self.found.waking.append(waking.measure(self._nodes[-1]))
        if "pauses" in self._chosen:
            self._say("garbage collection on a full cluster")
            self.found.pauses.append(pauses.measure(self._nodes[-1]))

    def measure_devices(self, nodes: Sequence[int]) -> None:
        """Measure pods that need devices, at these numbers of nodes."""
        if "devices" not in self._chosen:
            return
        for workload in devices.DEVICE_WORKLOADS.values():
            for count in nodes:
                self._say(f"{workload.title}: {count:,} nodes")
                with collecting_as_moor_run():
                    self.found.devices.append(devices.measure(workload, count, self._effort))


def _earlier(file: Path) -> Report | None:
    """What an earlier run found, if there was one."""
    return read_report(file, Report) if file.exists() else None


def _run(options: argparse.Namespace) -> int:
    say = command.progress()
    out: Path = options.out
    command.make_folder(out)
    earlier = _earlier(out / "core.json") if options.add else None
    quiet = Quiet()
    run = Run(options.nodes, options.part, _QUICK_EFFORT if options.quick else _EFFORT, say)
    if set(options.part) & set(_OF_WORKLOADS):
        for name in dict.fromkeys(options.workload):
            run.measure(WORKLOADS[name])
    run.measure_devices(options.device_nodes)
    run.measure_once()
    if options.python and "pythons" in options.part:
        of = ["--workload", *options.workload, "--nodes", str(options.nodes[-1])]
        of += ["--quick"] if options.quick else []
        run.found.pythons = pythons.measure(options.python, of, say)
    other_load = quiet.other_load()
    if earlier is not None:
        run.found.add(earlier)
        other_load = max(other_load, earlier.other_load)
    found = rounded(run.found)
    report = Report(
        **msgspec.structs.asdict(found),
        environment=environment(),
        quick=options.quick,
        other_load=other_load,
        goals=goals(found),
    )
    print_report(report, command.output())
    written = write_json(report, out / "core.json")
    write_page(parts(written), written.other_load, out / "core.md")
    plot.draw(report, out / "core.png")
    say(f"written: {out / 'core.json'} and {out / 'core.png'}")
    return 1 if options.check and not all(goal.met for goal in report.goals) else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    options = _arguments(arguments)
    return command.run("bench-core", lambda: _run(options))


if __name__ == "__main__":
    sys.exit(main())
