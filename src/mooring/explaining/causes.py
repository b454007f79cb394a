"""Why a pod is pending, the most important cause first.

A cause is a plugin that alone keeps the pod from nodes: without its objection the pod would fit
there. Read by the answer in one sentence and by the summary of all pending pods. Made from the
record and from what plugins say in detail; nothing is decided here.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mooring.explaining.alike_nodes import AlikeNodes
from mooring.explaining.rejection_details import RejectionDetails
from mooring.framework.decisions.record import Record
from mooring.framework.filtering import Rejection
from mooring.wording import counted


class PendingCause(NamedTuple):
    """Why a pod is pending.

    Attributes:
        plugin: who says so; empty if the scheduler itself does.
        reasons: what is said, in the words of events.
        text: a clause about the pod with names and numbers, such as ``needs 6 cpu, ...``.
        nodes: how many nodes it rules out; all of them if the pod is rejected as such.
    """

    plugin: str
    reasons: tuple[str, ...]
    text: str
    nodes: int


def causes(
    record: Record, groups: Sequence[AlikeNodes], details: RejectionDetails, nearest: str = ""
) -> list[PendingCause]:
    """Why the pod is pending; empty if it is not, or if no plugin said why.

    Args:
        record: the decision.
        groups: the nodes, by what plugins say about them.
        details: asks plugins for more.
        nearest: the node on which the smallest change makes the pod fit; empty if none is known.
    """
    if record.selected or record.error:
        return []
    every = len(record.nodes)
    before = [(name, one) for name, one in record.pre_enqueue.items() if not one.accepted]
    if not before:
        rejected = ((name, one.verdict) for name, one in record.pre_filter.items())
        before = [(name, one) for name, one in rejected if one is not None and not one.accepted]
    if before:
        return [
            PendingCause(
                name,
                verdict.reasons,
                details.of_pod(name, verdict) or rejected_by(Rejection(name, verdict)),
                every,
            )
            for name, verdict in before
        ]
    if record.filtering is not None and record.filtering.whole is not None:
        whole = record.filtering.whole
        return [PendingCause(whole.plugin, whole.verdict.reasons, rejected_by(whole), every)]
    near = record.nodes.index(nearest) if nearest in record.nodes else -1
    return list(_alone(groups, details, near)) or list(_together(groups[:1]))


def _alone(
    groups: Sequence[AlikeNodes], details: RejectionDetails, near: int
) -> Iterator[PendingCause]:
    """Every plugin that alone rejects nodes.

    First come those against which preemption may help, then the one that rejects the nearest node.
    """
    by_plugin: dict[str, list[AlikeNodes]] = {}
    for group in groups:
        if len(group.rejections) == 1:
            by_plugin.setdefault(group.rejections[0].plugin, []).append(group)
    found = []
    for plugin, own in by_plugin.items():
        rows = np.sort(np.concatenate([one.rows for one in own]))
        first = own[0].rejections[0]
        texts = [] if own[0].nominated else details.of_usable(first, rows)
        text = _joined(texts) or rejected_by(first)
        hopeless = all(one.rejections[0].verdict.unresolvable for one in own)
        cause = PendingCause(plugin, _reasons(own), text, len(rows))
        found.append((hopeless, near not in rows, -len(rows), cause))
    found.sort(key=lambda one: one[:3])
    return (one[-1] for one in found)


def _reasons(groups: Sequence[AlikeNodes]) -> tuple[str, ...]:
    """What is said of all nodes of some groups; if there is nothing, what is said of any."""
    each = [one.rejections[0].verdict.reasons for one in groups]
    every = dict.fromkeys(reason for reasons in each for reason in reasons)
    common = tuple(reason for reason in every if all(reason in reasons for reasons in each))
    return common or tuple(every)


def _together(groups: Sequence[AlikeNodes]) -> Iterator[PendingCause]:
    """All plugins that reject the nodes which fewest reject."""
    for group in groups:
        reasons = tuple(reason for one in group.rejections for reason in one.verdict.reasons)
        plugins = " and ".join(one.plugin for one in group.rejections)
        yield PendingCause(plugins, reasons, _clause(group), len(group.rows))


def clause_at(record: Record, groups: Sequence[AlikeNodes], node: str) -> str:
    """What keeps the pod from a node, as a clause about the pod; empty if nothing does."""
    row = record.nodes.index(node) if node in record.nodes else -1
    for group in groups:
        if row in group.rows and group.rejections:
            return _clause(group)
    return ""


def _clause(group: AlikeNodes) -> str:
    details = group.details or ("",) * len(group.rejections)
    told = zip(group.rejections, details, strict=True)
    return ", and it ".join(detail or rejected_by(one) for one, detail in told)


def rejected_by(rejection: Rejection) -> str:
    """A rejection without details, as a clause about the pod."""
    verdict, who = rejection.verdict, rejection.plugin or "the scheduler"
    note = f" ({verdict.note})" if verdict.note else ""
    why = ", ".join(verdict.reasons)
    return f"is rejected by {who}{': ' if why else ''}{why}{note}"


def _joined(texts: Sequence[str]) -> str:
    """The different texts, the most frequent first, with how many nodes each is about."""
    numbers: dict[str, int] = {}
    for text in texts:
        numbers[text] = numbers.get(text, 0) + 1
    if "" in numbers or not numbers:
        return ""
    if len(numbers) == 1:
        return texts[0]
    order = sorted(numbers, key=lambda one: -numbers[one])
    told = [f"{text} ({counted(numbers[text], 'node')})" for text in order[:2]]
    rest = sum(numbers[text] for text in order[2:])
    more = f" and so on ({counted(rest, 'more node')})" if rest else ""
    return f"{' or '.join(told)}{more}"
