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
from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from mooring.errors import PluginError
from mooring.framework import foreign, hook
from mooring.framework.arrays import Amounts, Mask, Rows
from mooring.framework.binding_hooks import blame
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.decision import Best
from mooring.framework.decisions.observer import NOBODY
from mooring.framework.decisions.pre_filter_walk import PreFilterWalk
from mooring.framework.decisions.row_answers import (
    AskedRowFilter,
    AskedRowScore,
    CannotTellError,
    NormalizesByExtremes,
    RowAnswers,
    RowFilter,
    RowScore,
)
from mooring.framework.decisions.score_walk import ScoreWalk
from mooring.framework.filtering import Filtering, passed
from mooring.framework.handle import AskFilter
from mooring.framework.nodes import Nodes
from mooring.framework.plugin_calls import MAX_SCORE, AskScore
from mooring.framework.scope import Scope
from mooring.state.columns import Columns
from mooring.state.lru_cache import size_of

_NO_TOTALS: Final[Amounts] = np.zeros(0, np.int64)
#: The total of a node on which the pod does not fit; no sum of scores makes up for it.
NOWHERE: Final = -(1 << 30)
#: Up to so many rows are looked at one by one.
_FEW: Final = 12
#: What is kept of a row: two totals and its number, twice; and for each score that is normalized.
_ROW_BYTES: Final = 32
_RAW_BYTES: Final = 16
#: Objects take up about so many times the bytes that write them down.
_OBJECT_FACTOR: Final = 4


class KeptFilter(NamedTuple):
    """A filter whose answers are kept."""

    asker: AskFilter
    plugin: hook.Hook
    is_foreign: bool


class KeptScore(NamedTuple):
    """A score whose answers are kept."""

    asker: AskScore
    weight: int
    plugin: hook.Hook
    scope: Scope
    is_foreign: bool


class KeptPlugins(NamedTuple):
    """The plugins of a profile whose answers are kept.

    Attributes:
        pre_filters: asks those that prepare filters.
        filters: the filters, foreign ones last.
        pre_scores: asks those that prepare scores.
        scores: the scores, foreign ones last.
        later: those that have hooks after the choice of a node, too, and may look there for what
            they prepared.
        any_node_change: whether one of them may read of nodes what is no `Aspect`.
    """

    pre_filters: PreFilterWalk
    filters: Sequence[KeptFilter]
    pre_scores: ScoreWalk
    scores: Sequence[KeptScore]
    later: frozenset[str]
    any_node_change: bool

    def version(self, columns: Columns) -> int:
        """Another number after a change of nodes that may change any answer."""
        changes = columns.node_changes
        return changes + columns.puts if self.any_node_change else changes


