"""What ``moor explain`` prints for people: who rejects which nodes, the scores, one sentence."""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
from rich.table import Table
from rich.text import Text

from mooring.cli.terminal_output import TerminalPrinter, no_mark, table, yes_mark
from mooring.explaining.alike_nodes import AlikeNodes, alike_nodes
from mooring.explaining.decision_text import joined_names, outcome_sentence, preemption_text
from mooring.explaining.explainer import Explanation
from mooring.explaining.suggestion import Suggestion
from mooring.framework.decisions.decision import PluginScore, Scoring
from mooring.framework.decisions.record import PRE_FILTER_REJECTED, Record
from mooring.framework.filtering import Rejection
from mooring.framework.verdict import SKIPPED, Verdicts
from mooring.model.pod import Pod
from mooring.model.quantity_texts import show
from mooring.model.resources import CPU, MEMORY, spec_requests
from mooring.wording import counted

#: So many lines a table has.
_LINES: Final = 12
#: A line names so many nodes; of more it names a few and says how many there are.
_NAMED: Final = 4
_FEW_NAMES: Final = 3
_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class ExplanationView:
    """Prints an explanation.

    Args:
        found: the explanation.
        wide: show every node and every plugin.
    """

    def __init__(self, found: Explanation, *, wide: bool = False) -> None:
        self._found = found
        self._record = found.record
        self._wide = wide
        self._out = TerminalPrinter(wide=wide)

    def print_all(self) -> None:
        """Print the whole decision."""
        record, out = self._record, self._out
        out.print(title(self._found))
        self._print_verdicts()
        if record.scoring is not None:
            self._print_scores(record.scoring)
        out.print()
        out.print(outcome_text(record))
        room = preemption_text(record)
        if room:
            out.print(room)
        print_suggestions(out, self._found.suggestions, record)

    def _print_verdicts(self) -> None:
        record = self._record
        print_before(self._out, record)
        if not record.nodes or record.filtering is None:
            return
        fit, every = len(record.feasible), len(record.nodes)
        self._out.heading(f"{fit} of {counted(every, 'node')} {'fits' if fit == 1 else 'fit'}")
        if self._wide:
            self._out.print(self._matrix())
        else:
            found = alike_nodes(record)
            self._out.print(self._groups(found))
            if len(found) > _LINES:
                rest = sum(len(one.rows) for one in found[_LINES:])
                text = f"and {counted(rest, 'more node')} (-o wide shows all)"
                self._out.print(Text(text, style="dim"))
        print_silent(self._out, record)

    def _groups(self, found: Sequence[AlikeNodes]) -> Table:
        made = table("", "nodes", "because")
        width = max(len(str(len(one.rows))) for one in found)
        for group in found[:_LINES]:
            whole = self._record.filtering is not None and self._record.filtering.whole is not None
            mark = no_mark() if group.rejections or whole else yes_mark()
            made.add_row(
                Text.assemble(mark, f" {len(group.rows):{width}}"),
                self._named(group),
                _reasons(group),
            )
        return made

    def _named(self, group: AlikeNodes) -> str:
        every = [self._record.nodes[row] for row in group.rows.tolist()]
        if len(every) <= _NAMED:
            return ", ".join(every)
        return f"{', '.join(every[:_FEW_NAMES])} and {len(every) - _FEW_NAMES} more"

    def _matrix(self) -> Table:
        """Every node with the verdict of every plugin that was asked."""
        record = self._record
        asked = [
            (name, answers)
            for name, answers in record.filter.items()
            if not isinstance(answers, str)
        ]
        made = table("node", "fits", *(name for name, _ in asked), "because")
        of = {row: group for group in alike_nodes(record) for row in group.rows.tolist()}
        fits = set(record.filtering.feasible.tolist()) if record.filtering is not None else set()
        for row, node in enumerate(record.nodes):
            marks = [
                yes_mark() if answers is None or not answers.choice[row] else no_mark()
                for _, answers in asked
            ]
            because = _reasons(of[row], "; ")
            made.add_row(node, yes_mark() if row in fits else no_mark(), *marks, because)
        return made

    def _print_scores(self, scoring: Scoring) -> None:
        record = self._record
        assert record.filtering is not None  # noqa: S101 - it has scores
        rows = record.filtering.feasible
        self._out.heading("Points: weight × score")
        shown = [one for one in scoring.scores if self._wide or _differs(one)]
        made = table(
            "node",
            "total",
            *(f"{_split(one.name)}\n×{one.weight}" for one in shown),
            numbers=range(1, len(shown) + 2),
        )
        order = np.argsort(-scoring.total, kind="stable")
        best = set(record.best)
        for place in (order if self._wide else order[:_LINES]).tolist():
            row = int(rows[place])
            style = "bold green" if row in best else ""
            cells = [Text(_points(one, place)) for one in shown]
            total = Text(str(scoring.total[place]), style="bold")
            made.add_row(Text(record.nodes[row], style=style), total, *cells)
        self._out.print(made)
        if len(rows) > _LINES and not self._wide:
            rest = scoring.total[order[_LINES:]]
            least, most = int(rest.min()), int(rest.max())
            points = f"{least} to {most} points" if least < most else counted(most, "point")
            text = f"and {counted(len(rest), 'more node')} with {points} (-o wide shows all)"
            self._out.print(Text(text, style="dim"))
        if not self._wide:
            self._out.print(Text(_the_same(scoring, shown), style="dim"))
        print_say(self._out, self._found)


