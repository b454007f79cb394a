"""The smallest changes that would make a pending pod fit, each proved by asking again.

A search for the cheapest combination of remedies: it starts at a few likely nodes, asks every
plugin about the node as the combination leaves it, and goes on with what the first one that objects
proposes (`hook.Remedies`), cheapest combination first. One that leaves no objection is a
suggestion. What a remedy costs is in `mooring.framework.remedies.remedy`.
"""

import heapq
import itertools
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from mooring.errors import PluginError
from mooring.explaining.alike_nodes import AlikeNodes, alike_nodes
from mooring.explaining.published_devices import PublishedDevices
from mooring.explaining.suggestion import Combination, Suggestion
from mooring.explaining.trial import Objection, Trial
from mooring.framework.arrays import Floats
from mooring.framework.decisions.decision import EXTENDER
from mooring.framework.decisions.record import Record
from mooring.framework.hook import Hook
from mooring.framework.remedies.remedy import MAX_REMEDIES, Cost, Remedy, RemedyCase
from mooring.framework.remedies.remedy_calls import remedy_questions
from mooring.model import changed_copies
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.quantity_texts import show
from mooring.model.resources import CPU, MEMORY, spec_requests
from mooring.wording import counted

#: So many suggestions are enough.
_ENOUGH: Final = 3
#: The search starts at so many nodes of a group that is alike, and of so many groups.
_PER_GROUP: Final = 2
_GROUPS: Final = 12
#: So many kinds of nodes are tried as a new node.
_NEW_NODES: Final = 8
#: Asking costs more on a large cluster, so fewer combinations are tried there.
_FEWEST_ASKED, _MOST_ASKED, _ASKED_NODES = 60, 400, 400_000


