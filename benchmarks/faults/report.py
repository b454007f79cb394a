"""The tables of a run for people; called by `__main__`."""

from collections.abc import Sequence

from rich.console import Console

from benchmarks.faults.results import FaultResults, Report
from benchmarks.reporting import Part, print_ending, print_parts, times


def print_report(report: Report, console: Console) -> None:
    """Print the tables and the goals; plain text when the output is no terminal."""
    print_parts(parts(report.found), console)
    print_ending(report.other_load, report.goals, console)
    for failure in report.failures:
        console.print(f"[red]FAILED [/] {failure}", highlight=False, soft_wrap=True)


def parts(found: FaultResults) -> Sequence[Part]:
    """What was found, as tables of text; the documentation shows the same."""
    tables: list[Part] = []
    if found.waiting:
        tables.append(
            (
                "Claims that nobody provisions, and then 200 other pods, three times",
                (
                    "scheduler", "waiting", "others bound", "pods/s", "pods/s without", "ratio",
                    "CPU ms/pod", "without", "idle CPU", "without", "SIGTERM to exit",
                ),
                [
                    (
                        one.scheduler, f"{one.claims:,}", f"{one.bound} of {one.others}",
                        f"{one.per_second:.0f}", f"{one.per_second_before:.0f}", times(one.ratio),
                        f"{one.cpu_ms_per_pod:.1f}", f"{one.cpu_ms_per_pod_before:.1f}",
                        f"{one.idle_percent:.1f} %", f"{one.idle_percent_before:.1f} %",
                        f"{one.stop_seconds:.1f} s",
                    )
                    for one in found.waiting
                ],
            )
        )  # fmt: skip
    if found.slow:
        tables.append(
            (
                "Every write is late by 1 to 4 s",
                ("scheduler", "pods", "bound", "within", "pods/min", "CPU", "of a core"),
                [
                    (
                        one.scheduler, f"{one.pods:,}", f"{one.bound:,}", f"{one.seconds:.0f} s",
                        f"{one.per_minute:,.0f}", f"{one.cpu_seconds:.1f} s",
                        f"{one.cpu_percent:.0f} %",
                    )
                    for one in found.slow
                ],
            )
        )  # fmt: skip
    if found.leader:
        tables.append(
            (
                "The leader of two replicas ends; until the other has bound a pod",
                ("scheduler", "rounds", "SIGKILL", "worst", "SIGTERM", "worst"),
                [
                    (
                        one.scheduler, str(one.rounds), f"{one.kill_seconds:.1f} s",
                        f"{one.kill_worst_seconds:.1f} s", f"{one.term_seconds:.1f} s",
                        f"{one.term_worst_seconds:.1f} s",
                    )
                    for one in found.leader
                ],
            )
        )  # fmt: skip
    if found.requeued:
        tables.append(
            (
                "Pods that fit nowhere are requeued by one event, and one comes that fits",
                ("scheduler", "requeued", "new pod bound after", "CPU", "tried", "CPU ms/try"),
                [
                    (
                        one.scheduler, f"{one.pods:,}", f"{one.seconds:.1f} s",
                        f"{one.cpu_seconds:.1f} s", f"{one.tried:,}", f"{one.cpu_ms_per_try:.2f}",
                    )
                    for one in found.requeued
                ],
            )
        )  # fmt: skip
    return tables
