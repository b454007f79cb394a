"""Which plugins of a profile have their answers kept for pods that are alike.

A plugin is kept if it signs pods and its filter and score look no further than nodes, or one node
and its pods; a foreign one that looks up other objects is not. Called by the runtime when it takes
plugins; what comes of it is used in every decision.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple, TypeVar

from mooring.framework import foreign, hook
from mooring.framework.decisions.equivalence_classes import EquivalenceClasses, Signer
from mooring.framework.decisions.kept_plugins import KeptFilter, KeptPlugins, KeptScore
from mooring.framework.decisions.other_plugins import (
    AskedFilter,
    AskedPlugins,
    AskedScore,
    OtherPlugins,
)
from mooring.framework.decisions.pre_filter_walk import AskPreFilter, PreFilterWalk
from mooring.framework.decisions.quick_answers import AlikeBy
from mooring.framework.decisions.row_answers import SkipsSigned
from mooring.framework.decisions.score_walk import AskPreScore, ScoreWalk
from mooring.framework.declarations import kinds_if_watched, kinds_to_watch, score_scope
from mooring.framework.extension_points import PluginAtPoint, Points
from mooring.framework.handle import AskFilter
from mooring.framework.plugin_calls import MAX_SCORE, AskScore, quick_filter
from mooring.framework.policy_plugin import PolicyFilter, PolicySign
from mooring.framework.scope import Scope
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster

K = TypeVar("K", KeptFilter, KeptScore)

_POINTS: Final = ("preFilter", "filter", "preScore", "score")
_KEPT: Final = (Scope.NODES, Scope.ROW)
#: Hooks after the choice of a node, which may look for what was prepared before.
_LATER: Final = (hook.Reserve, hook.Permit, hook.PreBind, hook.PostBind)
#: The points after the filters at which hooks may get the cycle, and these hooks.
_AFTER: Final = ("preScore", "score", "reserve", "permit")
_GETS_CYCLE: Final = (
    hook.PreScore, hook.ScoreNodes, hook.Normalize, hook.Reserve, hook.Permit,
)  # fmt: skip
_DECIDING: Final = (
    "pre_filter", "add_pod", "remove_pod", "filter", "filter_nodes", "post_filter", "pre_score",
    "score", "score_nodes", "normalize",
)  # fmt: skip
#: Sums of scores stay below.
_MOST: Final = 1 << 29


class Askers(NamedTuple):
    """A profile's plugins of the points that a decision asks first, ready to be asked."""

    pre_filters: Sequence[AskPreFilter]
    filters: Sequence[AskFilter]
    pre_scores: Sequence[AskPreScore]
    scores: Sequence[tuple[AskScore, int]]


def equivalence_classes(
    cluster: Cluster, points: Points, askers: Askers
) -> EquivalenceClasses | None:
    """The equivalence classes for a profile's plugins; None if nothing could be kept."""
    plugins = {one.name: one.plugin for point in _POINTS for one in points.get(point, ())}
    signing = {name: one for name, one in plugins.items() if isinstance(one, hook.Sign)}
    kept = {name: one for name, one in signing.items() if _keeps(one)}
    weights = sum(weight for _, weight in askers.scores)
    others = (one for name, one in plugins.items() if name not in kept)
    if not kept or weights * MAX_SCORE >= _MOST or any(map(_would_be_asked_twice, others)):
        return None
    return EquivalenceClasses(
        _kept_plugins(cluster, points, askers, kept),
        [_signer(name, one) for name, one in kept.items()],
        _other_plugins(cluster, points, askers, kept),
    )


def _other_plugins(
    cluster: Cluster, points: Points, askers: Askers, kept: Collection[str]
) -> OtherPlugins:
    prepared, scores_prepared = dict(askers.pre_filters), dict(askers.pre_scores)
    at_filter = {one.name: one.plugin for one in points.get("filter", ())}
    at_score = {one.name: one.plugin for one in points.get("score", ())}
    # Filters that have answered quickly are not ready to be asked again.
    once = not any(_may_ask_filters(one) for point in _AFTER for one in points.get(point, ()))
    filters = [
        AskedFilter(one, quick, quick.accepted if quick else None)
        for one in askers.filters
        if one.name not in kept
        for quick in (quick_filter(at_filter[one.name]) if once and one.name in prepared else None,)
    ]
    scores = [
        AskedScore(one, weight, quick, quick.quick_scores if quick else None)
        for one, weight in askers.scores
        if one.name not in kept
        # Who prepares scores fails without that, as it does when it is asked in full.
        for ready in (
            one.name in scores_prepared or not isinstance(at_score[one.name], hook.PreScore),
        )
        for quick in (one.quick if ready else None,)
    ]
    # Quick answers need no preparation.
    quick_filters = {one.asker.name for one in filters if one.quick is not None}
    quick_scores = {one.asker.name for one in scores if one.quick is not None}
    pre_filters = [one for one in askers.pre_filters if one[0] not in {*kept, *quick_filters}]
    pre_scores = [one for one in askers.pre_scores if one[0] not in {*kept, *quick_scores}]
    plugins = [one.plugin for point in _POINTS for one in points.get(point, ())]
    return OtherPlugins(
        PreFilterWalk(cluster, pre_filters) if pre_filters else None,
        ScoreWalk(pre_scores, ()) if pre_scores else None,
        AskedPlugins(filters, scores),
        frozenset(kind for one in plugins for kind in _alike_by(one)),
    )


