"""The command line of the benchmark: `python -m benchmarks.faults`, run by `make bench-faults`.

Exit codes: 0 done, 1 a goal is not met and ``--check`` was given, 2 it could not run, or not all.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec

from benchmarks import command
from benchmarks.command import BenchError, Say
from benchmarks.environment import Quiet, environment
from benchmarks.faults import contenders, leader, objects, placing, requeued, slow, waiting
from benchmarks.faults.goals import goals
from benchmarks.faults.report import parts, print_report
from benchmarks.faults.results import FaultResults, Report
from benchmarks.pages import write_page
from benchmarks.reporting import MOST_OTHER_LOAD, write_json
from mooring.errors import MooringError
from mooring.testing.real_kubernetes import ControlPlane, find_binaries

T = TypeVar("T")

SCENARIOS: Final = ("waiting", "slow", "leader", "requeued")


class Effort(NamedTuple):
    """How much is done.

    Attributes:
        nodes: how many nodes.
        claims: how many waiting claims, one run for each number.
        rounds: how often 200 pods come.
        slow_pods: how many pods a slow API server is to take.
        slow_seconds: and how long at most.
        leaders: how often the leader ends, by each signal.
        requeued: how many pods that fit nowhere.
    """

    nodes: int = 100
    claims: tuple[int, ...] = (600, 2000)
    rounds: int = 3
    slow_pods: int = 2000
    slow_seconds: float = 60.0
    leaders: int = 2
    requeued: int = 20_000


_QUICK: Final = Effort(
    claims=(300,), rounds=1, slow_pods=300, slow_seconds=20.0, leaders=1, requeued=2000
)


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.faults",
        description="Measure kube-scheduler and `moor run` in trouble, on a real API server.",
    )
    command.add_common_options(parser, "faults", "300 claims, 2,000 requeued pods, one round each")
    parser.add_argument(
        "--scenario", choices=SCENARIOS, nargs="+", default=list(SCENARIOS), metavar="NAME",
        help=f"some of {', '.join(SCENARIOS)} (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--add", action="store_true", help="keep what the folder has of other scenarios"
    )
    parser.add_argument(
        "--scheduler", choices=contenders.SCHEDULERS, nargs="+", metavar="NAME",
        default=list(contenders.SCHEDULERS),
        help=f"some of {', '.join(contenders.SCHEDULERS)} (default: all)",
    )  # fmt: skip
    return parser.parse_args(arguments)


class Bench:
    """A run of the whole benchmark, and what it has found so far.

    Args:
        options: of the command line.
        say: is told what is going on.
    """

    def __init__(self, options: argparse.Namespace, say: Say) -> None:
        self.effort = _QUICK if options.quick else Effort()
        self.found = FaultResults()
        self.failures: list[str] = []
        self._scenarios: list[str] = options.scenario
        self._schedulers: list[str] = options.scheduler
        self._say = say

    def measure(self, plane: ControlPlane) -> None:
        """Measure everything; what fails is noted, and the rest goes on."""
        effort, found = self.effort, self.found
        placing.create(plane, objects.nodes(effort.nodes))
        plane.create(objects.STORAGE_CLASS)
        if "waiting" in self._scenarios:
            for count in effort.claims:
                measure = partial(waiting.measure, plane, count, rounds=effort.rounds)
                found.waiting += self._turns(f"waiting: {count:,} claims", measure)
        if "slow" in self._scenarios:
            found.slow += self._turns(
                "slow: late writes",
                lambda name: slow.measure(plane, name, effort.slow_pods, effort.slow_seconds),
            )
        if "leader" in self._scenarios:
            found.leader += self._turns(
                "leader: it ends", lambda name: leader.measure(plane, name, effort.leaders)
            )
        if "requeued" in self._scenarios:
            # Last, because so many pods are not deleted again. mooring begins: who comes second
            # finds all conditions as they should be, which saves kube-scheduler minutes.
            self._say(f"creating {effort.requeued:,} pods that fit nowhere")
            requeued.prepare(plane, effort.requeued)
            found.requeued += self._turns(
                "requeued: pods that fit nowhere",
                lambda name: requeued.measure(plane, name, effort.requeued),
                reversed(self._schedulers),
            )

    def _turns(self, title: str, measure: Callable[[str], T], order: Iterable[str] = ()) -> list[T]:
        results = []
        for name in order or self._schedulers:
            self._say(f"{title}: {name}")
            try:
                results.append(measure(name))
            except (BenchError, MooringError) as error:
                self.failures.append(f"{title}, {name}: {error}")
                self._say(f"{title}, {name} failed: {error}")
        return results


def _keep_others(report: Report, file: Path, scenarios: Sequence[str]) -> None:
    """Take over what an earlier run found in other scenarios."""
    if not file.exists():
        return
    earlier = msgspec.json.decode(file.read_bytes(), type=Report)
    for name in SCENARIOS:
        if name not in scenarios:
            setattr(report.found, name, getattr(earlier.found, name))
    report.failures += [one for one in earlier.failures if not one.startswith(tuple(scenarios))]
    report.other_load = max(report.other_load, earlier.other_load)
    report.quick |= earlier.quick


def _run(options: argparse.Namespace) -> int:
    say = command.progress()
    out: Path = options.out
    command.make_folder(out)
    find_binaries()  # before minutes of work, not after
    quiet = Quiet()
    bench = Bench(options, say)
    with ControlPlane() as plane:
        bench.measure(plane)
    report = Report(
        environment=environment(),
        quick=options.quick,
        nodes=bench.effort.nodes,
        other_load=quiet.other_load(),
        found=bench.found,
        goals=[],
        failures=bench.failures,
    )
    if options.add:
        _keep_others(report, out / "faults.json", options.scenario)
    report.goals = goals(report.found, quiet=report.other_load <= MOST_OTHER_LOAD)
    print_report(report, command.output())
    written = write_json(report, out / "faults.json")
    write_page(parts(written.found), written.other_load, out / "faults.md")
    say(f"written: {out / 'faults.json'}")
    if report.failures:
        return 2
    return 1 if options.check and not all(goal.met for goal in report.goals) else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    options = _arguments(arguments)
    return command.run("bench-faults", lambda: _run(options))


if __name__ == "__main__":
    sys.exit(main())
