"""The answer first: in a sentence or two why a pod is pending, or why it is where it is.

Called by the command line. Everything is read from the explanation; nothing is decided here.
"""

from collections.abc import Sequence

from mooring.explaining.causes import PendingCause
from mooring.explaining.decision_text import outcome_sentence, preemption_text
from mooring.explaining.node_standing import NodeStanding, standing_sentences
from mooring.framework.decisions.record import Record
from mooring.wording import are


def answer_sentences(
    record: Record,
    found: Sequence[PendingCause],
    standing: NodeStanding | None = None,
    why_not: str = "",
    elsewhere: str = "",
) -> list[str]:
    """Why the pod is pending, where it goes and why, or how good the node is that it is on.

    Args:
        record: the decision.
        found: why the pod is pending.
        standing: how good its node is; None if it is on none.
        why_not: why the pod does not fit on its node any more.
        elsewhere: the node that it is on, if nothing more is known of that.
    """
    if standing is not None:
        return standing_sentences(record, standing, why_not)
    if elsewhere:
        return _about_others(record, found, elsewhere)
    if record.selected:
        return [outcome_sentence(record)]
    return _pending(record, found, f"{record.pod} is pending")


def _about_others(record: Record, found: Sequence[PendingCause], node: str) -> list[str]:
    """What there is to say of a pod whose node was not read."""
    there = f"{record.pod} is on {node}, which is not among the nodes that were read"
    if not record.nodes:
        return [f"{there}: there are none."]
    if record.selected:
        return [f"{there}.", f"As if unscheduled, {outcome_sentence(record)}"]
    return [f"{there}.", *_pending(record, found, "As if unscheduled, it does not fit")]


def _pending(record: Record, found: Sequence[PendingCause], begin: str) -> list[str]:
    if not found:
        return [f"{begin}: {outcome_sentence(record)}."]
    first, every = found[0], len(record.nodes)
    texts = [f"{begin}: it {first.text}."]
    others = every - first.nodes
    if record.filtering is not None and record.filtering.whole is None and not record.gated:
        whole = f"This rules out {_all(every)}." if not others else ""
        texts.append(whole or _others(first, others, every))
    room = preemption_text(record)
    if room:
        texts.append(room)
    return texts


def _all(every: int) -> str:
    return "the only node" if every == 1 else f"all {every} nodes"


def _others(first: PendingCause, others: int, every: int) -> str:
    rest = f"the other {others}" if others > 1 else "the other one"
    return (
        f"This rules out {first.nodes} of {every} nodes; {rest} {are(others)} ruled out for other "
        "reasons."
    )
