"""The plugins of a profile whose answers are not kept, and asking them.

They are asked about the nodes that the kept ones leave (`equivalence_classes`), those with quick
answers for these (`quick_answers`). The nodes and totals are those that `filter_walk` and
`score_walk` find, without what nobody reads here: reasons, and the scores of each plugin.
"""

from collections.abc import Collection, Iterable, Sequence, Set
from typing import NamedTuple

from mooring.framework.arrays import Amounts, Mask
from mooring.framework.binding_hooks import blame
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.filter_walk import ask_filter
from mooring.framework.decisions.pre_filter_walk import PreFilterWalk
from mooring.framework.decisions.quick_answers import (
    QuickFilter,
    QuickMask,
    QuickScore,
    QuickScores,
)
from mooring.framework.decisions.score_walk import ScoreWalk
from mooring.framework.handle import AskFilter
from mooring.framework.nodes import Nodes
from mooring.framework.plugin_calls import AskScore
from mooring.model.meta import KubeObject


class AskedFilter(NamedTuple):
    """A filter that is asked.

    Attributes:
        asker: the way to ask it.
        plugin: the filter, if it has quick answers.
        quick: the way to ask for these.
    """

    asker: AskFilter
    plugin: QuickFilter | None = None
    quick: QuickMask | None = None


class AskedScore(NamedTuple):
    """A score that is asked.

    Attributes:
        asker: the way to ask it.
        weight: its weight.
        plugin: the score, if it has quick answers.
        quick: the way to ask for these.
    """

    asker: AskScore
    weight: int
    plugin: QuickScore | None = None
    quick: QuickScores | None = None


class AskedPlugins(NamedTuple):
    """The plugins that are asked about a pod.

    Attributes:
        filters: those that may reject nodes.
        scores: those that may prefer nodes.
        skipped: those that have nothing to do for it after the choice of a node either.
    """

    filters: Sequence[AskedFilter]
    scores: Sequence[AskedScore]
    skipped: frozenset[str] = frozenset()


class OtherPlugins(NamedTuple):
    """The plugins of a profile whose answers are not kept.

    Attributes:
        pre_filters: asks those that prepare filters; None if there are none.
        pre_scores: asks those that prepare scores; None if there are none.
        asked: the filters and scores.
        alike_by: the kinds of objects on which it depends what is known of pods with one spec.
    """

    pre_filters: PreFilterWalk | None
    pre_scores: ScoreWalk | None
    asked: AskedPlugins
    alike_by: Collection[type[KubeObject]] = ()


def narrowed(filters: Iterable[AskedFilter], cycle: Cycle, possible: Mask) -> Mask | None:
    """Ask filters about nodes that are possible, after the pre-filter plugins.

    Args:
        filters: the filters.
        cycle: the decision.
        possible: (n,) the nodes.

    Returns:
        The same mask if all of them pass, one without those that a filter rejects, or None if a
        filter failed.

    Raises:
        PluginError: a plugin failed.
    """
    mask = possible
    for asker, _, quick in filters:
        if quick is not None:
            try:
                mask = quick(cycle, mask)
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything
                blame(error, asker.name, "filter", cycle.pod)
        elif asker.name not in cycle.skipped:
            verdicts = ask_filter(asker, cycle, cycle.nodes, mask)
            if verdicts is not None:
                if any(one.error for one in verdicts.table):
                    return None
                mask = mask & (verdicts.choice == 0)
    return mask


def weighted(
    scores: Iterable[AskedScore], cycle: Cycle, nodes: Nodes, skipped: Set[str]
) -> Amounts | None:
    """(n_nodes,) the weighted sums of scores; None if they are the same for all nodes.

    Up to a number that is the same for all nodes.

    Args:
        scores: the scores.
        cycle: the decision.
        nodes: the nodes.
        skipped: the plugins that had nothing to say in `pre_score`.

    Raises:
        PluginError: a plugin failed.
    """
    total: Amounts | None = None
    for asker, weight, _, quick in scores:
        if asker.name in skipped:
            continue
        try:
            if quick is not None:
                score = quick(cycle, nodes, weight)
            else:
                score = asker.normalized(cycle, nodes, asker.raw(cycle, nodes))
                score = score if weight == 1 else score * weight
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            blame(error, asker.name, "score", cycle.pod)
        if score is not None:
            total = score if total is None else total + score
    return total
