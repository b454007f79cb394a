"""The tables of docs/performance.md and the rows of README.md, from results; called by `__main__`.

A test makes them anew from the published results and compares.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import msgspec

from benchmarks.command import BenchError
from benchmarks.core import report as core
from benchmarks.environment import Environment
from benchmarks.pages import table, with_places
from benchmarks.reporting import Goal, Part, read_report
from benchmarks.scheduler import report as scheduler
from benchmarks.scheduler import results as scheduler_results
from benchmarks.scheduler.contenders import KUBE_SCHEDULER, MOORING
from benchmarks.scheduler.ways import CREATE, DRAIN
from benchmarks.scheduler.workloads import LARGE

_MISSING = "The published run has no figures for this."
#: A row of the README's table of schedulers; the workload's name is in brackets.
_ROW = re.compile(r"^\| (?P<what>.* \((?P<workload>\w+)\)) \| .* \| .* \| .* \|$", re.MULTILINE)


class Extender(msgspec.Struct):
    """What the page takes from the benchmark of `moor serve`, which has a page of its own."""

    goals: list[Goal]


class Results(NamedTuple):
    """What the benchmarks found."""

    core: core.Report
    scheduler: scheduler_results.Report
    extender: Extender

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read a folder's files.

        Raises:
            BenchError: one is missing or of another version.
        """
        return cls(
            read_report(folder / "core.json", core.Report),
            read_report(folder / "scheduler.json", scheduler_results.Report),
            read_report(folder / "extender.json", Extender),
        )


def performance(text: str, results: Results, page: Path) -> str:
    """The page on performance with tables of these results."""
    return with_places(text, places(results), page)


def places(results: Results) -> dict[str, str]:
    """The texts of the page's places, by name."""
    live, decisions = scheduler.tables(results.scheduler), core.tables(results.core)
    reports = (results.core, results.scheduler, results.extender)
    goals = [goal for report in reports for goal in report.goals]
    return {
        "machine": _machine(results),
        "goals": _goals(goals),
        **{name: _shown(live.get(name)) for name in _LIVE},
        **{name: _shown(decisions.get(name)) for name in _DECISIONS},
    }


_LIVE = ("drain", "create", "claims", "rates", "others", "quality", "memory", "limits")
_DECISIONS = ("speed", "devices", "sizes", "growth", "confirming", "waking", "pauses", "pythons")


def _shown(part: Part | None) -> str:
    return _MISSING if part is None else table(part)


def _goals(goals: Sequence[Goal]) -> str:
    met = sum(goal.met for goal in goals)
    rows = [(goal.goal, goal.measured, "yes" if goal.met else "**no**") for goal in goals]
    return table((f"{met} of {len(goals)} goals are met", ("goal", "measured", "met"), list(rows)))


def _machine(results: Results) -> str:
    live, decisions = results.scheduler, results.core
    return (
        f"Schedulers: {_where(live.environment, live.other_load)}; etcd, kube-apiserver and "
        f"kube-scheduler v1.36.4 with GOMAXPROCS={live.gomaxprocs}.\n\n"
        f"Decisions in process: {_where(decisions.environment, decisions.other_load)}."
    )


def _where(machine: Environment, other_load: float) -> str:
    return (
        f"{machine.cpu}, {machine.cores} cores, {machine.memory_gb} GB, Python {machine.python}, "
        f"numpy {machine.numpy}, mooring {machine.mooring}, other programs used {other_load:.0%} "
        "of the CPUs"
    )


def readme(text: str, report: scheduler_results.Report) -> str:
    """The README with the pods a second of these results, drained if that was measured."""
    return _ROW.sub(lambda found: _row(found, report), text)


def _row(found: re.Match[str], report: scheduler_results.Report) -> str:
    for way in (DRAIN, CREATE):
        result = report.result(found["workload"], LARGE, way)
        kube = result.run(KUBE_SCHEDULER) if result is not None else None
        mooring = result.run(MOORING) if result is not None else None
        if kube is not None and mooring is not None:
            rates = (kube.pods_per_second, mooring.pods_per_second)
            cells = (*(f"{rate:.0f} pods/s" for rate in rates), f"{rates[1] / rates[0]:.1f}×")
            return f"| {found['what']} | {' | '.join(cells)} |"
    raise BenchError(f"{found['workload']}, which README.md shows, was not measured.")


def write(folder: Path, files: Iterable[Path]) -> None:
    """Write what results are about into pages that are there.

    Args:
        folder: has the results.
        files: the page on performance and the README.
    """
    results = Results.read(folder)
    page, front = files
    page.write_text(performance(page.read_text(), results, page))
    front.write_text(readme(front.read_text(), results.scheduler))
