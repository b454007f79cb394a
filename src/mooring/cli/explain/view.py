"""What ``moor explain`` prints for people: the answer, who rejects which nodes, the points.

The answer comes first, then the table; what only some people need is shown with ``-o wide``.
"""

from collections.abc import Sequence
from typing import Final

from rich.table import Table
from rich.text import Text

from mooring.cli.explain.device_view import print_devices
from mooring.cli.explain.node_names import NodeNames
from mooring.cli.explain.pod_history import PodHistory
from mooring.cli.explain.score_table import ScoreTable
from mooring.cli.terminal_output import (
    TerminalPrinter,
    answer_lines,
    no_mark,
    table,
    yes_mark,
)
from mooring.explaining.alike_nodes import AlikeNodes
from mooring.explaining.answer import answer_sentences
from mooring.explaining.causes import clause_at
from mooring.explaining.explainer import Explanation
from mooring.explaining.suggestion import Suggestion
from mooring.framework.decisions.record import PRE_FILTER_REJECTED, Record
from mooring.framework.filtering import Rejection
from mooring.framework.verdict import SKIPPED, Verdicts
from mooring.model.pod import Pod
from mooring.model.quantity_texts import show
from mooring.model.resources import CPU, MEMORY, spec_requests
from mooring.wording import counted, natural_key

#: So many lines a table has.
_LINES: Final = 12
#: A list of names takes at most this part of a line.
_NAMES: Final = 0.4
#: A name in a reason, and one in the answer, takes so many characters at most.
_NAME: Final = 24
_ANSWER_NAME: Final = 36


class ExplanationView:
    """Prints an explanation.

    Args:
        found: the explanation.
        wide: show every node and every plugin.
        history: what a live cluster knows of the pod.
    """

    def __init__(
        self, found: Explanation, *, wide: bool = False, history: PodHistory | None = None
    ) -> None:
        self._found = found
        self._history = history
        self._record = found.record
        self._wide = wide
        self._out = TerminalPrinter(wide=wide)
        self._names = node_names(self._out, found.record)

    def print_all(self) -> None:
        """Print the whole decision."""
        record, out = self._record, self._out
        print_answer(out, self._found, self._history)
        if self._history is not None and not self._found.bound_to:
            for line in self._history.lines(wide=self._wide):
                out.print(Text(line, style="dim"))
        self._print_verdicts()
        if record.scoring is not None:
            made = ScoreTable(record, record.scoring, out.width, wide=self._wide)
            out.heading("Points: weight × score")
            out.print(made.rows())
            for note in made.notes():
                out.print(Text(note, style="dim"))
            print_say(out, self._found)
        print_devices(out, record)
        print_suggestions(out, self._found.suggestions, record, self._names)
        if self._wide:
            print_message(out, record)

    def _print_verdicts(self) -> None:
        record = self._record
        if not record.nodes or record.filtering is None:
            return
        fit, every = len(record.feasible), len(record.nodes)
        self._out.heading(f"{fit} of {counted(every, 'node')} {'fits' if fit == 1 else 'fit'}")
        if self._wide:
            self._out.print(self._matrix())
            print_silent(self._out, record)
            return
        found = self._found.groups
        self._out.print(self._groups(found))
        if len(found) > _LINES:
            rest = sum(len(one.rows) for one in found[_LINES:])
            text = f"and {counted(rest, 'more node')} (-o wide shows all)"
            self._out.print(Text(text, style="dim"))

    def _groups(self, found: Sequence[AlikeNodes]) -> Table:
        rejected = any(group.rejections for group in found)
        made = table("", "nodes", *(["why not"] if rejected else []))
        width = max(len(str(len(one.rows))) for one in found)
        whole = self._record.filtering is not None and self._record.filtering.whole is not None
        for group in found[:_LINES]:
            mark = no_mark() if group.rejections or whole else yes_mark()
            made.add_row(
                Text.assemble(mark, f" {len(group.rows):{width}}"),
                self._names.listed(self._record.nodes[row] for row in group.rows.tolist()),
                *([Text(self._why(group))] if rejected else []),
            )
        return made

    def _why(self, group: AlikeNodes) -> str:
        return self._names.in_text("\n".join(reasons(group)), _NAME)

    def _matrix(self) -> Table:
        """Every node with the verdict of every plugin that was asked."""
        record = self._record
        asked = [
            (name, answers)
            for name, answers in record.filter.items()
            if not isinstance(answers, str)
        ]
        made = table("node", "fits", *(name for name, _ in asked), "why not")
        of = {row: group for group in self._found.groups for row in group.rows.tolist()}
        fits = set(record.filtering.feasible.tolist()) if record.filtering is not None else set()
        for row in sorted(range(len(record.nodes)), key=lambda one: natural_key(record.nodes[one])):
            marks = [
                yes_mark() if answers is None or not answers.choice[row] else no_mark()
                for _, answers in asked
            ]
            because = Text("; ".join(reasons(of[row])))
            fit = yes_mark() if row in fits else no_mark()
            made.add_row(record.nodes[row], fit, *marks, because)
        return made


def node_names(out: TerminalPrinter, record: Record) -> NodeNames:
    """The names of a decision's nodes, for the width of the screen."""
    return NodeNames(record.nodes, None if out.width is None else int(out.width * _NAMES))


