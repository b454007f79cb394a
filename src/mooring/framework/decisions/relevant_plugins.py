"""Which plugins are asked about pods with one spec, of those whose answers are not kept.

Most pods have no rules of their own and nobody's rules are about them. Plugins with quick answers
say so once (`quick_answers`), and the next pods of the template are decided without asking them.
Used by `equivalence_classes`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from mooring.framework.cycle import Cycle
from mooring.framework.decisions.quick_answers import QuickFilter, QuickScore
from mooring.framework.handle import AskFilter
from mooring.framework.plugin_calls import AskScore
from mooring.model.meta import OwnerReference
from mooring.state.shapes import LabelKey


class AskedFilter(NamedTuple):
    """A filter, and its quick answers if it has such."""

    asker: AskFilter
    quick: QuickFilter | None


class AskedScore(NamedTuple):
    """A score, its weight, and its quick answers if it has such."""

    asker: AskScore
    weight: int
    quick: QuickScore | None


class AskedPlugins(NamedTuple):
    """The plugins that are asked about a pod."""

    filters: Sequence[AskedFilter]
    scores: Sequence[AskedScore]


class RelevantPlugins:
    """The plugins that may have something to say about pods with one spec.

    Holds until an object changes.

    Args:
        every: all plugins whose answers are not kept.
    """

    __slots__ = ("_every", "_found", "_labels", "_owners", "_terms")

    def __init__(self, every: AskedPlugins) -> None:
        self._every = every
        self._found: AskedPlugins | None = None
        self._labels: LabelKey | None = None
        self._owners: Sequence[OwnerReference] | None = None
        self._terms = -1

    def of(self, cycle: Cycle) -> AskedPlugins:
        """Those for one of the pods."""
        cluster, labels = cycle.cluster, cycle.shape.label_key
        owners = cycle.pod.metadata.owner_references
        terms = cluster.anti_affinity.version + cluster.affinity.version + cluster.preferred.version
        if self._labels is not labels or self._terms != terms or self._owners != owners:
            # Plugins are not asked whether to ask them before a second pod comes that is alike:
            # there may be none, as in a StatefulSet.
            self._labels, self._terms, self._owners, self._found = labels, terms, owners, None
            return self._every
        found = self._found
        if found is None:
            filters, scores = self._every
            found = self._found = AskedPlugins(
                [one for one in filters if not (one.quick and one.quick.accepts_all(cycle))],
                [one for one in scores if not (one.quick and one.quick.scores_alike(cycle))],
            )
        return found
