"""The points of the nodes that fit: which plugin gives how many, as wide as the screen."""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
from rich.table import Table
from rich.text import Text

from mooring.cli.explain.node_names import NodeNames
from mooring.cli.terminal_output import table
from mooring.framework.arrays import Amounts
from mooring.framework.decisions.decision import PluginScore, Scoring
from mooring.framework.decisions.record import Record
from mooring.wording import counted, natural_key

#: So many lines the table has.
_LINES: Final = 12
_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
#: Between two columns, and what the column of totals takes.
_GAP: Final = 2
_TOTAL: Final = 7
_NODE: Final = 30


class ScoreTable:
    """What the plugins give each node.

    Args:
        record: the decision.
        scoring: its scores.
        width: how many characters a line has; None for every column and every node.
        wide: show every node and every plugin.
    """

    def __init__(
        self, record: Record, scoring: Scoring, width: int | None, *, wide: bool = False
    ) -> None:
        assert record.filtering is not None  # noqa: S101 - it has scores
        self._record = record
        self._scoring = scoring
        self._wide = wide
        self._rows = record.filtering.feasible
        self._names = NodeNames([record.nodes[row] for row in self._rows.tolist()], width)
        self._node_width = None if width is None else max(width // 3, 16)
        self._shown, self._summed = self._columns(width)

    def _columns(self, width: int | None) -> tuple[list[PluginScore], list[PluginScore]]:
        """The plugins with a column, and those for which there is no room."""
        wanted = [one for one in self._scoring.scores if self._wide or _differs(one)]
        if width is None:
            return wanted, []
        room = width - min(_NODE, width // 3) - _TOTAL
        kept: list[PluginScore] = []
        for one in sorted(wanted, key=_spread, reverse=True):
            room -= _width_of(one.name) + _GAP
            if room < (_TOTAL if len(kept) + 1 < len(wanted) else 0):
                break
            kept.append(one)
        return [one for one in wanted if one in kept], [one for one in wanted if one not in kept]

    def rows(self) -> Table:
        """The table, the best nodes first."""
        record, scoring = self._record, self._scoring
        heads = [f"{_CAPITAL.sub(chr(10), one.name)}\n×{one.weight}" for one in self._shown]
        heads += ["others"] if self._summed else []
        made = table("node", "total", *heads, numbers=range(1, len(heads) + 2))
        best = set(record.best)
        order = self._order()
        for place in order if self._wide else order[:_LINES]:
            row = int(self._rows[place])
            name = self._names.short(record.nodes[row], self._node_width)
            cells = [Text(_points(one, place)) for one in self._shown]
            if self._summed:
                cells.append(Text(str(sum(_number(one, place) for one in self._summed))))
            total = Text(str(scoring.total[place]), style="bold")
            made.add_row(Text(name, style="bold green" if row in best else ""), total, *cells)
        return made

    def notes(self) -> list[str]:
        """What the table leaves out."""
        if self._wide:
            return []
        told = []
        if len(self._rows) > _LINES:
            rest = self._scoring.total[self._order()[_LINES:]]
            least, most = int(rest.min()), int(rest.max())
            points = f"{least} to {most} points" if least < most else counted(most, "point")
            told.append(f"and {counted(len(rest), 'more node')} with {points} (-o wide shows all)")
        same = _the_same(self._scoring, (*self._shown, *self._summed))
        if same:
            told.append(same)
        return told

    def _order(self) -> list[int]:
        """The places of the nodes, the best first, equals in natural order."""
        total, nodes, rows = self._scoring.total, self._record.nodes, self._rows.tolist()
        return sorted(
            range(len(rows)),
            key=lambda place: (-int(total[place]), natural_key(nodes[rows[place]])),
        )


def _differs(score: PluginScore) -> bool:
    found = score.normalized
    return found is not None and bool((found != found[0]).any() if len(found) > 1 else found[0])


def _spread(score: PluginScore) -> int:
    """How much difference a plugin makes; of a single node, how much it gives."""
    found: Amounts = np.zeros(1, np.int64) if score.normalized is None else score.normalized
    return score.weight * int(found.max() - (found.min() if len(found) > 1 else 0))


def _width_of(name: str) -> int:
    return max(map(len, _CAPITAL.split(name)))


def _the_same(scoring: Scoring, shown: Sequence[PluginScore]) -> str:
    """What the plugins give that have no column."""
    others = [one for one in scoring.scores if one not in shown]
    given = [f"{points} from {one.name}" for one in others if (points := _number(one, 0))]
    return f"every node also gets {', '.join(given)}" if given else ""


def _points(score: PluginScore, place: int) -> str:
    return "-" if score.normalized is None else str(_number(score, place))


def _number(score: PluginScore, place: int) -> int:
    return 0 if score.normalized is None else score.weight * int(score.normalized[place])
