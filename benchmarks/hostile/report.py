"""The result: a table for people, goals, and the struct that becomes JSON."""

import msgspec
from rich.console import Console

from benchmarks.environment import Environment
from benchmarks.hostile.measuring import Effort, Measured
from benchmarks.reporting import Goal, Part, print_ending, print_parts


class Report(msgspec.Struct):
    """What was measured."""

    environment: Environment
    quick: bool
    other_load: float
    effort: Effort
    attacks: list[Measured]
    goals: list[Goal]


def goals(found: list[Measured]) -> list[Goal]:
    """What is guaranteed."""
    served = [one for one in found if one.workers == 1]
    unanswered = sum(one.unanswered for one in served)
    growth = max((one.peak_mb - one.memory_mb for one in found), default=0.0)
    ended = max((one.end_seconds for one in found), default=0.0)
    codes = {one.exit_code for one in found}
    return [
        Goal("every request of the well-behaved caller is answered in time",
             f"{unanswered} were not", unanswered == 0),
        Goal("memory grows by at most 700 MB", f"{growth:.0f} MB", growth <= 700),
        Goal("SIGTERM ends it within 5 s, with 0",
             f"{ended:.1f} s, {sorted(codes)}", ended <= 5 and codes == {0}),
    ]  # fmt: skip


def print_report(report: Report, console: Console) -> None:
    """Print the table and the goals."""
    print_parts([part(report)], console)
    print_ending(report.other_load, report.goals, console)


def part(report: Report) -> Part:
    """The table as texts; the documentation shows the same."""
    return (
        "A well-behaved caller beside hostile ones",
        (
            "attack", "workers", "decided", "told", "silence", "p50 ms", "p99 ms", "max ms",
            "MB before", "MB peak", "livez", "end s", "exit", "log lines",
        ),
        [
            (
                one.attack, str(one.workers), str(one.answered), str(one.told), str(one.unanswered),
                f"{one.p50_ms:.1f}", f"{one.p99_ms:,.0f}", f"{one.max_ms:,.0f}",
                f"{one.memory_mb:.0f}", f"{one.peak_mb:.0f}", str(one.livez),
                f"{one.end_seconds:.1f}", str(one.exit_code), str(one.log_lines),
            )
            for one in report.attacks
        ],
    )  # fmt: skip
