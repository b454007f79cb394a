"""What the kept plugins say of all nodes to the first pod of an equivalence class.

And how to ask them about single rows from then on. Called by `equivalence_class` after a change of
nodes; keeps nothing.
"""

from typing import Final, NamedTuple

import msgspec
import numpy as np

from mooring.framework import hook
from mooring.framework.arrays import Amounts, Mask
from mooring.framework.binding_hooks import blame
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.kept_plugins import KeptPlugins
from mooring.framework.decisions.observer import NOBODY
from mooring.framework.decisions.row_answers import (
    AskedRowFilter,
    AskedRowScore,
    CannotTellError,
    NormalizesByExtremes,
    RowAnswers,
    RowFilter,
    RowScore,
)
from mooring.framework.plugin_calls import AskScore
from mooring.framework.scope import Scope
from mooring.state.lru_cache import size_of

#: The total of a node on which the pod does not fit; no sum of scores makes up for it.
NOWHERE: Final = -(1 << 30)
#: What is kept of a row: two totals and its number, twice; and for each score that is normalized.
_ROW_BYTES: Final = 32
_RAW_BYTES: Final = 16
#: Objects take up about so many times the bytes that write them down.
_OBJECT_FACTOR: Final = 4


class NormalizedScore(NamedTuple):
    """A score that depends on which nodes are possible; its raw scores do not."""

    asker: AskScore
    weight: int
    raw: Amounts


class AllRows(NamedTuple):
    """What there is to say of all rows.

    Attributes:
        static: (n,) what depends on nodes alone: `NOWHERE` where it rejects them, else its scores.
        total: (n,) the sum of the weighted scores; `NOWHERE` where a pod does not fit.
        row_filters: the filters that depend on a row.
        row_scores: the scores that do, with their weights.
        normalized: the scores that are normalized among the possible nodes; not in the total.
        nbytes: about how much memory all of it takes.
    """

    static: Amounts
    total: Amounts
    row_filters: list[RowAnswers]
    row_scores: list[tuple[int, RowAnswers]]
    normalized: list[NormalizedScore]
    nbytes: int


def evaluate_all_rows(kept: KeptPlugins, cycle: Cycle) -> AllRows | None:
    """Ask all kept plugins about all nodes; None if the pod is to be decided without them.

    Args:
        kept: the plugins.
        cycle: a decision about the pod that nobody was asked about yet; it is kept.

    Raises:
        CannotTellError: a filter failed for a node, or a score is not a legal one.
        PluginError: a plugin failed.
    """
    whole, result, rejecting, _ = kept.pre_filters.run(cycle, NOBODY)
    if whole is not None or rejecting or not kept.later <= cycle.skipped:
        return None
    size = len(cycle.cluster.columns)
    fits = np.ones(size, np.bool_) if result is None else result.mask.copy()
    static = np.where(fits, 0, NOWHERE)
    row_filters = _ask_filters(kept, cycle, fits, static)
    by_row = np.zeros(size, np.int64)
    row_scores, normalized = _ask_scores(kept, cycle, fits, static, by_row)
    nbytes = size * (_ROW_BYTES + _RAW_BYTES * len(normalized))
    held = (*row_filters, *(rows for _, rows in row_scores))
    if any(isinstance(one, AskedRowFilter | AskedRowScore) for one in held):
        nbytes += _bytes_of(cycle)
    total = np.where(fits, static + by_row, NOWHERE)
    return AllRows(static, total, row_filters, row_scores, normalized, nbytes)


def _ask_filters(kept: KeptPlugins, cycle: Cycle, fits: Mask, static: Amounts) -> list[RowAnswers]:
    """Ask all filters; how to ask those that depend on a row.

    Args:
        kept: the plugins.
        cycle: the decision.
        fits: (n,) the nodes that are possible; loses those that a filter rejects.
        static: (n,) gets `NOWHERE` where a filter that depends on nodes alone rejects them.
    """
    by_row: list[RowAnswers] = []
    for asker, plugin, is_foreign in kept.filters:
        if asker.name in cycle.skipped:
            continue
        if is_foreign:
            # It is asked about nodes that the others leave, now and when a row changes.
            rows: RowAnswers = AskedRowFilter(asker, cycle)
            by_row.append(rows)
            left = fits.nonzero()[0]
            fits[left] = rows.some(left) != 0
            continue
        try:
            verdicts = asker.ask(cycle.pod, cycle.nodes)
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            blame(error, asker.name, "filter", cycle.pod)
        if verdicts is not None:
            if any(one.error for one in verdicts.table):
                raise CannotTellError
            accepted = verdicts.choice == 0
            fits &= accepted
            if asker.scope is not Scope.ROW:
                static[~accepted] = NOWHERE
        if asker.scope is Scope.ROW:
            by_row.append(
                plugin.row_filter(cycle)
                if isinstance(plugin, RowFilter)
                else AskedRowFilter(asker, cycle)
            )
    return by_row


def _ask_scores(
    kept: KeptPlugins, cycle: Cycle, fits: Mask, static: Amounts, by_row: Amounts
) -> tuple[list[tuple[int, RowAnswers]], list[NormalizedScore]]:
    """Ask all scores; how to ask those that depend on a row, and those that are normalized.

    Args:
        kept: the plugins.
        cycle: the decision.
        fits: (n,) the possible nodes.
        static: (n,) the scores that depend on nodes alone are added here, and
        by_row: (n,) those that depend on a row here.
    """
    nodes = cycle.nodes
    skipped = kept.pre_scores.prepare(cycle, nodes, NOBODY)
    row_scores: list[tuple[int, RowAnswers]] = []
    normalized: list[NormalizedScore] = []
    for asker, weight, plugin, scope, is_foreign in kept.scores:
        if asker.name in skipped:
            continue
        if is_foreign:
            rows: RowAnswers = AskedRowScore(asker, cycle)
            row_scores.append((weight, rows))
            left = fits.nonzero()[0]
            by_row[left] += rows.some(left) * weight
            continue
        try:
            raw = asker.raw(cycle, nodes)
            if asker.normalizes and not _same_for_all(plugin, raw):
                normalized.append(NormalizedScore(asker, weight, raw))
                continue
            score = asker.normalized(cycle, nodes, raw) * weight
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            blame(error, asker.name, "score", cycle.pod)
        if scope is not Scope.ROW:
            static += score
            continue
        by_row += score
        row_scores.append(
            (
                weight,
                plugin.row_score(cycle)
                if isinstance(plugin, RowScore)
                else AskedRowScore(asker, cycle),
            )
        )
    return row_scores, normalized


def _same_for_all(plugin: hook.Hook, raw: Amounts) -> bool:
    """Whether the normalized scores are the same whichever nodes are possible."""
    return isinstance(plugin, NormalizesByExtremes) and raw.min() == raw.max()


def _bytes_of(cycle: Cycle) -> int:
    """About how much memory a decision's pod takes; it has whatever its owner wrote into it."""
    pod = cycle.pod
    spec = _OBJECT_FACTOR * len(msgspec.msgpack.encode(pod.spec))
    return spec + size_of(pod.labels) + size_of(pod.annotations) + len(pod.source or b"")