def print_say(out: TerminalPrinter, found: Explanation) -> None:
    """Print how much of a node's total score the policy can decide."""
    if found.say is not None:
        out.print(Text(f"{found.say}", style="dim"))


def title(found: Explanation) -> Text:
    """The pod, in one line."""
    pod = found.pod
    state = f"on {found.bound_to}; evaluated as if unscheduled" if found.bound_to else "pending"
    about = [state, pod.scheduler_name, f"priority {pod.priority}", _asks(pod)]
    return Text.assemble((pod.key, "bold"), ("   " + " · ".join(filter(None, about)), "dim"))


def outcome_text(record: Record) -> Text:
    """The one sentence, with a mark in front."""
    mark = yes_mark() if record.selected else no_mark()
    return Text.assemble(mark, " ", (outcome_sentence(record), "bold"))


def print_before(out: TerminalPrinter, record: Record) -> None:
    """Print who rejected the pod before any node was asked."""
    rejected = [*record.pre_enqueue.items()]
    rejected += [
        (name, one.verdict) for name, one in record.pre_filter.items() if one.verdict is not None
    ]
    lines = [(name, verdict) for name, verdict in rejected if not verdict.accepted]
    if lines:
        out.heading("Rejected before any node was asked")
        for name, verdict in lines:
            out.print(Text.assemble(no_mark(), " ", reason(Rejection(name, verdict))))


def print_silent(out: TerminalPrinter, record: Record) -> None:
    """Print which plugins accept every node, and which had nothing to say."""
    accept, skip, before = [], [], []
    for name, answers in record.filter.items():
        if answers == SKIPPED:
            skip.append(name)
        elif answers == PRE_FILTER_REJECTED:
            before.append(name)
        elif answers is None or (isinstance(answers, Verdicts) and not answers.choice.any()):
            accept.append(name)
    for what, plugins in (
        ("accept every node", accept),
        ("have nothing to say about this pod", skip),
        ("rejected the pod as such", before),
    ):
        if plugins:
            out.print(Text(f"{what}: {', '.join(plugins)}", style="dim"))


def print_suggestions(out: TerminalPrinter, found: Sequence[Suggestion], record: Record) -> None:
    """Print what would help."""
    if not found:
        if not record.selected and record.nodes:
            none = "No change in at most three steps was found that would make it fit."
            out.print(Text(none, style="dim"))
        return
    out.heading("What would help, the smallest change first (each one was tried)")
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    for number, one in enumerate(found, 1):
        node = one.combination.node
        alone = one.nodes == (node,) and node not in record.nodes
        first = [node, *(name for name in one.nodes if name != node)]
        where = "there" if alone else f"on {joined_names(first, 'and')}"
        text = Text.assemble(one.combination.text, (f"  → fits then {where}", "dim"))
        made.add_row(f"{number}.", text)
    out.print(made)


def reason(rejection: Rejection) -> str:
    """A plugin and its reasons."""
    text = f"{rejection.plugin or 'the scheduler'}: {', '.join(rejection.verdict.reasons)}"
    note = rejection.verdict.note
    return f"{text} ({note})" if note else text


def _reasons(group: AlikeNodes, between: str = "\n") -> Text:
    lines = [reason(one) for one in group.rejections]
    if group.nominated:
        lines.append("(counting pods that are nominated to this node)")
    return Text(between.join(lines))


def _asks(pod: Pod) -> str:
    asked = spec_requests(pod)
    order = [CPU, MEMORY, *sorted(asked.keys() - {CPU, MEMORY})]
    amounts = [f"{show(name, asked[name])} {name}" for name in order if asked[name]]
    return f"asks for {', '.join(amounts)}" if amounts else "asks for nothing"


def _differs(score: PluginScore) -> bool:
    found = score.normalized
    return found is not None and (len(found) == 1 or bool((found != found[0]).any()))


def _the_same(scoring: Scoring, shown: Sequence[PluginScore]) -> str:
    """What the plugins give that have no column."""
    others = [one for one in scoring.scores if one not in shown]
    given = [f"{one.name} {points}" for one in others if (points := _points(one, 0)) not in "0-"]
    nothing = [one.name for one in others if _points(one, 0) in "0-"]
    texts = [f"all of these nodes get {', '.join(given)}"] if given else []
    if nothing:
        texts.append(f"{', '.join(nothing)} {'gives' if len(nothing) == 1 else 'give'} nothing")
    return "; ".join(texts)


def _points(score: PluginScore, place: int) -> str:
    return "-" if score.normalized is None else str(score.weight * int(score.normalized[place]))


def _split(name: str) -> str:
    """A plugin's name in lines, at its capital letters, for a narrow column."""
    return _CAPITAL.sub("\n", name)
