"""What is kept for pods that are alike: which nodes they fit on, and how good these are.

Pods with the same signature from all kept plugins form an equivalence class. A kept plugin looks at
nodes only, or at one node and its pods (`Scope.NODES`, `Scope.ROW`), so its answers for all other
rows stay when a row changes. The class has the sum of the weighted scores of all rows, and whoever
decides about one of its pods first looks again at the rows that changed since:

    build ──> total of each row ──row log: rows changed──> catch up ──> total of each row
      ^                                                       │
      └──── an aspect of a node changed, nodes came or went ──┘

Exact: the same numbers come out as if every plugin were asked about every node. Made and used by
`equivalence_classes`; chooses nothing.
"""

from bisect import bisect_left, insort
from collections.abc import Hashable
from typing import Final, NamedTuple

import numpy as np

from mooring.errors import PluginError
from mooring.framework import foreign
from mooring.framework.arrays import Amounts, Mask, Rows
from mooring.framework.binding_hooks import blame
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.all_rows import (
    NOWHERE,
    AllRows,
    NormalizedScore,
    evaluate_all_rows,
)
from mooring.framework.decisions.decision import Best
from mooring.framework.decisions.kept_plugins import KeptPlugins
from mooring.framework.decisions.row_answers import CannotTellError, RowAnswers
from mooring.framework.filtering import Filtering, passed
from mooring.framework.nodes import Nodes
from mooring.framework.plugin_calls import MAX_SCORE
from mooring.state.lru_cache import size_of

_NO_TOTALS: Final[Amounts] = np.zeros(0, np.int64)
#: Up to so many rows are looked at one by one.
_FEW: Final = 4


class Possible(NamedTuple):
    """The nodes on which the pods of a class fit.

    Attributes:
        mask: (n,) which they are; not to be changed.
        rows: their rows, in ascending order.
        filtering: the same as what came out of the filters.
    """

    mask: Mask
    rows: Rows
    filtering: Filtering


