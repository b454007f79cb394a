"""What a run found, and its tables for people; called by `__main__`."""

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.environment import Environment
from benchmarks.extender.scheduler import GO_WHOLE, SchedulerResult
from benchmarks.extender.wire import WireResult
from benchmarks.reporting import Goal, new_table, print_ending, times


class Report(msgspec.Struct):
    """Everything a run found. A part that did not run is empty.

    Attributes:
        other_load: the share of the machine's CPU time that other programs used meanwhile.
    """

    environment: Environment
    quick: bool
    other_load: float
    wire: list[WireResult]
    scheduler: list[SchedulerResult]
    goals: list[Goal]


def print_report(report: Report, console: Console) -> None:
    """Print the tables and the goals; plain text when the output is no terminal."""
    if report.wire:
        console.print(_wire_table(report.wire, console))
    if report.scheduler:
        console.print(_scheduler_table(report.scheduler, console))
    print_ending(report.other_load, report.goals, console)


def _milliseconds(value: float) -> str:
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:,.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:,.0f} kB"


def _wire_table(results: list[WireResult], console: Console) -> Table:
    table = new_table("Requests, in milliseconds, Go / mooring", console)
    for name in ("case", "verb"):
        table.add_column(name, no_wrap=True)
    for name in (
        "Go\np50", "mooring\np50", "times\nfaster", "Go\np99", "mooring\np99", "times\nfaster",
        "first request", "CPU ms", "CPU\n÷ Go", "memory MB", "request", "reply",
    ):  # fmt: skip
        table.add_column(name, justify="right", no_wrap=True)
    previous = ""
    for result in results:
        go, mooring = result.go, result.mooring
        if previous and result.case != previous:
            table.add_section()
        table.add_row(
            result.case,
            result.verb,
            _milliseconds(go.p50_ms),
            _milliseconds(mooring.p50_ms),
            f"[bold]{times(result.times_faster)}[/]",
            _milliseconds(go.p99_ms),
            _milliseconds(mooring.p99_ms),
            times(result.times_faster_p99),
            f"{_milliseconds(go.cold_ms)} / {_milliseconds(mooring.cold_ms)}",
            f"{_milliseconds(go.cpu_ms)} / {_milliseconds(mooring.cpu_ms)}",
            times(result.cpu_ratio),
            f"{go.peak_memory_mb:.0f} / {mooring.peak_memory_mb:.0f}",
            _size(result.request_bytes),
            f"{_size(go.reply_bytes)} / {_size(mooring.reply_bytes)}",
        )
        previous = result.case
    return table


def _scheduler_table(results: list[SchedulerResult], console: Console) -> Table:
    table = new_table("Pods bound by kube-scheduler v1.36.4", console)
    table.add_column("nodes", justify="right")
    table.add_column("set-up", no_wrap=True)
    for name in (
        "pods", "pods/s", "times Go", "scheduler\nCPU ms/pod", "extender\nCPU ms/pod",
        "extender\nmemory MB",
    ):  # fmt: skip
        table.add_column(name, justify="right", no_wrap=True)
    go = {result.nodes: result.pods_per_second for result in results if result.setup == GO_WHOLE}
    previous = 0
    for result in results:
        if previous not in (0, result.nodes):
            table.add_section()
        cpu, memory = result.extender_cpu_ms, result.extender_peak_memory_mb
        table.add_row(
            f"{result.nodes:,}",
            result.setup,
            str(result.pods),
            f"[bold]{result.pods_per_second:,.1f}[/]",
            times(result.pods_per_second / go[result.nodes]),
            _milliseconds(result.scheduler_cpu_ms),
            "" if cpu is None else _milliseconds(cpu),
            "" if memory is None else f"{memory:.0f}",
        )
        previous = result.nodes
    return table
