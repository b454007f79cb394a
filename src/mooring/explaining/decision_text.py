"""A decision in plain words: why the winner won and by how much, or why the pod waits.

Called by the command line. Everything is read from the record; nothing is decided here.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mooring.framework.decisions.decision import Scoring
from mooring.framework.decisions.record import Record
from mooring.wording import counted

#: So many names are written out.
_NAMES = 3


class ScoreMargin(NamedTuple):
    """How one node compares with another.

    Attributes:
        points: how many points it has more.
        plugins: what each plugin gives it more or less, the largest difference first.
    """

    points: int
    plugins: list[tuple[str, int]]


def outcome_sentence(record: Record) -> str:
    """One sentence: where the pod goes and why, or why it goes nowhere."""
    if not record.selected:
        return record.message or "the pod fits, but is gated"
    if record.nominated_shortcut:
        return (
            f"{record.pod} goes to {record.nominated_shortcut}, its nominated node "
            f"(status.nominatedNodeName); scores do not count then."
        )
    scoring, feasible = record.scoring, record.feasible
    if len(feasible) == 1 or scoring is None:
        return f"{record.pod} goes to {feasible[0]}, the only node that fits."
    return _winner(record, scoring)


def _winner(record: Record, scoring: Scoring) -> str:
    best = [row for row in _rows(record) if row in set(record.best)]
    points = int(scoring.total.max())
    if len(best) > 1:
        nodes = joined_names([record.nodes[row] for row in best], "or")
        text = (
            f"{record.pod} goes to {nodes}: they share the highest total, {points}, "
            f"and kube-scheduler picks one of them at random"
        )
    else:
        text = f"{record.pod} goes to {record.nodes[best[0]]} with {counted(points, 'point')}"
    second = runner_up(record)
    if second is None:
        return f"{text}."
    margin = compare(record, best[0], second)
    name = record.nodes[second]
    if len(best) > 1:
        back = compare(record, second, best[0])
        return f"{text}; the next, {name}, has {margin.points} less{difference_text(back)}."
    return f"{text}, {margin.points} more than {name}{difference_text(margin)}."


def runner_up(record: Record) -> int | None:
    """The row of the best node below the winners; None if all nodes share the highest total."""
    scoring = record.scoring
    if scoring is None:
        return None
    rows = _rows(record)
    below = np.flatnonzero(scoring.total < scoring.total.max())
    if not len(below):
        return None
    return rows[int(below[np.argmax(scoring.total[below])])]


def compare(record: Record, row: int, other: int) -> ScoreMargin:
    """How a node that fits compares with another one."""
    scoring = record.scoring
    assert scoring is not None  # noqa: S101 - both nodes have scores
    rows = _rows(record)
    here, there = rows.index(row), rows.index(other)
    differences = [
        (one.name, one.weight * (int(one.normalized[here]) - int(one.normalized[there])))
        for one in scoring.scores
        if one.normalized is not None
    ]
    plugins = [(name, points) for name, points in differences if points]
    plugins.sort(key=lambda one: -abs(one[1]))
    return ScoreMargin(int(scoring.total[here]) - int(scoring.total[there]), plugins)


def difference_text(margin: ScoreMargin) -> str:
    """Which plugins made the difference, those on the side of the result first; may be empty."""
    more = [f"{name} gives {points} more" for name, points in margin.plugins if points > 0]
    less = [f"{name} gives {-points} less" for name, points in margin.plugins if points < 0]
    sides = (more, less) if margin.points > 0 else (less, more)
    texts = [" and ".join(side[:2]) for side in sides if side]
    return f": {', '.join(texts)}" if texts else ""


def preemption_text(record: Record) -> str:
    """What the scheduler would do to make room; empty if it would do nothing."""
    found = record.post_filter_result.preemption
    if found is None or not found.verdict.accepted or not found.best:
        return ""
    best = sorted(found.best)
    victims = found.candidates[best[0]].victims
    pods = joined_names([pod.key for pod in victims], "and")
    others = counted(len(best) - 1, "more node")
    where = best[0] if len(best) == 1 else f"{best[0]} (or {others} alike)"
    count = counted(len(victims), "pod")
    return f"The scheduler would preempt {count} of lower priority on {where}: {pods}."


def joined_names(of: Sequence[str], word: str) -> str:
    """A few names as a list in a sentence, and how many more there are."""
    if len(of) > _NAMES + 1:
        return f"{', '.join(of[:_NAMES])} {word} {len(of) - _NAMES} more"
    return f" {word} ".join(filter(None, (", ".join(of[:-1]), of[-1]))) if of else "none"


def _rows(record: Record) -> list[int]:
    """The rows of the nodes that fit, as the scores have them."""
    assert record.filtering is not None  # noqa: S101 - a node was found
    rows: list[int] = record.filtering.feasible.tolist()
    return rows