class EquivalenceClass:
    """The pods that all kept plugins sign alike.

    Args:
        signature: what they sign.
        kept: the plugins.

    Attributes:
        signature: the same.
        is_current: whether it is the one of its signature; a forgotten one may be replaced.
        nbytes: about how much memory it takes.
        total: (n,) the sum of the weighted scores; `NOWHERE` where a pod does not fit.
        skipped: the kept plugins that have nothing to say to these pods in `pre_filter`.
        possible: the nodes on which a pod fits; None until somebody has looked for them.
    """

    __slots__ = (
        "_best", "_highest", "_is_known", "_kept", "_normalized", "_row_filters", "_row_scores",
        "_seen", "_static", "_static_cells", "_sum", "_total_cells", "_usable", "_version",
        "is_current", "nbytes", "possible", "signature", "skipped", "total",
    )  # fmt: skip

    def __init__(self, signature: Hashable, kept: KeptPlugins) -> None:
        self.signature = signature
        self.is_current = True
        self._kept = kept
        self._is_known = False
        self.forget()

    def forget(self) -> None:
        """Keep nothing; it is worked out again when the class is used next."""
        self.nbytes = size_of(self.signature)
        self.total: Amounts = _NO_TOTALS
        self._total_cells = self._static_cells = _NO_TOTALS.data
        self.skipped: frozenset[str] = frozenset()
        self._static: Amounts = self.total
        self._version = -1
        self._seen = 0
        self._usable = False
        self._row_filters: list[RowAnswers] = []
        self._row_scores: list[tuple[int, RowAnswers]] = []
        self._normalized: list[NormalizedScore] = []
        self.possible: Possible | None = None
        self._sum: Amounts | None = None
        # A list as soon as single rows come and go.
        self._best: Best | None = None
        self._highest = 0

    def catch_up(self, cycle: Cycle) -> bool:
        """Look again at what changed; false if the pod is to be decided without it.

        So is the first of its pods: there may be no other, and nothing is kept yet.

        Raises:
            PluginError: a plugin failed.
        """
        if not self._is_known:
            self._is_known = True
            return False
        columns = cycle.cluster.columns
        if self._version != self._kept.version(columns):
            return self._evaluate(cycle)
        log = columns.row_log
        if self._seen == log.end or not self._usable:
            return self._usable
        try:
            if log.end - self._seen <= _FEW:
                for row in log.since(self._seen) or ():
                    self._look_at(row)
            else:
                rows = log.array_since(self._seen)
                if rows is None or len(rows) >= len(columns):
                    rows = np.arange(len(columns))
                self._look_at_some(rows)
        except (CannotTellError, PluginError) as error:
            self.forget()
            _end_if_interrupted(error)
            return False
        self._seen = log.end
        return True

    def find_possible(self) -> Possible:
        """Look for the nodes on which the pods fit."""
        mask = self.total >= 0
        rows: Rows = mask.nonzero()[0]
        found = self.possible = Possible(mask, rows, passed(rows, len(mask)))
        return found

    def nodes(self, cycle: Cycle, mask: Mask | None) -> Nodes:
        """The nodes in a mask; None for all on which the pods fit."""
        if mask is not None:
            return cycle.nodes.masked(mask)
        rows = (self.possible or self.find_possible()).rows
        return cycle.nodes.subset(rows) if len(rows) < len(self.total) else cycle.nodes

    def best_of(self, cycle: Cycle, mask: Mask | None) -> Best:
        """The rows of the best of the nodes in a mask, in ascending order; None for all that fit.

        Not to be changed, and valid until a row changes.
        """
        if self._normalized:
            return self.best_with(self.nodes(cycle, mask))
        total = self.total
        if mask is not None:
            rows: Rows = ((total == np.maximum.reduce(total)) & mask).nonzero()[0]
            # The best of all are the best of some if these have any of them.
            return rows if len(rows) else _highest(np.where(mask, total, NOWHERE))
        best = self._best
        if best is None:
            self._highest = int(np.maximum.reduce(total))
            best = self._best = (total == self._highest).nonzero()[0]
        return best

    def best_with(self, nodes: Nodes, more: Amounts | None = None) -> Best:
        """The rows of the best of some or all of the `possible` nodes.

        Args:
            nodes: the nodes.
            more: (n_nodes,) what other plugins' scores add.
        """
        rows = nodes.rows
        totals = self.total if rows is None else self.total.take(rows)
        if self._normalized:
            totals = totals + self._normalized_sum(nodes, rows)
        if more is not None:
            totals = totals + more
        places = _highest(totals)
        return places if rows is None else rows.take(places)

    def _normalized_sum(self, nodes: Nodes, rows: Rows | None) -> Amounts:
        """(n_nodes,) the sums of the scores that are normalized."""
        whole = rows is None or (self.possible is not None and rows is self.possible.rows)
        if whole and self._sum is not None:
            return self._sum
        added = np.zeros(len(nodes), np.int64)
        cycle = nodes.cycle
        for asker, weight, raw in self._normalized:
            try:
                added += asker.normalized(cycle, nodes, nodes.take(raw)) * weight
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                blame(error, asker.name, "normalize", cycle.pod)
        if whole:
            self._sum = added
        return added

    def _change_best(self, row: int, before: int, total: int) -> None:
        """The total of one row is another: mostly that of a node that got a pod is lower now."""
        best, highest = self._best, self._highest
        if best is None or (total < highest and before < highest):
            return
        if total > highest:
            self._best, self._highest = [row], total
            return
        if not isinstance(best, list):
            best = self._best = best.tolist()
        if total == highest:
            insort(best, row)
        elif len(best) > 1:
            del best[bisect_left(best, row)]
        else:
            self._best = None

    def _evaluate(self, cycle: Cycle) -> bool:
        """Ask about all rows."""
        # A cycle of its own: it stays, with what the plugins keep in it.
        cycle = Cycle(cycle.pod, cycle.cluster)
        columns = cycle.cluster.columns
        self.forget()
        version, seen = self._kept.version(columns), columns.row_log.end
        found: AllRows | None = None
        try:
            found = evaluate_all_rows(self._kept, cycle)
        except (CannotTellError, PluginError) as error:
            # In full, it may not be asked about that node; if it is, everybody hears of it.
            _end_if_interrupted(error)
        if found is not None:
            self._static, self._static_cells = found.static, found.static.data
            self.total, self._total_cells = found.total, found.total.data
            self._row_filters, self._row_scores = found.row_filters, found.row_scores
            self._normalized = found.normalized
            self.skipped = frozenset(cycle.skipped)
            self.nbytes += found.nbytes
        self._version, self._seen, self._usable = version, seen, found is not None
        return self._usable

    # -- rows that changed

    def _look_at(self, row: int) -> None:
        total = self._static_cells[row]
        if total < 0:
            return  # what depends on nodes alone says no
        for answers in self._row_filters:
            if not answers.one(row):
                total = NOWHERE
                break
        else:
            for weight, answers in self._row_scores:
                score = answers.one(row)
                if not 0 <= score <= MAX_SCORE:
                    raise CannotTellError
                total += weight * score
        before = self._total_cells[row]
        if total != before:
            self._total_cells[row] = total
            self._change_best(row, before, total)
            if (total < 0) != (before < 0):
                self.possible = self._sum = None

    def _look_at_some(self, rows: Rows) -> None:
        totals = self._static.take(rows)
        some, places = rows, None  # those where nobody has said no, and where in rows; None for all
        if totals[totals.argmin()] < 0:
            places = (totals >= 0).nonzero()[0]
            some = rows[places]
        for answers in self._row_filters:
            if not len(some):
                break
            accepted = answers.some(some)
            if np.count_nonzero(accepted) < len(some):
                left = accepted.nonzero()[0]
                places = left if places is None else places[left]
                some = some[left]
        added = self._scores_of(some) if len(some) else _NO_TOTALS
        before = self.total.take(rows)
        if places is None:
            totals += added
            same = before[before.argmin()] >= 0
        else:
            added += totals[places]
            totals[:] = NOWHERE
            totals[places] = added
            same = np.array_equal(before >= 0, totals >= 0)
        if not same:
            self.possible = self._sum = None
        self.total[rows] = totals
        self._best = None

    def _scores_of(self, rows: Rows) -> Amounts:
        """(n_rows,) the sums of the weighted scores of some nodes, at least one."""
        total = np.zeros(len(rows), np.int64)
        for weight, answers in self._row_scores:
            scores = np.asarray(answers.some(rows), np.int64)
            # As unsigned numbers, those below 0 are large ones.
            unsigned = scores.view(np.uint64)
            if unsigned[unsigned.argmax()] > MAX_SCORE:
                raise CannotTellError
            total += scores if weight == 1 else scores * weight
        return total


def _highest(totals: Amounts) -> Rows:
    """Where the highest total is."""
    places: Rows = (totals == np.maximum.reduce(totals)).nonzero()[0]
    return places


def _end_if_interrupted(error: Exception) -> None:
    """A plugin that has used up its time is not asked again in this decision."""
    if foreign.interruption_in(error) is not None:
        raise error
