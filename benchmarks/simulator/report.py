"""What a run found, its tables and its goals; called by `__main__`."""

import msgspec
from rich.console import Console

from benchmarks.environment import Environment
from benchmarks.reporting import Goal, Part, print_ending, print_parts
from benchmarks.simulator.cases import Measured

_CHURN_SECONDS, _MIX_SECONDS = 15.0, 60.0


class Report(msgspec.Struct):
    """Everything a run found.

    Attributes:
        other_load: the share of the machine's CPU time that other programs used meanwhile.
    """

    environment: Environment
    quick: bool
    other_load: float
    measured: list[Measured]
    goals: list[Goal]


def parts(report: Report) -> list[Part]:
    """The tables."""
    columns: tuple[str, ...] = (
        "workload", "nodes", "pods", "CPU s", "µs a pod", "set-up s", "virtual", "times real",
        "memory MB",
    )  # fmt: skip
    rows: list[tuple[str, ...]] = [
        (
            one.case.workload,
            f"{one.case.nodes:,}",
            f"{one.case.pods:,}",
            f"{one.seconds:.1f}",
            f"{one.microseconds:.0f}",
            f"{one.setup_seconds:.1f}",
            f"{one.virtual_seconds / 60:.0f} min",
            f"{one.virtual_seconds / one.seconds:,.0f}",
            f"{one.memory_mb:,.0f}",
        )
        for one in report.measured
    ]
    return [("simulations on one core", columns, rows)]


def goals(measured: list[Measured]) -> list[Goal]:
    """The goals about what was measured."""
    found = []
    for workload, nodes, pods, most in (
        ("churn", 5000, 50_000, _CHURN_SECONDS),
        ("mix", 5000, 100_000, _MIX_SECONDS),
    ):
        for one in measured:
            case = one.case
            if (case.workload, case.nodes, case.pods) == (workload, nodes, pods):
                seconds = one.seconds + one.setup_seconds
                goal = f"{pods:,} pods of {workload} on {nodes:,} nodes in {most:.0f} CPU s"
                met = seconds <= most and one.placed == pods
                found.append(Goal(goal, f"{seconds:.1f} s, {one.placed:,} placed", met))
    return found


def print_report(report: Report, console: Console) -> None:
    """Print the table and the goals."""
    print_parts(parts(report), console)
    print_ending(report.other_load, report.goals, console)
