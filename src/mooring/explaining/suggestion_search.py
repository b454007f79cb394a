"""The smallest changes that would make a pending pod fit, each proved by asking again.

A search for the cheapest plan: it starts at a few likely nodes, asks every plugin about the node
as the plan leaves it, and goes on with the remedies against the first objection, cheapest plan
first. A plan that leaves no objection is a suggestion. What a remedy costs is in
`mooring.explaining.remedy`.
"""

import heapq
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from mooring.explaining import edits
from mooring.explaining import remedy as costs
from mooring.explaining.alike_nodes import alike_nodes
from mooring.explaining.node_remedies import required_labels
from mooring.explaining.plugin_remedies import RemedyCase, remedies
from mooring.explaining.quantity_texts import show
from mooring.explaining.remedy import MAX_REMEDIES, Remedy, RemedyPlan, Suggestion
from mooring.explaining.trial import Objection, Trial
from mooring.framework.arrays import Floats
from mooring.framework.record import Record
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.resources import CPU, MEMORY, spec_requests

#: So many suggestions are enough.
_ENOUGH: Final = 3
#: The search starts at so many nodes of a group that has the same verdicts, and of so many groups.
_PER_GROUP: Final = 2
_GROUPS: Final = 12
#: So many kinds of nodes are tried as a new node.
_NEW_NODES: Final = 8
#: Asking costs more on a large cluster, so fewer plans are tried there.
_FEWEST_ASKED, _MOST_ASKED, _ASKED_NODES = 60, 400, 400_000


class SuggestionSearch:
    """Looks for what would help a pod.

    Args:
        trial: the pod on the cluster.
        profiles: the scheduler names that have a profile.
    """

    def __init__(self, trial: Trial, profiles: Iterable[str] = ()) -> None:
        self._trial = trial
        self._profiles = tuple(profiles)

    def suggestions(self, record: Record, node: str = "") -> list[Suggestion]:
        """The cheapest plans of different kinds that work, cheapest first.

        Args:
            record: the decision that rejected the pod.
            node: look for plans for this node only.
        """
        if not record.nodes:
            return []
        starts = [node] if node else [record.nodes[row] for row in self._starts(record)]
        found = list(self._cheapest(starts, anywhere=not node))
        if not node:
            new = self._new_node()
            if new is not None:
                found.append(new)
        found.sort(key=lambda one: one.plan.cost)
        return found[:_ENOUGH]

    def _cheapest(self, starts: Sequence[str], *, anywhere: bool) -> Iterator[Suggestion]:
        order = itertools.count()
        heap = [(0.0, next(order), RemedyPlan(name)) for name in starts]
        nodes = len(self._trial.cluster.columns)
        asked = max(_FEWEST_ASKED, min(_MOST_ASKED, _ASKED_NODES // nodes))
        seen: list[frozenset[str]] = []
        while heap and asked and len(seen) < _ENOUGH:
            _, _, plan = heapq.heappop(heap)
            if any(kinds <= plan.kinds for kinds in seen):
                continue  # less is enough
            asked -= 1
            with self._trial.carry_out(plan) as pod:
                objections = self._trial.objections(pod, plan.node)
                fitting = self._fitting(plan, pod, objections, anywhere=anywhere)
                if fitting:
                    seen.append(plan.kinds)
                    yield Suggestion(plan, tuple(fitting))
                    continue
                if len(plan.remedies) == MAX_REMEDIES or not objections:
                    continue
                # Every plan that works has a remedy against the first objection.
                case = RemedyCase(self._trial, pod, self._trial.node(plan.node), objections[0])
                for remedy in list(remedies(case, self._profiles)):
                    longer = plan.then(remedy)
                    heapq.heappush(heap, (longer.cost, next(order), longer))

    def _fitting(
        self, plan: RemedyPlan, pod: Pod, objections: Sequence[Objection], *, anywhere: bool
    ) -> list[str]:
        """The nodes on which the pod fits as the plan leaves it; none if the plan does not work."""
        if not objections:
            # Still none if a plugin fails on another node: the whole decision is given up then.
            found = self._trial.fitting(pod)
            return found if plan.node in found else []
        # A plan that changes the pod alone may help on another node.
        if anywhere and plan.remedies and all(one.pod is not None for one in plan.remedies):
            return self._trial.fitting(pod)
        return []

    def _starts(self, record: Record) -> list[int]:
        """A few nodes of every group with the same verdicts, those that lack least."""
        lacking = self._lacking()
        found: list[int] = []
        for group in alike_nodes(record)[:_GROUPS]:
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

    def _new_node(self) -> Suggestion | None:
        for node in self._kinds_of_nodes():
            name = f"{node.name}-new"
            while name in self._trial.cluster.nodes:
                name += "-new"
            amounts = " and ".join(
                f"{show(resource, node.allocatable[resource])} {resource}"
                for resource in (CPU, MEMORY)
            )
            remedy = Remedy(
                f"add one more node like {node.name} ({amounts})",
                costs.ADD_NODE,
                frozenset({"node"}),
                added=edits.like(node, name),
            )
            plan = RemedyPlan(name, (remedy,))
            with self._trial.carry_out(plan) as pod:
                fitting = self._trial.fitting(pod)
                if name in fitting:
                    return Suggestion(plan, tuple(fitting))
        return None

    def _kinds_of_nodes(self) -> list[Node]:
        """One node of each kind that is large enough, the smallest first."""
        requests = spec_requests(self._trial.pod)
        keys = required_labels(self._trial.pod)
        kinds: dict[object, Node] = {}
        for node in self._trial.cluster.columns.nodes:
            if all(node.allocatable[name] >= amount for name, amount in requests.items()):
                labels = tuple(node.labels.get(key) for key in keys)
                kind = (frozenset(node.allocatable.items()), tuple(node.taints), labels)
                kinds.setdefault(kind, node)
        smallest = sorted(
            kinds.values(), key=lambda one: (one.allocatable[CPU], one.allocatable[MEMORY])
        )
        return smallest[:_NEW_NODES]
