"""The tables of a run for people; called by `__main__`."""

from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from benchmarks.reporting import new_table, print_ending, times
from benchmarks.scheduler.contenders import KUBE_SCHEDULER, MOORING
from benchmarks.scheduler.limits import Limit
from benchmarks.scheduler.measuring import Run
from benchmarks.scheduler.results import Report, Result


def print_report(report: Report, console: Console) -> None:
    """Print the tables and the goals; plain text when the output is no terminal."""
    if report.results:
        console.print(_table(report.results, console))
    for result in report.results:
        for run in result.runs:
            if not result.complete(run):
                _say(console, f"* {result.workload}, {result.nodes:,} nodes: {_unfinished(run)}")
    if report.limits:
        console.print(_limit_table(report.limits, console))
    print_ending(report.other_load, report.goals, console)
    for failure in report.failures:
        _say(console, f"[red]FAILED [/] {failure}")


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False, soft_wrap=True)


def _unfinished(run: Run) -> str:
    return f"{run.scheduler} bound only {run.bound:,} pods before the run was ended."


def _table(results: list[Result], console: Console) -> Table:
    table = new_table("Pods created and bound, kube-scheduler v1.36.4 / moor run", console)
    table.add_column("nodes", justify="right")
    table.add_column("workload", no_wrap=True)
    for name in (
        "pods", "in\nscheduler_perf", "kube-scheduler\npods/s", "mooring\npods/s", "times",
        "CPU\nms/pod", "memory\nMB", "p50\nms", "p99\nms",
    ):  # fmt: skip
        table.add_column(name, justify="right", no_wrap=True)
    previous = 0
    for result in results:
        if previous not in (0, result.nodes):
            table.add_section()
        rate = "" if result.ratio is None else f"[bold]{times(result.ratio)}[/]"
        table.add_row(
            f"{result.nodes:,}",
            result.workload,
            f"{result.pods:,}",
            _official(result),
            _rate(result, KUBE_SCHEDULER),
            _rate(result, MOORING),
            rate,
            _both(result, lambda run: f"{run.cpu_ms_per_pod:.2f}"),
            _both(result, lambda run: f"{run.peak_memory_mb:.0f}"),
            _both(result, lambda run: f"{run.p50_ms:,.0f}"),
            _both(result, lambda run: f"{run.p99_ms:,.0f}"),
        )
        previous = result.nodes
    return table


def _official(result: Result) -> str:
    if result.official_pods is None:
        return "the same"
    return f"{result.official_pods:,}" if result.official_pods else "-"


def _rate(result: Result, scheduler: str) -> str:
    run = result.run(scheduler)
    if run is None:
        return "-"
    return f"{run.pods_per_second:,.0f}" + ("" if result.complete(run) else "*")


def _both(result: Result, show: Callable[[Run], str]) -> str:
    runs = (result.run(KUBE_SCHEDULER), result.run(MOORING))
    return " / ".join("-" if run is None else show(run) for run in runs)


def _limit_table(limits: list[Limit], console: Console) -> Table:
    table = new_table("The API server without a scheduler", console)
    for name in ("nodes", "pods", "creates/s", "binds/s", "creates and\nbinds/s"):
        table.add_column(name, justify="right", no_wrap=True)
    for limit in limits:
        table.add_row(
            f"{limit.nodes:,}",
            f"{limit.pods:,}",
            f"{limit.creates_per_second:,.0f}",
            f"{limit.binds_per_second:,.0f}",
            f"{limit.both_per_second:,.0f}",
        )
    return table
