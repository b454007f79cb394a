"""What a run found, and its table for people; called by `__main__`."""

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.embedded.measuring import Effort, EmbeddedResults
from benchmarks.environment import Environment
from benchmarks.reporting import Goal, new_table, print_ending


class Report(msgspec.Struct):
    """Everything a run found.

    Attributes:
        other_load: the share of the machine's CPU time that other programs used meanwhile.
        servers: the embedded one, and the real one unless it was left out.
    """

    environment: Environment
    quick: bool
    other_load: float
    effort: Effort
    servers: list[EmbeddedResults]
    goals: list[Goal]


#: What is shown of each server: its name, its unit and the field of `EmbeddedResults`.
ROWS = (
    ("start to first answer", "s", "start_seconds"),
    ("pods created a second", "", "pods_per_second"),
    ("CPU of the server for each", "ms", "cpu_ms_per_pod"),
    ("memory, empty", "MB", "empty_memory_mb"),
    ("memory with all nodes and pods", "MB", "memory_mb"),
    ("list of all pods", "s", "list_seconds"),
    ("changes a second, all watchers told", "", "changes_per_second"),
    ("the same with a watcher that reads nothing", "", "with_slow_watcher"),
)


def print_report(report: Report, console: Console) -> None:
    """Print the table and the goals; plain text when the output is no terminal."""
    console.print(_table(report, console))
    print_ending(report.other_load, report.goals, console)


def _table(report: Report, console: Console) -> Table:
    effort = report.effort
    title = (
        f"{effort.nodes:,} nodes, {effort.pods:,} pods, {effort.clients} clients, "
        f"{effort.watchers} watchers"
    )
    table = new_table(title, console)
    table.add_column("")
    for one in report.servers:
        table.add_column(one.server, justify="right")
    for name, unit, field in ROWS:
        values = [getattr(one, field) for one in report.servers]
        table.add_row(name, *(f"{shown(value)} {unit}".rstrip() for value in values))
    return table


def shown(value: float) -> str:
    """A figure for people."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2f}"