class _NormalizedScore(NamedTuple):
    """A score that depends on which nodes are possible; its raw scores do not."""

    asker: AskScore
    weight: int
    raw: Amounts


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
        self._normalized: list[_NormalizedScore] = []
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
            return self._build(cycle)
        log = columns.row_log
        if self._seen == log.end or not self._usable:
            return self._usable
        rows = log.since(self._seen)
        try:
            if rows is None or len(rows) >= len(columns.nodes):
                self._look_at_some(np.arange(len(columns)))
            elif len(rows) <= _FEW:
                for row in rows:
                    self._look_at(row)
            else:
                self._look_at_some(np.array(rows, np.intp))
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

    # -- all rows

    def _build(self, cycle: Cycle) -> bool:
        # A cycle of its own: it stays, with what the plugins keep in it.
        cycle = Cycle(cycle.pod, cycle.cluster)
        columns, nodes = cycle.cluster.columns, cycle.nodes
        self.forget()
        version, seen = self._kept.version(columns), columns.row_log.end
        whole, result, rejecting, _ = self._kept.pre_filters.run(cycle, NOBODY)
        usable = whole is None and not rejecting and self._kept.later <= cycle.skipped
        if usable:
            fits = np.ones(len(columns), np.bool_) if result is None else result.mask.copy()
            try:
                usable = self._build_filters(cycle, nodes, fits)
                if usable:
                    self._build_scores(cycle, nodes, fits)
            except (CannotTellError, PluginError) as error:
                # In full, it may not be asked about that node; if it is, everybody hears of it.
                _end_if_interrupted(error)
                usable = False
        self.skipped = frozenset(cycle.skipped)
        self.nbytes += len(columns) * (_ROW_BYTES + _RAW_BYTES * len(self._normalized))
        held = (*self._row_filters, *(rows for _, rows in self._row_scores))
        if any(isinstance(one, AskedRowFilter | AskedRowScore) for one in held):
            self.nbytes += _bytes_of(cycle)
        self._version, self._seen, self._usable = version, seen, usable
        return usable

    def _build_filters(self, cycle: Cycle, nodes: Nodes, fits: Mask) -> bool:
        """Ask all filters; false if one of them failed for a node.

        Args:
            cycle: the decision.
            nodes: all nodes.
            fits: (n,) the nodes that are possible; loses those that a filter rejects.
        """
        self._static = np.where(fits, 0, NOWHERE)
        for asker, plugin, is_foreign in self._kept.filters:
            if asker.name in cycle.skipped:
                continue
            if is_foreign:
                # It is asked about nodes that the others leave, now and when a row changes.
                rows: RowAnswers = AskedRowFilter(asker, cycle)
                self._row_filters.append(rows)
                left = fits.nonzero()[0]
                fits[left] = rows.some(left) != 0
                continue
            try:
                verdicts = asker.ask(cycle.pod, nodes)
            except Exception as error:  # noqa: BLE001
                blame(error, asker.name, "filter", cycle.pod)
            if verdicts is not None and any(one.error for one in verdicts.table):
                return False
            accepted = None if verdicts is None else verdicts.choice == 0
            if accepted is not None:
                fits &= accepted
            if asker.scope is not Scope.ROW:
                if accepted is not None:
                    self._static[~accepted] = NOWHERE
            elif isinstance(plugin, RowFilter):
                self._row_filters.append(plugin.row_filter(cycle))
            else:
                self._row_filters.append(AskedRowFilter(asker, cycle))
        return True

    def _build_scores(self, cycle: Cycle, nodes: Nodes, fits: Mask) -> None:
        skipped = self._kept.pre_scores.prepare(cycle, nodes, NOBODY)
        static, by_row = np.zeros(len(nodes), np.int64), np.zeros(len(nodes), np.int64)
        for asker, weight, plugin, scope, is_foreign in self._kept.scores:
            if asker.name in skipped:
                continue
            if is_foreign:
                rows: RowAnswers = AskedRowScore(asker, cycle)
                self._row_scores.append((weight, rows))
                left = fits.nonzero()[0]
                by_row[left] += rows.some(left) * weight
                continue
            try:
                raw = asker.raw(cycle, nodes)
                if asker.normalizes and not _same_for_all(plugin, raw):
                    self._normalized.append(_NormalizedScore(asker, weight, raw))
                    continue
                score = asker.normalized(cycle, nodes, raw) * weight
            except Exception as error:  # noqa: BLE001
                blame(error, asker.name, "score", cycle.pod)
            if scope is not Scope.ROW:
                static += score
                continue
            by_row += score
            if isinstance(plugin, RowScore):
                self._row_scores.append((weight, plugin.row_score(cycle)))
            else:
                self._row_scores.append((weight, AskedRowScore(asker, cycle)))
        static += self._static
        self._static, self._static_cells = static, static.data
        self.total = np.where(fits, static + by_row, NOWHERE)
        self._total_cells = self.total.data

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
        left: Rows | None = None  # places in rows; None for all
        if np.minimum.reduce(totals) < 0:
            left = (totals >= 0).nonzero()[0]
        for answers in self._row_filters:
            accepted = answers.some(rows if left is None else rows[left]) != 0
            if not accepted.all():
                left = accepted.nonzero()[0] if left is None else left[accepted]
        some = rows if left is None else rows[left]
        added = np.zeros(len(some), np.int64)
        for weight, answers in self._row_scores:
            scores = answers.some(some)
            # As unsigned numbers, those below 0 are large ones.
            if np.maximum.reduce(scores.astype(np.uint64), initial=0) > MAX_SCORE:
                raise CannotTellError
            added += scores if weight == 1 else scores * weight
        fitted = self.total.take(rows) >= 0
        if left is None:
            totals += added
            same = fitted.all()
        else:
            found = totals[left] + added
            totals[:] = NOWHERE
            totals[left] = found
            same = (fitted == (totals >= 0)).all()
        if not same:
            self.possible = self._sum = None
        self.total[rows] = totals
        self._best = None


def _highest(totals: Amounts) -> Rows:
    """Where the highest total is."""
    places: Rows = (totals == np.maximum.reduce(totals)).nonzero()[0]
    return places


def _bytes_of(cycle: Cycle) -> int:
    """About how much memory a decision's pod takes; it has whatever its owner wrote into it."""
    pod = cycle.pod
    spec = _OBJECT_FACTOR * len(msgspec.msgpack.encode(pod.spec))
    return spec + size_of(pod.labels) + size_of(pod.annotations) + len(pod.source or b"")


def _end_if_interrupted(error: Exception) -> None:
    """A plugin that has used up its time is not asked again in this decision."""
    if foreign.interruption_in(error) is not None:
        raise error


def _same_for_all(plugin: hook.Hook, raw: Amounts) -> bool:
    """Whether the normalized scores are the same whichever nodes are possible."""
    return isinstance(plugin, NormalizesByExtremes) and raw.min() == raw.max()
