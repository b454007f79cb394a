"""The plugins of a profile whose answers are kept for pods that are alike, as values.

Made by `kept_answers`, which knows why they may be kept; asked by `equivalence_class`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from mooring.framework import hook
from mooring.framework.decisions.pre_filter_walk import PreFilterWalk
from mooring.framework.decisions.score_walk import ScoreWalk
from mooring.framework.handle import AskFilter
from mooring.framework.plugin_calls import AskScore
from mooring.framework.scope import Scope
from mooring.state.columns import Columns


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
