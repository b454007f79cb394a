"""What ``moor explain --pending`` prints: all pending pods, by why they are pending."""

from collections.abc import Sequence
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from mooring.cli.explain.node_names import NodeNames
from mooring.cli.terminal_output import (
    TerminalPrinter,
    answer_lines,
    no_mark,
    table,
    yes_mark,
)
from mooring.explaining.pending_pods import HelpfulChange, PendingGroup, PendingReport
from mooring.wording import are, counted, natural_key

#: So many groups and changes are shown.
_LINES: Final = 12
_CHANGES: Final = 5


def print_pending(report: PendingReport, where: str, *, wide: bool = False) -> None:
    """Print the report.

    Args:
        report: all pending pods.
        where: the namespace that was asked about; empty for all.
        wide: name every pod.
    """
    out = TerminalPrinter(wide=wide)
    names = NodeNames((), None if wide or out.width is None else out.width - 8)
    mark = no_mark() if report.pending else yes_mark()
    out.print(answer_lines(mark, _answer(report, where)))
    if report.groups:
        out.heading("Why it is pending" if report.pending == 1 else "Why they are pending")
        out.print(_groups(report.groups, names, wide=wide))
        if len(report.groups) > _LINES and not wide:
            rest = sum(len(one.pods) for one in report.groups[_LINES:])
            out.print(Text(f"and {counted(rest, 'more pod')} (-o wide shows all)", style="dim"))
    if report.fitting:
        out.heading("Fit now, and are waiting for their scheduler")
        for scheduler in dict.fromkeys(one.scheduler for one in report.fitting):
            pods = [one.key for one in report.fitting if one.scheduler == scheduler]
            out.print(f"{scheduler}: {_listed(pods, names, wide=wide)}")
    if report.changes:
        out.heading("What would help, most pods first (each was verified)")
        out.print(_changes(report.changes, wide=wide))
    if report.left_out:
        text = f"{counted(report.left_out, 'more pod')} of lower priority were not considered"
        out.print(Text(text, style="dim"))


def _answer(report: PendingReport, where: str) -> list[str]:
    number = report.pending + len(report.fitting)
    there = f" in {where}" if where else ""
    if not number:
        return [f"No pod is pending{there}."]
    pods = f"{counted(number, 'pod')} {are(number)} pending{there}"
    if not report.pending:
        return [f"{pods}, and fits now." if number == 1 else f"{pods}, and all of them fit now."]
    if report.fitting:
        fit = f"{len(report.fitting)} {_fit(len(report.fitting))} now"
        pods += f": {fit}, and {report.pending} {'does' if report.pending == 1 else 'do'} not"
    if len(report.groups) == 1:
        texts = [f"{pods}: {_reason(report.groups[0])}."]
    else:
        texts = [f"{pods}, for {len(report.groups)} different reasons."]
    best = next((one for one in report.changes if not one.caution), None)
    if best is not None:
        helped = len(best.pods)
        every = "it" if helped == 1 else f"all {helped}"
        which = every if helped == report.pending else f"{helped} of {report.pending}"
        texts.append(f"What helps most: {best.text}; {which} then {_fit(helped)}.")
    return texts


def _fit(number: int) -> str:
    return "fits" if number == 1 else "fit"


def _reason(group: PendingGroup) -> str:
    reasons = ", ".join(group.reasons)
    return f"{group.plugin}: {reasons}" if group.plugin else reasons


def _groups(groups: Sequence[PendingGroup], names: NodeNames, *, wide: bool) -> Table:
    made = table("pods", "reason", numbers=[0], lines=True)
    for group in groups if wide else groups[:_LINES]:
        first = min(group.pods, key=natural_key) if len(group.pods) == 1 else group.pods[0]
        lines = Text(_reason(group), style="bold")
        lines.append(f"\n{_listed(group.pods, names, wide=wide)}", style="not bold")
        if _reason(group) not in group.text:
            what = f"\n{first} {group.text}" if group.pods[1:] else f"\nit {group.text}"
            lines.append(what, style="not bold dim")
        made.add_row(str(len(group.pods)), lines)
    return made


def _listed(pods: Sequence[str], names: NodeNames, *, wide: bool) -> str:
    return ", ".join(sorted(pods, key=natural_key)) if wide else names.listed(pods)


def _changes(changes: Sequence[HelpfulChange], *, wide: bool) -> Table:
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    for number, one in enumerate(changes if wide else changes[:_CHANGES], 1):
        caution = f" ({one.caution})" if one.caution else ""
        fit = f"  → {counted(len(one.pods), 'pod')} {_fit(len(one.pods))} then"
        made.add_row(f"{number}.", Text.assemble(one.text, (caution, "yellow"), (fit, "dim")))
    return made


def pending_as_dict(report: PendingReport) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "pending": report.pending,
        "fitting": [{"pod": one.key, "schedulerName": one.scheduler} for one in report.fitting],
        "groups": [
            {
                "plugin": one.plugin,
                "reasons": list(one.reasons),
                "text": one.text,
                "pods": list(one.pods),
            }
            for one in report.groups
        ],
        "suggestions": [
            {"text": one.text, "caution": one.caution, "pods": list(one.pods)}
            for one in report.changes
        ],
    }