class SuggestionSearch:
    """Looks for what would help a pod.

    Args:
        trial: the pod on the cluster.

    Attributes:
        failed: plugins that could not say what would help; each is asked no more.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self.failed: list[PluginError] = []
        self._failed_plugins: list[Hook] = []
        #: Nodes that extenders reject; nobody can try whether a change would help there.
        self._rejected: frozenset[str] = frozenset()

    def suggestions(
        self, record: Record, node: str = "", groups: Sequence[AlikeNodes] | None = None
    ) -> list[Suggestion]:
        """The cheapest combinations of different kinds that work, cheapest first.

        Args:
            record: the decision that rejected the pod.
            node: look for what helps on this node only.
            groups: nodes about which plugins say the same, also in detail; None to go by verdicts.
        """
        if not record.nodes:
            return []
        self._rejected = _rejected_by_extenders(record)
        groups = alike_nodes(record) if groups is None else groups
        starts = [node] if node else [record.nodes[row] for row in self._starts(groups)]
        found = list(self._cheapest(starts, anywhere=not node))
        if not node:
            new = self.new_node()
            if new is not None:
                found.append(new)
        found.sort(key=lambda one: one.combination.cost)
        return found[:_ENOUGH]

    def _cheapest(self, starts: Sequence[str], *, anywhere: bool) -> Iterator[Suggestion]:
        order = itertools.count()
        heap = [(0.0, next(order), Combination(name)) for name in starts]
        nodes = len(self._trial.cluster.columns)
        asked = max(_FEWEST_ASKED, min(_MOST_ASKED, _ASKED_NODES // nodes))
        seen: list[frozenset[str]] = []
        while heap and asked and len(seen) < _ENOUGH:
            _, _, tried = heapq.heappop(heap)
            if any(kinds <= tried.kinds for kinds in seen):
                continue  # less is enough
            asked -= 1
            with self._trial.carry_out(tried) as pod:
                objections = self._trial.objections(pod, tried.node)
                fitting = self._fitting(tried, pod, objections, anywhere=anywhere)
                if fitting:
                    seen.append(tried.kinds)
                    yield Suggestion(tried, tuple(fitting))
                    continue
                if len(tried.remedies) == MAX_REMEDIES or not objections:
                    continue
                # Every combination that works has a remedy against the first objection.
                for remedy in self._remedies(pod, tried.node, objections[0]):
                    longer = tried.then(remedy)
                    heapq.heappush(heap, (longer.cost, next(order), longer))

    def _remedies(self, pod: Pod, node: str, objection: Objection) -> list[Remedy]:
        """What might help against an objection: what the plugin proposes whose it is."""
        plugin = self._trial.plugin(objection.plugin)
        if plugin is None:
            return []

        def accepts(changed: Pod) -> bool:
            objections = self._trial.objections(changed, node)
            return all(one.plugin != objection.plugin for one in objections)

        case = RemedyCase(
            pod,
            self._trial.node(node),
            objection.verdict,
            self._trial.cluster,
            accepts,
            objection.nominated,
        )
        found: list[Remedy] = []
        for question in remedy_questions(objection.plugin, plugin, case):
            if any(question.plugin is one for one in self._failed_plugins):
                continue
            try:
                found += question.ask()
            except PluginError as error:
                self.failed.append(error)
                self._failed_plugins.append(question.plugin)
        return found

    def _fitting(
        self, tried: Combination, pod: Pod, objections: Sequence[Objection], *, anywhere: bool
    ) -> list[str]:
        """The nodes on which the pod fits as a combination leaves it; none if it does not work."""
        if not objections:
            # Still none if a plugin fails on another node: the whole decision is given up then.
            found = self._fits(pod)
            return found if tried.node in found else []
        # What changes the pod alone, or adds nodes, may help on another node.
        elsewhere = all(one.pod is not None or one.added is not None for one in tried.remedies)
        if anywhere and tried.remedies and elsewhere:
            return self._fits(pod)
        return []

    def _fits(self, pod: Pod) -> list[str]:
        return [name for name in self._trial.fitting(pod) if name not in self._rejected]

    def _starts(self, groups: Sequence[AlikeNodes]) -> list[int]:
        """A few nodes of every group, those that lack least."""
        lacking = self._lacking()
        found: list[int] = []
        for group in groups[:_GROUPS]:
            order = group.rows[np.argsort(lacking[group.rows], kind="stable")]
            found.extend(order[:_PER_GROUP].tolist())
        return found

    def _lacking(self) -> Floats:
        """(n,) how much of the pod's requests is missing, as a part of them, summed up."""
        columns = self._trial.cluster.columns
        lacking = np.zeros(len(columns), np.float64)
        for name, amount in spec_requests(self._trial.pod).items():
            if amount > 0:
                missing = amount - (columns.allocatable(name) - columns.used(name))
                lacking += np.maximum(missing, 0) / amount
        return lacking

    def new_node(self) -> Suggestion | None:
        """One more node like one that is there, the smallest on which the pod fits."""
        devices = PublishedDevices(self._trial.cluster.catalog)
        for node in self._kinds_of_nodes(devices):
            name = f"{node.name}-new"
            while name in self._trial.cluster.nodes:
                name += "-new"
            amounts = [
                f"{show(resource, node.allocatable[resource])} {resource}"
                for resource in (CPU, MEMORY, *self._other_resources())
                if resource not in devices.resources or node.allocatable[resource]
            ]
            if devices.count(node.name):
                amounts.append(counted(devices.count(node.name), "device"))
            size = " and ".join((", ".join(amounts[:-1]), amounts[-1]))
            remedy = Remedy(
                f"add one more node like {node.name} ({size})",
                Cost.ADD_NODE,
                frozenset({"node"}),
                added=changed_copies.like(node, name),
                created=devices.like(node.name, name),
            )
            tried = Combination(name, (remedy,))
            with self._trial.carry_out(tried) as pod:
                fitting = self._fits(pod)
                if name in fitting:
                    return Suggestion(tried, tuple(fitting))
        return None

    def _other_resources(self) -> list[str]:
        """What the pod requests besides CPU and memory."""
        asked = spec_requests(self._trial.pod)
        return sorted(name for name in asked if name not in (CPU, MEMORY) and asked[name] > 0)

    def _kinds_of_nodes(self, devices: PublishedDevices) -> list[Node]:
        """One node of each kind that is large enough, the smallest first."""
        requests = spec_requests(self._trial.pod)
        amounts = [(name, one) for name, one in requests.items() if name not in devices.resources]
        keys = _required_labels(self._trial.pod)
        kinds: dict[object, Node] = {}
        for node in self._trial.cluster.columns.nodes:
            if node.name in self._rejected:
                continue
            if all(node.allocatable[name] >= amount for name, amount in amounts):
                labels = tuple(node.labels.get(key) for key in keys)
                size = frozenset(node.allocatable.items())
                kind = (size, tuple(node.taints), labels, devices.kind(node.name))
                kinds.setdefault(kind, node)
        smallest = sorted(
            kinds.values(), key=lambda one: (one.allocatable[CPU], one.allocatable[MEMORY])
        )
        return smallest[:_NEW_NODES]


def _rejected_by_extenders(record: Record) -> frozenset[str]:
    said = ((name, record.rejection(row)) for row, name in enumerate(record.nodes))
    return frozenset(name for name, one in said if one is not None and one.plugin == EXTENDER)


def _required_labels(pod: Pod) -> list[str]:
    """The labels of nodes on which it depends whether the pod may go there."""
    affinity = pod.spec.affinity
    own = affinity.node_affinity if affinity is not None else None
    required = own.required_during_scheduling_ignored_during_execution if own is not None else None
    terms = (required.node_selector_terms or ()) if required is not None else ()
    conditions = (one.key for term in terms for one in term.match_expressions or ())
    spread = (one.topology_key for one in pod.spec.topology_spread_constraints or ())
    return sorted({*pod.node_selector, *conditions, *spread})
