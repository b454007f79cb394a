"""What ``moor whatif`` prints for people: the answer first, then who goes where and why not."""

from collections.abc import Sequence
from typing import Final

from rich.text import Text

from mooring.cli.terminal_output import TerminalPrinter, answer_lines, no_mark, table, yes_mark
from mooring.simulator.disruption_budgets import BudgetOutcome
from mooring.simulator.whatif.report import CostChange, MovedPod, WhatIfReport
from mooring.wording import are, counted

#: So many lines a table has.
_LINES: Final = 20
_SHOWN_PODS: Final = 5


def print_report(report: WhatIfReport, *, wide: bool = False) -> None:
    """Print an answer; `wide` shows all pods."""
    out = TerminalPrinter(wide=wide)
    out.print(answer_lines(yes_mark() if report.fine else no_mark(), _sentences(report)))
    out.print(Text(" then ".join(report.operations), style="dim"))
    _print_pods(out, "Pods that move", report.moved, wide=wide)
    _print_pods(out, "New pods", report.created, wide=wide)
    _print_pods(out, "Pending pods that get a node", report.placed, wide=wide)
    _print_pending(out, report, wide=wide)
    if report.lost:
        out.heading("Pods that nothing creates again, because they have no controller")
        out.print(", ".join(one.pod for one in _shown(report.lost, wide)))
        _print_rest(out, len(report.lost), wide=wide)
    _print_pods(out, "Pods that are scaled down", report.deleted, wide=wide)
    _print_budgets(out, report)
    if report.cost is not None:
        out.print()
        out.print(_cost(report.cost))


def _sentences(report: WhatIfReport) -> list[str]:
    parts = []
    for number, what in (
        (len(report.moved), "moves|move"),
        (len(report.created), "is created and gets a node|are created and get a node"),
        (len(report.placed), "that is pending gets a node|that are pending get a node"),
        (len(report.deleted), "is scaled down|are scaled down"),
    ):
        if number:
            parts.append(f"{counted(number, 'pod')} {what.split('|')[number != 1]}")
    pending = report.left_pending
    if pending:
        new = len(report.newly_pending)
        note = "" if new == pending else f" ({pending - new} of them already {_was(pending - new)})"
        parts.append(f"{counted(pending, 'pod')} {_stay(pending)} pending{note}")
    if report.lost:
        parts.append(f"{counted(len(report.lost), 'pod')} {are(len(report.lost))} lost")
    if not parts:
        parts.append("Nothing changes for any pod")
    sentences = [f"{_joined(parts)}."]
    bad = report.objecting
    if bad:
        keeps = "budget does" if len(bad) == 1 else "budgets do"
        sentences.append(f"{len(bad)} disruption {keeps} not allow this: {_names(bad)}.")
    if report.nodes_after != report.nodes_before:
        before, after = report.nodes_before, report.nodes_after
        sentences.append(f"The cluster has {counted(after, 'node')} then, {before} now.")
    return sentences


def _names(budgets: Sequence[BudgetOutcome]) -> str:
    more = ", ..." if len(budgets) > _SHOWN_PODS else ""
    return ", ".join(one.budget for one in budgets[:_SHOWN_PODS]) + more


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def _stay(number: int) -> str:
    return "stays" if number == 1 else "stay"


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _shown(pods: Sequence[MovedPod], wide: bool) -> Sequence[MovedPod]:
    return pods if wide else pods[:_LINES]


def _print_rest(out: TerminalPrinter, number: int, *, wide: bool) -> None:
    if number > _LINES and not wide:
        out.print(Text(f"and {number - _LINES} more (-o wide shows all)", style="dim"))


def _print_pods(
    out: TerminalPrinter, heading: str, pods: Sequence[MovedPod], *, wide: bool
) -> None:
    if not pods:
        return
    out.heading(heading)
    shown = _shown(pods, wide)
    source = any(one.source for one in pods)
    target = any(one.target for one in pods)
    why = wide or len({one.why for one in pods}) > 1
    headers = [
        name
        for name, wanted in (("pod", True), ("from", source), ("to", target), ("why", why))
        if wanted
    ]
    made = table(*headers)
    for one in shown:
        cells = [(one.pod, True), (one.source, source), (one.target, target), (one.why, why)]
        made.add_row(*(text for text, wanted in cells if wanted))
    out.print(made)
    _print_rest(out, len(pods), wide=wide)


def _print_pending(out: TerminalPrinter, report: WhatIfReport, *, wide: bool) -> None:
    if not report.pending:
        return
    out.heading("Pods that stay pending")
    made = table("pods", "which", "why", numbers=[0], lines=True)
    for group in report.pending:
        shown = group.pods if wide else group.pods[:_SHOWN_PODS]
        more = f" and {len(group.pods) - len(shown)} more" if len(shown) < len(group.pods) else ""
        # Without a cause, the text is a sentence of its own.
        why = group.text if group.plugin else f"cannot be scheduled: {group.text}"
        made.add_row(str(len(group.pods)), f"{', '.join(shown)}{more}", f"it {why}")
    out.print(made)


def _print_budgets(out: TerminalPrinter, report: WhatIfReport) -> None:
    if not report.budgets:
        return
    out.heading("Disruption budgets")
    made = table("", "budget", "pods leave", "allowed", "", numbers=[2, 3], lines=True)
    for one in report.budgets:
        mark = no_mark() if one in report.objecting else yes_mark()
        leaving = str(one.evicted + one.ended)
        made.add_row(mark, one.budget, leaving, str(one.allowed), f"{one.verdict}: {one.text}")
    out.print(made)


def _cost(cost: CostChange) -> str:
    drained = ""
    if cost.drained:
        left = f"{cost.after - cost.drained:.2f}"
        drained = f", {left} once the drained nodes are removed"
    missing = f" ({counted(cost.unpriced, 'node')} without a price)" if cost.unpriced else ""
    return f"Nodes cost {cost.before:.2f} an hour now, {cost.after:.2f} then{drained}{missing}."