def print_answer(
    out: TerminalPrinter, found: Explanation, history: PodHistory | None = None
) -> None:
    """Print why the pod is pending or where it goes, then what it is."""
    on = found.bound_to
    sentences = answer_sentences(
        found.record,
        found.causes,
        found.standing,
        clause_at(found.record, found.groups, on),
        on if on not in found.record.nodes else "",
    )
    if history is not None and history.rejected and found.record.selected:
        sentences.append(_contradiction(found, history))
    silent = history is not None and history.silent
    if silent:
        scheduler = found.pod.scheduler_name
        quiet = f"{found.pod.key} is pending, and no scheduler has reported anything about it"
        sentences.insert(0, f"{quiet}: is {scheduler} running?")
    harmless = [one.combination for one in found.suggestions if not one.combination.caution]
    if harmless:
        sentences.append(f"Smallest change that helps: {harmless[0].text}.")
    there = not on or on not in found.record.nodes or on in found.record.feasible
    fits = found.record.selected and there and not silent
    mark = yes_mark() if fits else no_mark()
    names = node_names(out, found.record)
    out.print(answer_lines(mark, [names.in_text(one, _ANSWER_NAME) for one in sentences]))
    out.print()
    out.print(Text(facts(found, history), style="dim"))


def _contradiction(found: Explanation, history: PodHistory) -> str:
    """What to think of a scheduler that found no node for a pod which fits."""
    return (
        f"{found.pod.scheduler_name} found no node for it {history.event_age} ago (see its event): "
        "the cluster has changed since, or it decides with a policy or configuration that is not "
        "given here (--policy, --config)."
    )


def facts(found: Explanation, history: PodHistory | None = None) -> str:
    """The pod, in one line."""
    pod = found.pod
    age = history.age if history is not None else ""
    state = f"on {found.bound_to}, evaluated as if unscheduled" if found.bound_to else "pending"
    if age:
        state = f"{state} for {age}" if not found.bound_to else f"{state}, {age} old"
    scheduler = pod.scheduler_name
    if found.assumed:
        scheduler = f"{scheduler} with the profile of {found.record.profile}"
    about = [state, scheduler, f"priority {pod.priority}", _requests(pod), _claims(pod)]
    return " · ".join(filter(None, about))


def print_say(out: TerminalPrinter, found: Explanation) -> None:
    """Print how much of a node's total score the policy can decide."""
    if found.say is not None:
        out.print(Text(f"{found.say}", style="dim"))


def print_message(out: TerminalPrinter, record: Record) -> None:
    """Print kube-scheduler's own words, as the pod's event has them."""
    if record.message:
        out.heading("kube-scheduler's message")
        out.print(record.message)


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
        ("not applicable to this pod", skip),
        ("rejected the pod on every node", before),
    ):
        if plugins:
            out.print(Text(f"{what}: {', '.join(plugins)}", style="dim"))


def print_suggestions(
    out: TerminalPrinter, found: Sequence[Suggestion], record: Record, names: NodeNames
) -> None:
    """Print what would help."""
    if not found:
        if not record.selected and record.nodes:
            none = "Found no change of up to three steps that would make it fit."
            out.print()
            out.print(Text(none, style="dim"))
        return
    out.heading("What would help, smallest change first (each was verified)")
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    for number, one in enumerate(found, 1):
        node = one.combination.node
        there = one.nodes == (node,) and node not in record.nodes
        where = "there" if there else f"on {names.listed(one.nodes)}"
        caution = f" ({one.combination.caution})" if one.combination.caution else ""
        text = Text.assemble(
            one.combination.text, (caution, "yellow"), (f"  → fits then {where}", "dim")
        )
        made.add_row(f"{number}.", text)
    out.print(made)


def reasons(group: AlikeNodes) -> list[str]:
    """What each plugin says of a group of nodes that it rejects."""
    details = group.details or ("",) * len(group.rejections)
    lines = [
        f"{one.plugin}: {detail}" if detail else reason(one)
        for one, detail in zip(group.rejections, details, strict=True)
    ]
    if group.nominated:
        lines.append("(counting pods that are nominated to this node)")
    return lines


def reason(rejection: Rejection) -> str:
    """A plugin and its reasons."""
    # An extender need not say why, and a reason may have any number of lines.
    said = " ".join(", ".join(rejection.verdict.reasons).split()) or "no reason given"
    text = f"{rejection.plugin or 'the scheduler'}: {said}"
    note = rejection.verdict.note
    return f"{text} ({note})" if note else text


def _requests(pod: Pod) -> str:
    asked = spec_requests(pod)
    order = [CPU, MEMORY, *sorted(asked.keys() - {CPU, MEMORY})]
    amounts = [f"{show(name, asked[name])} {name}" for name in order if asked[name]]
    return f"requests {', '.join(amounts)}" if amounts else "requests nothing"


def _claims(pod: Pod) -> str:
    """The claims to devices, as the pod names them."""
    names = [one.resource_claim_name or one.name for one in pod.spec.resource_claims or ()]
    return f"{'claims' if names[1:] else 'claim'} {', '.join(names)}" if names else ""
