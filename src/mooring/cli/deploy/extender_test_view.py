"""What ``moor extender-test`` prints for people: what is right, how fast it is, what is wrong."""

from collections.abc import Sequence
from typing import Final

from rich.table import Table
from rich.text import Text

from mooring.cli.terminal_output import TerminalPrinter, no_mark, table, yes_mark
from mooring.deploy.extender_test.checks import CHECKS, Severity
from mooring.deploy.extender_test.findings import (
    MODE_WORDS,
    VERBS,
    ExtenderReport,
    Finding,
    LatencyRow,
)
from mooring.wording import counted

_STYLES: Final = {Severity.BREAKS: "red", Severity.COSTS: "yellow", Severity.HINT: "dim"}
_LABELS: Final = (
    ("sent", "sent"),
    ("came", "came"),
    ("kube_scheduler", "kube-scheduler"),
    ("advice", "to do"),
)


def print_report(report: ExtenderReport, *, gap: bool = False) -> None:
    """Print one extender.

    Args:
        report: all about it.
        gap: whether something stands above.
    """
    out = TerminalPrinter()
    if gap:
        out.print()
    asked = _asked(report.findings)
    if asked:
        out.print(Text.assemble((report.url, "bold"), f" was asked {asked}"))
        out.print()
    out.print(_checks(report.findings))
    if report.latency:
        out.heading("Milliseconds, by the number of nodes:")
        out.print(_latency(report.latency))
    for alike in _grouped(report.failures):
        out.print()
        out.print(_failure(alike))
    out.print()
    for note in report.notes:
        out.print(Text(note))
    out.print(_verdict(report))


def _checks(findings: Sequence[Finding]) -> Table:
    made = table("", "check", "the extender")
    by_check: dict[str, list[Finding]] = {}
    for one in findings:
        by_check.setdefault(one.check, []).append(one)
    for check, found in by_check.items():
        failed = [one for one in found if one.outcome == "failed"]
        passed = [one for one in found if one.outcome == "passed"]
        mark = _mark(failed) if failed else yes_mark() if passed else Text("-", style="dim")
        about = Text(CHECKS[check].expects, style="" if failed or passed else "dim")
        made.add_row(mark, check, about)
    return made


def _mark(failed: Sequence[Finding]) -> Text:
    return Text("!", style="yellow") if _only_hints(failed) else no_mark()


def _only_hints(failed: Sequence[Finding]) -> bool:
    return all(one.severity == Severity.HINT for one in failed)


def _asked(found: Sequence[Finding]) -> str:
    """Which verbs were asked, and what was sent."""
    verbs = [verb for verb in VERBS if any(one.verb == verb for one in found)]
    modes = [mode for mode in ("whole", "names") if any(one.mode == mode for one in found)]
    return "; ".join(
        part for part in (", ".join(verbs), " and ".join(MODE_WORDS[one] for one in modes)) if part
    )


def _latency(rows: Sequence[LatencyRow]) -> Table:
    made = table(
        "verb", "sent", "nodes", "kB", "p50", "p90", "p99", "max", numbers=(2, 3, 4, 5, 6, 7)
    )
    for row in rows:
        times = (f"{one:.1f}" for one in (row.p50, row.p90, row.p99, row.max))
        size = f"{row.request_bytes / 1000:,.0f}"
        made.add_row(row.verb, MODE_WORDS[row.mode], f"{row.nodes:,}", size, *times)
    return made


def _grouped(failures: Sequence[Finding]) -> list[list[Finding]]:
    """Failures that differ in nothing but the verb and what was sent, together."""
    groups: dict[tuple[str, str, str, str], list[Finding]] = {}
    for one in failures:
        key = (one.check, one.severity, one.came, one.kube_scheduler)
        groups.setdefault(key, []).append(one)
    return list(groups.values())


def _failure(alike: Sequence[Finding]) -> Table:
    one = alike[0]
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(no_wrap=True)
    made.add_column(overflow="fold")
    severity = Severity(one.severity)
    where = _asked(alike)
    made.add_row(
        Text(severity.value, style=_STYLES[severity]),
        Text.assemble((one.check, "bold"), f" ({where})" if where else ""),
    )
    made.add_row(Text("  expected", style="dim"), f"the extender {CHECKS[one.check].expects}")
    for field, label in _LABELS:
        text = getattr(one, field)
        if text:
            made.add_row(Text(f"  {label}", style="dim"), Text(text))
    return made


def _severities(severity: Severity, count: int) -> str:
    """How many failures are of a severity: the others than hints are verbs."""
    return counted(count, "hint") if severity is Severity.HINT else f"{count} {severity.value}"


def _verdict(report: ExtenderReport) -> Text:
    failed = report.failures
    by = {one: sum(found.severity == one for found in failed) for one in Severity}
    passed = sum(one.outcome == "passed" for one in report.findings)
    said = f"{counted(passed, 'check')} passed"
    if failed:
        kinds = ", ".join(_severities(one, count) for one, count in by.items() if count)
        said += f", {len(failed)} failed ({kinds})"
    mark = yes_mark() if report.conforms and report.reachable else no_mark()
    return Text.assemble(mark, " ", (report.url, "bold"), f": {said}")
