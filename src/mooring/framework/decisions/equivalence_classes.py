"""Deciding about a pod from what is kept for those that are alike.

The same decision as that of `decision_cycle`, at a fraction of its cost: answers of plugins that
declare what they depend on (`hook.Sign` and a `Scope` of nodes or rows) are kept, and all other
plugins are asked about the nodes that are left. Whatever is unusual ends it, and the decision is
made in full: a pod that a plugin cannot sign, pods nominated to nodes, a pre-filter plugin that
rejects or narrows, a filter that fails, and a pod that fits nowhere, as that needs all reasons.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from mooring.framework.arrays import Mask
from mooring.framework.binding_hooks import blame
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.decision import Best, Decision
from mooring.framework.decisions.equivalence_class import EquivalenceClass
from mooring.framework.decisions.kept_plugins import KeptPlugins
from mooring.framework.decisions.observer import FILTER, NOBODY, PRE_FILTER, SCORE, Observer
from mooring.framework.decisions.other_plugins import (
    AskedScore,
    OtherPlugins,
    narrowed,
    weighted,
)
from mooring.framework.decisions.relevant_plugins import RelevantPlugins
from mooring.framework.filtering import Filtering
from mooring.framework.hook_answers import legal_signature
from mooring.model.pod import Pod
from mooring.state.catalog import Catalog
from mooring.state.columns import Columns
from mooring.state.compiled_spec import CompiledSpec

_NOBODY: Final[frozenset[str]] = frozenset()
#: So many specs are known for each class: pods that are alike may have different ones.
_SPECS_PER_CLASS: Final = 4


class Signer(NamedTuple):
    """A plugin that signs pods.

    Attributes:
        name: its name.
        sign: its hook.
        by_spec: whether pods of one namespace with the same spec surely have one signature while no
            object changes, whatever their labels.
    """

    name: str
    sign: Callable[[Pod], Hashable | None]
    by_spec: bool


class _Known(NamedTuple):
    """What is known of pods with the same spec.

    Attributes:
        changes: the number of the last change of an object then that it depends on.
        signature: what plugins sign for all of them; None if one cannot sign them.
        found: their class, if that is all that is signed.
        relevant: the other plugins that may have something to say.
    """

    changes: int
    signature: Hashable | None
    found: EquivalenceClass | None
    relevant: RelevantPlugins


class EquivalenceClasses:
    """The equivalence classes of one profile's pods, on one cluster.

    Args:
        kept: the plugins whose answers are kept.
        signers: the same plugins; each has to sign a pod.
        others: all other plugins.
    """

    def __init__(self, kept: KeptPlugins, signers: Sequence[Signer], others: OtherPlugins) -> None:
        self._kept = kept
        self._of_spec = [one for one in signers if one.by_spec]
        self._of_pod = [one for one in signers if not one.by_spec]
        self._others = others
        self._classes: dict[Hashable, EquivalenceClass] = {}
        # Not held: a spec is as large as its author likes, and goes with its last pod.
        self._by_spec: WeakKeyDictionary[CompiledSpec, _Known] = WeakKeyDictionary()
        # How many bytes each of them keeps, the one used longest ago first.
        self._used: OrderedDict[EquivalenceClass, int] = OrderedDict()
        self._used_last: EquivalenceClass | None = None
        self._bytes = 0
        # The number of the last change of any object, and of one that matters here.
        self._changes = (-1, -1)

    def decide(self, cycle: Cycle, observer: Observer) -> Decision | None:
        """Find the best nodes; None if the decision has to be made in full.

        Raises:
            PluginError: a plugin failed.
        """
        if cycle.cluster.nominations.by_pod:
            return None
        known = self._known(cycle)
        found = self._class_of(known, cycle.pod) if self._of_pod else known.found
        if found is None:
            return None
        usable = found.catch_up(cycle)
        if found is not self._used_last or found.nbytes != self._used[found]:
            self._note_use(found, cycle.cluster.columns)
        if not usable:
            return None
        fits, feasible, filtering = found.possible or found.find_possible()
        left = len(feasible)
        if not left:
            return None
        cycle.skipped |= found.skipped
        # Nothing more is told before the decision stands: else it would be told twice.
        told = observer.each_step
        if told:
            observer.started(PRE_FILTER)
        pre_filters = self._others.pre_filters
        if pre_filters is not None and not pre_filters.leave_all(cycle, observer):
            return None
        filters, scores, skipped = known.relevant.of(cycle)
        if skipped:
            cycle.skipped |= skipped
        mask = narrowed(filters, cycle, fits) if filters else fits
        if mask is None:
            return None
        if mask is not fits:
            filtering = Filtering(mask)
            left = int(np.count_nonzero(mask))
            if not left:
                return None
        if told:
            observer.pre_filtered(None, None)
            observer.started(FILTER)
            observer.filtered(filtering)
        if left == 1:
            return Decision(cycle, filtering, filtering.feasible)  # nobody scores the only node
        if told:
            observer.started(SCORE)
        some = None if mask is fits else mask
        best = self._best(found, cycle, scores, some) if scores else found.best_of(cycle, some)
        if told:
            observer.scored(None)
        return Decision(cycle, filtering, best)

    def _best(
        self,
        found: EquivalenceClass,
        cycle: Cycle,
        scores: Sequence[AskedScore],
        mask: Mask | None,
    ) -> Best:
        """The rows of the best nodes among those in a mask; None for all that are feasible."""
        nodes = found.nodes(cycle, mask)
        pre_scores = self._others.pre_scores
        skipped = pre_scores.prepare(cycle, nodes, NOBODY) if pre_scores is not None else _NOBODY
        more = weighted(scores, cycle, nodes, skipped)
        return found.best_of(cycle, mask) if more is None else found.best_with(nodes, more)

    # -- which class

    def _known(self, cycle: Cycle) -> _Known:
        """What is known of pods with the pod's spec."""
        # To make a signature takes longer than the rest of the decision.
        changes = self._object_changes(cycle.cluster.catalog)
        spec = cycle.shape.spec
        known = self._by_spec.get(spec)
        if (
            known is None
            or known.changes != changes
            or (known.found is not None and not known.found.is_current)
        ):
            pod = cycle.pod
            # Pods of groups are rejected as such.
            grouped = pod.spec.scheduling_group is not None
            signature = None if grouped else _signature(self._of_spec, pod)
            found = self._class_with(signature) if not self._of_pod else None
            relevant = RelevantPlugins(self._others.asked)
            if len(self._by_spec) >= _SPECS_PER_CLASS * cycle.cluster.columns.bounds.classes:
                self._by_spec.clear()  # most of them belong to pods that have their node
            known = self._by_spec[spec] = _Known(changes, signature, found, relevant)
        return known

    def _object_changes(self, catalog: Catalog) -> int:
        """The number of the last change of an object that may make pods alike or not."""
        seen, changes = self._changes
        if seen != catalog.changes:
            changes = max(map(catalog.version, self._others.alike_by), default=0)
            self._changes = (catalog.changes, changes)
        return changes

    def _class_of(self, known: _Known, pod: Pod) -> EquivalenceClass | None:
        """The class of a pod that is signed itself as well; None if a plugin cannot sign it."""
        if known.signature is None:
            return None
        own = _signature(self._of_pod, pod)
        return self._class_with((known.signature, own)) if own is not None else None

    def _class_with(self, signature: Hashable | None) -> EquivalenceClass | None:
        if signature is None:
            return None
        found = self._classes.get(signature)
        return EquivalenceClass(signature, self._kept) if found is None else found

    # -- how much is kept

    def _note_use(self, found: EquivalenceClass, columns: Columns) -> None:
        used = self._used
        self._used_last = found
        before = used.get(found)
        if before is None:
            found.is_current = True
            self._classes[found.signature] = found
        if before != found.nbytes:
            used[found] = found.nbytes
            self._bytes += found.nbytes - (before or 0)
        used.move_to_end(found)
        if before != found.nbytes:
            bounds = columns.bounds
            most = bounds.class_bytes + len(columns) * bounds.class_bytes_per_node
            while len(used) > bounds.classes or (self._bytes > most and len(used) > 1):
                oldest, nbytes = used.popitem(last=False)
                self._bytes -= nbytes
                del self._classes[oldest.signature]
                oldest.is_current = False
                oldest.forget()


def _signature(signers: Sequence[Signer], pod: Pod) -> Hashable | None:
    """What plugins sign; None if one of them cannot sign the pod."""
    signatures = []
    for name, sign, by_spec in signers:
        try:
            signature = sign(pod)
            if signature is None:
                return None
            if not by_spec:
                legal_signature(signature)
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            blame(error, name, "sign", pod)
        signatures.append(signature)
    return tuple(signatures)
