"""What ``moor explain --node`` prints: one node in full."""

from rich.table import Table
from rich.text import Text

from mooring.cli.explain.device_view import print_devices
from mooring.cli.explain.view import facts, node_names, print_message, print_say, print_suggestions
from mooring.cli.terminal_output import (
    TerminalPrinter,
    answer_lines,
    no_mark,
    table,
    yes_mark,
)
from mooring.explaining.causes import clause_at
from mooring.explaining.decision_text import compare, difference_text, joined_names
from mooring.explaining.explainer import Explanation
from mooring.framework.decisions.decision import Scoring
from mooring.framework.decisions.record import PRE_FILTER_REJECTED, Record
from mooring.framework.verdict import SKIPPED, Verdicts
from mooring.wording import counted


def print_node(found: Explanation, node: str) -> None:
    """Print what every plugin says about one node, and what would have to change there."""
    out, record = TerminalPrinter(), found.record
    fits = node in record.feasible
    out.print(answer_lines(yes_mark() if fits else no_mark(), [_place(found, node, fits)]))
    out.print()
    out.print(Text(f"{found.pod.key} · {facts(found)}", style="dim"))
    if record.filtering is not None:
        out.heading(f"Results of each plugin for {node}")
        out.print(_verdicts(found, node))
    if fits and record.scoring is not None:
        out.heading("Points: weight × score")
        out.print(_scores(record, record.scoring, node))
        print_say(out, found)
        print_devices(out, record, node)
    if not fits:
        print_suggestions(out, found.suggestions, record, node_names(out, record))
    print_message(out, record)


def _verdicts(found: Explanation, node: str) -> Table:
    record = found.record
    row = record.nodes.index(node)
    details = _details(found, row)
    made = table("plugin", "", "")
    for name, answers in record.filter.items():
        if answers == SKIPPED:
            made.add_row(Text(name, style="dim"), "", Text("not applicable", style="dim"))
        elif answers == PRE_FILTER_REJECTED:
            made.add_row(name, no_mark(), "rejected the pod on every node")
        elif isinstance(answers, Verdicts) and answers.choice[row]:
            verdict = answers[row]
            also = " (preempting pods would not help)" if verdict.unresolvable else ""
            said = details.get(name) or ", ".join(verdict.reasons)
            made.add_row(name, no_mark(), Text(f"{said}{also}"))
        else:
            made.add_row(name, yes_mark(), "")
    return made


def _details(found: Explanation, row: int) -> dict[str, str]:
    """What the plugins that reject a node say in names and numbers."""
    for group in found.groups:
        if group.details and row in group.rows:
            plugins = (one.plugin for one in group.rejections)
            return dict(zip(plugins, group.details, strict=True))
    return {}


def _scores(record: Record, scoring: Scoring, node: str) -> Table:
    assert record.filtering is not None  # noqa: S101 - it has scores
    place = record.filtering.feasible.tolist().index(record.nodes.index(node))
    made = table("plugin", "raw", "score", "weight", "points", numbers=(1, 2, 3, 4))
    for one in scoring.scores:
        if one.raw is None or one.normalized is None:
            made.add_row(Text(one.name, style="dim"), "-", "-", str(one.weight), "0")
            continue
        score = int(one.normalized[place])
        points = one.weight * score
        made.add_row(one.name, str(one.raw[place]), str(score), str(one.weight), str(points))
    made.add_row(Text("total", style="bold"), "", "", "", Text(str(scoring.total[place]), "bold"))
    return made


def _why(found: Explanation, node: str) -> str:
    """What keeps the pod from the node, in detail if the plugins say it."""
    record = found.record
    details = clause_at(record, found.groups, node)
    if details:
        return f"it {details}"
    return f"it is rejected by {joined_names(_rejecting(record, node), 'and')}"


def _rejecting(record: Record, node: str) -> list[str]:
    """Every plugin that keeps the pod from the node."""
    row = record.nodes.index(node)
    found = [
        name
        for name, answers in record.filter.items()
        if answers == PRE_FILTER_REJECTED or (isinstance(answers, Verdicts) and answers.choice[row])
    ]
    rejection = record.rejection(row)
    who = rejection.plugin if rejection is not None else ""
    return found or [who or "the scheduler"]


def _place(found: Explanation, node: str, fits: bool) -> str:
    """Where the node stands among those that fit."""
    record = found.record
    if not fits:
        return f"{record.pod} does not fit on {node}: {_why(found, node)}."
    scoring, filtering = record.scoring, record.filtering
    if scoring is None or filtering is None or node in record.selected:
        return f"{node} fits and may be chosen."
    rows = filtering.feasible.tolist()
    row = record.nodes.index(node)
    better = int((scoring.total > scoring.total[rows.index(row)]).sum())
    margin = compare(record, row, record.best[0])
    best = record.nodes[record.best[0]]
    return (
        f"{node} fits; {counted(better, 'node')} {'has' if better == 1 else 'have'} more points. "
        f"It has {-margin.points} less than {best}{difference_text(margin)}."
    )
