"""Which plugins are asked about pods with one spec, of those whose answers are not kept.

Most pods have no rules of their own and nobody's rules are about them. Plugins with quick answers
say so once (`quick_answers`), and the next pods of the template are decided without asking them.
Used by `equivalence_classes`.
"""

from collections.abc import Sequence

from mooring.framework.binding_hooks import IdleAfterSkip, blame
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.other_plugins import AskedFilter, AskedPlugins, AskedScore
from mooring.model.meta import OwnerReference
from mooring.state.shapes import LabelKey


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
        """Those for one of the pods.

        Raises:
            PluginError: a plugin failed.
        """
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
            filters, scores, _ = self._every
            asked = _filters(filters, cycle)
            idle = _idle(filters) - _idle(asked)
            found = self._found = AskedPlugins(asked, _scores(scores, cycle), idle)
        return found


def _idle(filters: Sequence[AskedFilter]) -> frozenset[str]:
    """Those of some filters that have nothing to do later for pods that they skip."""
    plugins: list[tuple[str, object]] = [(one.asker.name, one.plugin) for one in filters]
    return frozenset(name for name, one in plugins if isinstance(one, IdleAfterSkip))


def _filters(filters: Sequence[AskedFilter], cycle: Cycle) -> list[AskedFilter]:
    """Those that are to be asked about pods like this one, and how."""
    found = []
    for one in filters:
        if one.plugin is None:
            found.append(one)
            continue
        try:
            quick = one.plugin.accepted_alike(cycle)
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            blame(error, one.asker.name, "filter", cycle.pod)
        if quick is not None:
            found.append(one._replace(quick=quick))
    return found


def _scores(scores: Sequence[AskedScore], cycle: Cycle) -> list[AskedScore]:
    found = []
    for one in scores:
        if one.plugin is None:
            found.append(one)
            continue
        try:
            quick = one.plugin.quick_scores_alike(cycle)
        except Exception as error:  # noqa: BLE001
            blame(error, one.asker.name, "score", cycle.pod)
        if quick is not None:
            found.append(one._replace(quick=quick))
    return found
