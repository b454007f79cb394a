"""What a run found, its goals, and its table for people; called by `__main__`."""

from collections.abc import Iterator
from typing import Final

import msgspec
from rich.console import Console

from benchmarks.environment import Environment
from benchmarks.memory.measuring import Effort, MemoryResults
from benchmarks.memory.tenants import LARGER, TERM_AND_LABEL
from benchmarks.reporting import Goal, Part, print_ending, print_parts

#: So much more than at the start is allowed while the pods are there, and afterwards.
MOST_MB: Final = 100
#: The same for pods that invent two names each.
MOST_OF_TWO_MB: Final = 150
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
    tenants: list[MemoryResults]
    goals: list[Goal]


def goals(found: list[MemoryResults], effort: Effort) -> list[Goal]:
    """The goals about what was measured."""
    left = max(found, key=lambda one: one.after)
    two = [one for one in found if one.tenant == TERM_AND_LABEL]
    larger = {one.name for one in LARGER}
    names = [one for one in found if one not in two and one.tenant not in larger]
    return [
        *(_most(names, "invented names", effort, MOST_MB) if names else ()),
        *(_most(two, "pods that invent two names each", effort, MOST_OF_TWO_MB) if two else ()),
        Goal(
            goal=f"at most {AFTER_MB} MB of it are left {effort.rest_seconds:.0f} s after the pods "
            "are gone",
            measured=f"{left.after:.0f} MB ({left.tenant})",
            met=left.after <= AFTER_MB,
        ),
    ]


def _most(found: list[MemoryResults], what: str, effort: Effort, most: float) -> Iterator[Goal]:
    worst = max(found, key=lambda one: one.most)
    yield Goal(
        goal=f"{effort.names:,} {what} at {effort.nodes:,} nodes cost at most {most:g} MB",
        measured=f"{worst.most:.0f} MB ({worst.tenant})",
        met=worst.most <= most,
    )


def print_report(report: Report, console: Console) -> None:
    """Print the table and the goals; plain text when the output is no terminal."""
    print_parts([part(report)], console)
    print_ending(report.other_load, report.goals, console)


def part(report: Report) -> Part:
    """The table as texts; the documentation shows the same."""
    effort = report.effort
    names, nodes, rest = f"{effort.names:,}", f"{effort.nodes:,}", f"{effort.rest_seconds:.0f}"
    return (
        f"{names} names at {nodes} nodes, and {rest} s after the pods are gone",
        ("invented", "at the start", "most", "afterwards", "took"),
        [
            (
                one.tenant, f"{one.start:.0f} MB", f"{one.most:+.0f} MB", f"{one.after:+.0f} MB",
                f"{one.seconds:.0f} s",
            )
            for one in report.tenants
        ],
    )  # fmt: skip
