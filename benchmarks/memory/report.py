"""What a run found, its goals, and its table for people; called by `__main__`."""

from typing import Final

import msgspec
from rich.console import Console

from benchmarks.environment import Environment
from benchmarks.memory.measuring import Effort, Found
from benchmarks.reporting import Goal, new_table, print_ending

#: So much more than at the start is allowed while the pods are there, and afterwards.
MOST_MB: Final = 100
AFTER_MB: Final = 50


class Report(msgspec.Struct):
    """Everything a run found.

    Attributes:
        other_load: the share of the machine's CPU time that other programs used meanwhile.
        tenants: one for each kind of invented names.
    """

    environment: Environment
    quick: bool
    other_load: float
    effort: Effort
    tenants: list[Found]
    goals: list[Goal]


def goals(found: list[Found], effort: Effort) -> list[Goal]:
    """The goals about what was measured."""
    worst = max(found, key=lambda one: one.most)
    left = max(found, key=lambda one: one.after)
    return [
        Goal(
            goal=f"{effort.names:,} invented names at {effort.nodes:,} nodes cost at most "
            f"{MOST_MB} MB",
            measured=f"{worst.most:.0f} MB ({worst.tenant})",
            met=worst.most <= MOST_MB,
        ),
        Goal(
            goal=f"at most {AFTER_MB} MB of it are left {effort.rest_seconds:.0f} s after the pods "
            "are gone",
            measured=f"{left.after:.0f} MB ({left.tenant})",
            met=left.after <= AFTER_MB,
        ),
    ]


def print_report(report: Report, console: Console) -> None:
    """Print the table and the goals; plain text when the output is no terminal."""
    effort = report.effort
    table = new_table(f"{effort.names:,} names, {effort.nodes:,} nodes", console)
    table.add_column("invented")
    for name in ("start", "most", "afterwards", "took"):
        table.add_column(name, justify="right")
    for one in report.tenants:
        table.add_row(one.tenant, *cells(one))
    console.print(table)
    print_ending(report.other_load, report.goals, console)


def cells(one: Found) -> tuple[str, ...]:
    """The figures of one tenant, as they are shown."""
    return (
        f"{one.start:.0f} MB", f"{one.most:+.0f} MB", f"{one.after:+.0f} MB", f"{one.seconds:.0f} s"
    )  # fmt: skip
