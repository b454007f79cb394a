"""Deciding about a pod from what is kept for those that are alike.

The same decision as that of `decision_cycle`, at a fraction of its cost: answers of plugins that
declare what they depend on (`hook.Sign` and a `Scope` of nodes or rows) are kept, and all other
plugins are asked about the nodes that are left. Whatever is unusual ends it, and the decision is
made in full: a pod that a plugin cannot sign, pods nominated to nodes, a pre-filter plugin that
rejects or narrows, a filter that fails, and a pod that fits nowhere, as that needs all reasons.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from mooring.framework.arrays import Amounts, Mask, Rows
from mooring.framework.binding_hooks import blame
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.decision import Best, Decision
from mooring.framework.decisions.equivalence_class import NOWHERE, EquivalenceClass, KeptPlugins
from mooring.framework.decisions.filter_walk import FilterWalk
from mooring.framework.decisions.observer import FILTER, PRE_FILTER, SCORE, Observer
from mooring.framework.decisions.score_walk import ScoreWalk
from mooring.framework.filtering import Filtering
from mooring.framework.hook_answers import legal_signature
from mooring.model.pod import Pod
from mooring.state.columns import Columns
from mooring.state.compiled_spec import CompiledSpec


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
        changes: how often an object had changed then.
        signature: what plugins sign for all of them; None if one cannot sign them.
        found: their class, if that is all that is signed.
    """

    changes: int
    signature: Hashable | None
    found: EquivalenceClass | None


class EquivalenceClasses:
    """The equivalence classes of one profile's pods, on one cluster.

    Args:
        kept: the plugins whose answers are kept.
        signers: the same plugins; each has to sign a pod.
        filters: asks all other pre-filter plugins and filters.
        scores: asks all other scores.
    """

    def __init__(
        self,
        kept: KeptPlugins,
        signers: Sequence[Signer],
        filters: FilterWalk,
        scores: ScoreWalk,
    ) -> None:
        self._kept = kept
        self._of_spec = [one for one in signers if one.by_spec]
        self._of_pod = [one for one in signers if not one.by_spec]
        self._filters = filters
        self._scores = scores
        self._classes: dict[Hashable, EquivalenceClass] = {}
        # Not held: a spec is as large as its author likes, and goes with its last pod.
        self._by_spec: WeakKeyDictionary[CompiledSpec, _Known] = WeakKeyDictionary()
        # How many bytes each of them keeps, the one used longest ago first.
        self._used: OrderedDict[EquivalenceClass, int] = OrderedDict()
        self._bytes = 0

    def decide(self, cycle: Cycle, observer: Observer) -> Decision | None:
        """Find the best nodes; None if the decision has to be made in full.

        Raises:
            PluginError: a plugin failed.
        """
        if cycle.cluster.nominations:
            return None
        found = self._class_of(cycle)
        if found is None:
            return None
        usable = not found.is_first() and found.catch_up(cycle)
        self._note_use(found, cycle.cluster.columns)
        if not usable:
            return None
        if not len(found.feasible):
            return None
        cycle.skipped |= found.skipped
        # Nothing more is told before the decision stands: else it would be told twice.
        observer.started(PRE_FILTER)
        if not self._filters.prepare(cycle, observer):
            return None
        fits = found.feasible_mask
        mask = self._filters.narrow(cycle, fits)
        if mask is None:
            return None
        if mask is fits:
            mask = None
            filtering, left = found.filtering, len(found.feasible)
        else:
            filtering = Filtering(mask)
            left = int(np.count_nonzero(mask))
            if not left:
                return None
        observer.pre_filtered(None, None)
        observer.started(FILTER)
        observer.filtered(filtering)
        if left == 1:
            return Decision(cycle, filtering, filtering.feasible)  # nobody scores the only node
        observer.started(SCORE)
        best = self._best(found, cycle, mask)
        observer.scored(None)
        return Decision(cycle, filtering, best)

    def _best(self, found: EquivalenceClass, cycle: Cycle, mask: Mask | None) -> Best:
        """The rows of the best nodes among those in a mask; None for all that are feasible."""
        nodes = cycle.nodes
        if mask is not None:
            nodes = nodes.masked(mask)
        elif len(found.feasible) < len(found.total):
            nodes = nodes.subset(found.feasible)
        more = self._scores.weighted(cycle, nodes)
        if more is None and found.by_total:
            if mask is None:
                return found.best
            total = found.total
            best: Rows = ((total == np.maximum.reduce(total)) & mask).nonzero()[0]
            # The best of all are the best of some if these have any of them.
            return best if len(best) else _highest(np.where(mask, total, NOWHERE))
        totals = found.totals(nodes)
        if more is not None:
            totals = totals + more
        places = _highest(totals)
        rows = nodes.rows
        return places if rows is None else rows.take(places)

    # -- which class

    def _class_of(self, cycle: Cycle) -> EquivalenceClass | None:
        """The pod's class; None if a plugin cannot sign the pod."""
        # To make a signature takes longer than the rest of the decision.
        changes = cycle.cluster.catalog.changes
        known = self._by_spec.get(cycle.shape.spec)
        if (
            known is None
            or known.changes != changes
            or (known.found and not known.found.is_current)
        ):
            signature = _signature(self._of_spec, cycle.pod)
            found = self._class_with(signature) if not self._of_pod else None
            known = self._by_spec[cycle.shape.spec] = _Known(changes, signature, found)
        if not self._of_pod or known.signature is None:
            return known.found
        own = _signature(self._of_pod, cycle.pod)
        return self._class_with((known.signature, own)) if own is not None else None

    def _class_with(self, signature: Hashable | None) -> EquivalenceClass | None:
        if signature is None:
            return None
        found = self._classes.get(signature)
        return EquivalenceClass(signature, self._kept) if found is None else found

    # -- how much is kept

    def _note_use(self, found: EquivalenceClass, columns: Columns) -> None:
        used = self._used
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


def _highest(totals: Amounts) -> Rows:
    """Where the highest total is."""
    places: Rows = (totals == np.maximum.reduce(totals)).nonzero()[0]
    return places
