"""What ``moor explain --node`` prints: one node in full."""

from rich.table import Table
from rich.text import Text

from mooring.cli.explain_view import (
    outcome_text,
    print_before,
    print_say,
    print_suggestions,
    title,
)
from mooring.cli.terminal_output import TerminalPrinter, no_mark, table, yes_mark
from mooring.explaining.decision_text import compare, difference_text, joined_names
from mooring.explaining.explainer import Explanation
from mooring.framework.decisions.decision import Scoring
from mooring.framework.decisions.record import PRE_FILTER_REJECTED, Record
from mooring.framework.verdict import SKIPPED, Verdicts
from mooring.wording import counted


def print_node(found: Explanation, node: str) -> None:
    """Print what every plugin says about one node, and what would have to change there."""
    out, record = TerminalPrinter(), found.record
    out.print(title(found))
    print_before(out, record)
    if record.filtering is not None:
        out.heading(f"What each plugin says of {node}")
        out.print(_verdicts(record, node))
    fits = node in record.feasible
    if fits and record.scoring is not None:
        out.heading("Points: weight × score")
        out.print(_scores(record, record.scoring, node))
        print_say(out, found)
    out.print()
    out.print(outcome_text(record))
    out.print(
        Text.assemble(yes_mark() if fits else no_mark(), " ", (_place(record, node, fits), "bold"))
    )
    if not fits:
        print_suggestions(out, found.suggestions, record)


def _verdicts(record: Record, node: str) -> Table:
    row = record.nodes.index(node)
    made = table("plugin", "", "")
    for name, answers in record.filter.items():
        if answers == SKIPPED:
            made.add_row(Text(name, style="dim"), "", Text("nothing to say", style="dim"))
        elif answers == PRE_FILTER_REJECTED:
            made.add_row(name, no_mark(), "rejected the pod as such")
        elif isinstance(answers, Verdicts) and answers.choice[row]:
            verdict = answers[row]
            also = " (preempting pods would not help)" if verdict.unresolvable else ""
            made.add_row(name, no_mark(), Text(f"{', '.join(verdict.reasons)}{also}"))
        else:
            made.add_row(name, yes_mark(), "")
    return made


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


def _place(record: Record, node: str, fits: bool) -> str:
    """Where the node stands among those that fit."""
    if not fits:
        return f"{node} is rejected by {joined_names(_rejecting(record, node), 'and')}."
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