def _alike_by(plugin: hook.Hook) -> Collection[type[KubeObject]]:
    """The kinds of objects on which it depends which pods are alike for a plugin."""
    if isinstance(plugin, AlikeBy):
        return plugin.alike_by
    return kinds_to_watch(plugin) | kinds_if_watched(plugin)


def _kept_plugins(
    cluster: Cluster, points: Points, askers: Askers, kept: dict[str, hook.Sign]
) -> KeptPlugins:
    at_score: Sequence[PluginAtPoint] = points.get("score", ())
    scopes = {one.name: score_scope(one.plugin) for one in at_score}
    return KeptPlugins(
        PreFilterWalk(cluster, [one for one in askers.pre_filters if one[0] in kept]),
        _own_first(
            KeptFilter(one, kept[one.name], _is_foreign(kept[one.name]))
            for one in askers.filters
            if one.name in kept
        ),
        ScoreWalk([one for one in askers.pre_scores if one[0] in kept], ()),
        _own_first(
            KeptScore(one, weight, kept[one.name], scopes[one.name], _is_foreign(kept[one.name]))
            for one, weight in askers.scores
            if one.name in kept
        ),
        frozenset(name for name, one in kept.items() if _is_asked_later(one)),
        any(_is_foreign(one) and not _looks_at_rows(one) for one in kept.values()),
    )


def _own_first(kept: Iterable[K]) -> list[K]:
    """Foreign plugins last: they are asked about nodes that mooring's own leave."""
    return sorted(kept, key=lambda one: one.is_foreign)


def _keeps(plugin: hook.Sign) -> bool:
    """Whether answers for a node stay while neither it nor its pods change."""
    if isinstance(plugin, SkipsSigned):
        return True
    if isinstance(plugin, hook.FilterNodes) and quick_filter(plugin) is not None:
        return False  # it keeps what it can itself
    if isinstance(plugin, (*hook.PREPARING, *_LATER)) and asks_foreign_code(plugin):
        # What it prepares may depend on all nodes, and later hooks may look for what earlier ones
        # left.
        return False
    if asks_foreign_code(plugin) and _reads_objects(plugin):
        # Objects change without a change of any node. Mooring's own sign what they look up.
        return False
    if isinstance(plugin, hook.PreFilter | hook.Filter | hook.FilterNodes) and (
        plugin.filter_scope not in _KEPT
    ):
        return False
    if not isinstance(plugin, hook.PreScore | hook.Score | hook.ScoreNodes):
        return True
    scope = plugin.score_scope
    return scope is Scope.NODES or (scope is Scope.ROW and not isinstance(plugin, hook.Normalize))


def _reads_objects(plugin: hook.Hook) -> bool:
    """Whether a plugin looks up objects other than nodes and pods."""
    return bool(kinds_to_watch(plugin) - {Node, Pod}) or bool(plugin.reads_if_watched)


def _is_foreign(plugin: hook.Hook) -> bool:
    return asks_foreign_code(plugin) or isinstance(plugin, PolicySign)


def _looks_at_rows(plugin: hook.Hook) -> bool:
    """Whether a kept plugin reads of each node what touches its row when it changes, and no more.

    Every time a node is put, its row is touched.
    """
    scopes = []
    if isinstance(plugin, hook.Filter | hook.FilterNodes):
        scopes.append(plugin.filter_scope)
    if isinstance(plugin, hook.Score | hook.ScoreNodes):
        scopes.append(plugin.score_scope)
    return all(one is Scope.ROW for one in scopes)


def _is_asked_later(plugin: hook.Hook) -> bool:
    prepares = isinstance(plugin, hook.PreFilter | hook.PreScore)
    return prepares and isinstance(plugin, _LATER)


def _would_be_asked_twice(plugin: hook.Hook) -> bool:
    """Whether a decision that starts anew would ask foreign code again."""
    early = hook.PreFilter, hook.Filter, hook.FilterNodes
    return isinstance(plugin, early) and asks_foreign_code(plugin)


def _may_ask_filters(one: PluginAtPoint) -> bool:
    """Whether code that is not mooring's own has the cycle, with which a handle asks filters."""
    return isinstance(one.plugin, _GETS_CYCLE) and foreign.is_foreign(type(one.plugin))


def _signer(name: str, plugin: hook.Sign) -> Signer:
    # A foreign one may read more of a pod than what pods with one spec share. To mooring's own that
    # are kept, labels of pods do not matter: they look at nodes and rows.
    by_spec = not (foreign.is_foreign(plugin.sign) or isinstance(plugin, PolicySign))
    return Signer(name, foreign.entry(plugin.sign), by_spec)


def asks_foreign_code(plugin: hook.Hook) -> bool:
    """Whether a decision that asks the plugin may run code that is not mooring's own."""
    hooks = (getattr(plugin, one, None) for one in _DECIDING)
    return isinstance(plugin, PolicyFilter) or any(
        foreign.is_foreign(one) for one in hooks if one is not None
    )
