"""PodTopologySpread: pods spread evenly over zones, hosts or other domains.

The numbers of matching pods on each node are kept by the state; a decision sums them by domain.
"""

import functools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple, cast

import msgspec
import numpy as np

from mooring.framework import hook
from mooring.framework.arrays import Amounts, Choice, Floats, Mask
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.quick_answers import (
    QuickFilter,
    QuickMask,
    QuickScore,
    QuickScores,
)
from mooring.framework.details.rejected_nodes import RejectedNodes
from mooring.framework.handle import Handle
from mooring.framework.nodes import Nodes
from mooring.framework.remedies.remedy import Remedy, RemedyCase
from mooring.framework.scope import Scope
from mooring.framework.verdict import ACCEPT, Verdicts, reject
from mooring.model.label_syntax import is_label_key
from mooring.model.node import Node
from mooring.model.pod import Pod, TopologySpreadConstraint
from mooring.model.workloads import ReplicaSet, ReplicationController, Service, StatefulSet
from mooring.plugins.domain_sums import DomainSums, KeptByLabels
from mooring.plugins.pod_keys import node_selection_key, tolerations_key
from mooring.plugins.score_arithmetic import MAX_SCORE
from mooring.plugins.spread.constraint_counts import (
    EligibleDomains,
    RequiredCounts,
    ShownDomains,
    every_node_has_labels,
    has_topology_labels,
    included_nodes,
    spread_pods,
)
from mooring.plugins.spread.constraints import (
    DO_NOT_SCHEDULE,
    HOSTNAME,
    SCHEDULE_ANYWAY,
    SYSTEM_DEFAULTS,
    DefaultConstraints,
    OwnConstraints,
    SpreadConstraint,
    own_constraints,
)
from mooring.plugins.spread.details import spread_details
from mooring.plugins.spread.remedies import topology_spread_remedies
from mooring.plugins.spread.requeue_hints import changes_domains, pod_counts_differently
from mooring.plugins.spread.score_parts import ScorePart, rounded_sum
from mooring.plugins.spread.standing_constraints import (
    StandingConstraints,
    domain_values,
    weighted,
)
from mooring.state.aspects import Aspect
from mooring.state.shapes import Shape

_SYSTEM = "System"
_LIST = "List"
_MAX_INT32 = 2**31 - 1

_MISSING = reject(
    "node(s) didn't match pod topology spread constraints (missing required label)",
    unresolvable=True,
)
_SKEWED = reject("node(s) didn't match pod topology spread constraints")
_TABLE = (ACCEPT, _MISSING, _SKEWED)


class PodTopologySpreadArgs(
    msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True
):
    """Arguments of PodTopologySpread."""

    #: Constraints for pods that bring none; only with `List`.
    default_constraints: list[TopologySpreadConstraint] = []
    #: ``System``: spread over hosts (skew 3) and zones (skew 5) if possible; ``List``: as given.
    defaulting_type: str = _SYSTEM

    def check(self) -> Iterable[tuple[str, str]]:
        """What Kubernetes would reject."""
        if self.defaulting_type not in ("", _SYSTEM, _LIST):
            yield "defaultingType", f"{self.defaulting_type!r} is not supported: use System or List"
        elif self.defaulting_type != _LIST and self.default_constraints:
            yield "defaultingType", "System takes no defaultConstraints: use List"
        seen: set[tuple[str, str]] = set()
        for index, one in enumerate(self.default_constraints):
            path = f"defaultConstraints[{index}]"
            if not 0 < one.max_skew <= _MAX_INT32:
                yield f"{path}.maxSkew", f"{one.max_skew} is out of range: must be at least 1"
            if not is_label_key(one.topology_key):
                yield f"{path}.topologyKey", f"{one.topology_key!r} is not a valid label key"
            if one.when_unsatisfiable not in (DO_NOT_SCHEDULE, SCHEDULE_ANYWAY):
                yield (
                    f"{path}.whenUnsatisfiable",
                    (
                        f"{one.when_unsatisfiable!r} is not supported: use DoNotSchedule or "
                        "ScheduleAnyway"
                    ),
                )
            if one.label_selector is not None:
                yield f"{path}.labelSelector", "must not be set: it is derived from each pod"
            pair = (one.topology_key, one.when_unsatisfiable)
            if pair in seen:
                yield path, f"repeats {pair[0]} with {pair[1]}: keep one"
            seen.add(pair)


class _SpreadScores:
    """The raw scores of the possible nodes, and which of them are left out."""

    __slots__ = ("ignored", "raw")

    def __init__(self, scores: Amounts, ignored: Mask | None) -> None:
        self.raw = scores
        self.ignored = ignored


class _Asked(NamedTuple):
    """The constraints of one action that pods have.

    Attributes:
        constraints: the constraints.
        strict: whether nodes that lack one of the labels are left out.
        itself: of each required constraint, whether such a pod is one of those to be spread.
        key: equal for pods to which the same nodes and pods count.
    """

    constraints: tuple[SpreadConstraint, ...]
    strict: bool
    itself: tuple[bool, ...]
    key: Hashable


class PodTopologySpread(
    hook.WhatIf,
    hook.FilterNodes,
    hook.PreScore,
    hook.ScoreNodes,
    hook.Normalize,
    hook.Requeues,
    hook.Details,
    hook.Remedies,
    hook.Sign,
    QuickFilter,
    QuickScore,
):
    """Spreads pods evenly over hosts, zones or other parts of the topology."""

    name = "PodTopologySpread"
    reads = (ReplicaSet, ReplicationController, Service, StatefulSet)
    filter_scope = Scope.DOMAIN
    score_scope = Scope.DOMAIN
    Args = PodTopologySpreadArgs

    def __init__(self, args: PodTopologySpreadArgs, handle: Handle) -> None:
        self._system = args.defaulting_type != _LIST
        defaults = SYSTEM_DEFAULTS if self._system else tuple(args.default_constraints)
        self._cluster = handle.cluster
        self._defaults = DefaultConstraints(handle.cluster, defaults)
        self._sums: KeptByLabels[DomainSums] = KeptByLabels()
        self._standing: KeptByLabels[StandingConstraints] = KeptByLabels(Aspect.TAINTS)
        self._shown = ShownDomains()
        self._score_key = self.name + "/score"

    # -- filter

    def pre_filter(self, cycle: Cycle) -> hook.PreFilterAnswer:
        """Count the matching pods of each domain."""
        constraints = self._constraints_of(cycle.pod, cycle.shape, DO_NOT_SCHEDULE)
        if not constraints:
            return hook.SKIP
        cycle.data[self.name] = [
            RequiredCounts(
                cycle,
                constraint,
                self._domains(cycle, constraints, place, strict=True),
                self._sums,
            )
            for place, constraint in enumerate(constraints)
        ]
        return None

    def _domains(
        self, cycle: Cycle, constraints: tuple[SpreadConstraint, ...], place: int, *, strict: bool
    ) -> EligibleDomains:
        """The domains of one constraint; strictly, only nodes with the labels of all count."""
        columns = cycle.cluster.columns
        constraint = constraints[place]

        def compute() -> EligibleDomains:
            eligible = included_nodes(cycle, constraint)
            if strict:
                eligible = eligible & has_topology_labels(columns, constraints)
            return EligibleDomains(columns, constraint, eligible)

        keys = tuple([one.topology_key for one in constraints])
        pod, shape = cycle.pod, cycle.shape
        selection = node_selection_key(pod, shape) if constraint.honors_affinity else None
        tolerations = tolerations_key(pod, shape) if constraint.honors_taints else None
        return columns.remember(
            (self.name, selection, tolerations, keys, place, strict), compute, *constraint.aspects
        )

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Count another pod."""
        self._change(cycle, pod, row, 1)

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Count a pod no more."""
        self._change(cycle, pod, row, -1)

    def _change(self, cycle: Cycle, pod: Pod, row: int, count: int) -> None:
        # parity v1.36.4: podtopologyspread/filtering.go updateWithPod: a terminating pod, which
        # was never counted, is taken off as well.
        if pod.namespace == cycle.pod.namespace:
            required: list[RequiredCounts] = cycle.data[self.name]
            for one in required:
                if one.constraint.matches(pod.labels):
                    one.change(row, count)

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts | None:  # noqa: ARG002
        """Reject nodes in domains that have too many matching pods already."""
        choice: Choice | None = None
        required: list[RequiredCounts] = nodes.cycle.data[self.name]
        for one in reversed(required):  # the first constraint that rejects has the last word
            by_domain = (one.sums > one.limit).view(np.uint8) * np.uint8(2)
            by_domain[0] = 1  # the node has no such label
            if not (by_domain[1:] if one.is_complete else by_domain).any():
                continue
            said = by_domain.take(nodes.take(one.ids))
            choice = said if choice is None else np.where(said, said, choice)
        return Verdicts(choice, _TABLE) if choice is not None else None

    # -- score

    def pre_score(self, cycle: Cycle, nodes: Nodes) -> hook.PreScoreAnswer:
        """Count the matching pods of each domain among the possible nodes."""
        constraints = self._constraints_of(cycle.pod, cycle.shape, SCHEDULE_ANYWAY)
        if not constraints:
            return hook.SKIP
        strict = self._is_strict(cycle.pod)
        columns = cycle.cluster.columns
        ignored: Mask | None = None
        if strict and not every_node_has_labels(columns, constraints):
            labelled = nodes.take(has_topology_labels(columns, constraints))
            ignored = None if labelled.all() else ~labelled
        by_domain = {
            place: self._by_domain(cycle, nodes, constraints, place, ignored, strict=strict)
            for place, constraint in enumerate(constraints)
            if constraint.topology_key != HOSTNAME
        }
        parts = [
            ScorePart(by_domain[place], nodes.take(columns.labels(one.topology_key).ids))
            if place in by_domain
            else _host_part(cycle, nodes, one, ignored)
            for place, one in enumerate(constraints)
        ]
        scores = rounded_sum(parts)
        if ignored is not None:
            scores[ignored] = 0
        cycle.data[self._score_key] = _SpreadScores(scores, ignored)
        return None

    def _is_strict(self, pod: Pod) -> bool:
        """Whether nodes that lack one of the labels are left out."""
        # Only the system's own defaults put up with them.
        return bool(pod.spec.topology_spread_constraints) or not self._system

    def _by_domain(
        self,
        cycle: Cycle,
        nodes: Nodes,
        constraints: tuple[SpreadConstraint, ...],
        place: int,
        ignored: Mask | None,
        *,
        strict: bool,
    ) -> Floats:
        """(n_values,) what a constraint adds to the scores of each domain's nodes."""
        constraint = constraints[place]
        column = cycle.cluster.columns.labels(constraint.topology_key)
        size = self._shown.count(column, nodes, ignored)
        domains = self._domains(cycle, constraints, place, strict=strict)
        sums = domains.sums(self._sums, cycle, constraint).sums
        return domain_values(sums, column, constraint, size)

    def score_nodes(self, pod: Pod, nodes: Nodes) -> Amounts:  # noqa: ARG002
        """The matching pods near each node, weighted by the size of the topology."""
        state: _SpreadScores = nodes.cycle.data[self._score_key]
        return state.raw

    def normalize(self, cycle: Cycle, nodes: Nodes, scores: Amounts) -> Amounts:  # noqa: ARG002
        """The emptier a node's domains, the higher."""
        state: _SpreadScores = cycle.data[self._score_key]
        ignored = state.ignored
        counted = scores if ignored is None else scores[~ignored]
        most = int(counted.max(initial=0))
        if most == 0:
            found = np.full(len(scores), MAX_SCORE, np.int64)
        else:
            best = most + int(counted.min())
            if most < len(scores):  # many nodes have the same score
                found = (MAX_SCORE * (best - np.arange(most + 1)) // most).take(scores)
            else:
                found = MAX_SCORE * (best - scores) // most
        if ignored is not None:
            found[ignored] = 0
        return found

    # -- at once

    def accepted(self, cycle: Cycle, possible: Mask) -> Mask:
        """The nodes that the filter leaves."""
        ask = self.accepted_alike(cycle)
        return possible if ask is None else ask(cycle, possible)

    def accepted_alike(self, cycle: Cycle) -> QuickMask | None:
        """Asks about all pods with these constraints."""
        asked = self._asked(cycle, DO_NOT_SCHEDULE)
        return None if asked is None else functools.partial(self._accepted, asked)

    def _accepted(self, asked: _Asked, cycle: Cycle, possible: Mask) -> Mask:
        standing = self._standing_of(cycle, asked)
        for one, itself in zip(standing.each, asked.itself, strict=True):
            possible = one.accepted(cycle, possible, itself=itself)
        return possible

    def quick_scores(self, cycle: Cycle, nodes: Nodes, weight: int) -> Amounts | None:
        """The normalized scores, from a small table if that is possible."""
        ask = self.quick_scores_alike(cycle)
        return None if ask is None else ask(cycle, nodes, weight)

    def quick_scores_alike(self, cycle: Cycle) -> QuickScores | None:
        """Asks about all pods with these constraints."""
        asked = self._asked(cycle, SCHEDULE_ANYWAY)
        return None if asked is None else functools.partial(self._quick_scores, asked)

    def _quick_scores(
        self, asked: _Asked, cycle: Cycle, nodes: Nodes, weight: int
    ) -> Amounts | None:
        standing = self._standing_of(cycle, asked)
        places = standing.places(cycle.cluster)
        if places is not None:
            return standing.scores(cycle, nodes, places, weight)
        self.pre_score(cycle, nodes)
        return self.normalize(cycle, nodes, self.score_nodes(cycle.pod, nodes)) * weight

    def _asked(self, cycle: Cycle, action: str) -> _Asked | None:
        """The constraints of one action that a pod has; None if it has none."""
        pod, shape = cycle.pod, cycle.shape
        constraints = self._constraints_of(pod, shape, action)
        if not constraints:
            return None
        required = action == DO_NOT_SCHEDULE
        strict = required or self._is_strict(pod)
        key = (constraints, node_selection_key(pod, shape), tolerations_key(pod, shape), strict)
        itself = tuple([one.matches(shape.labels) for one in constraints]) if required else ()
        return _Asked(constraints, strict, itself, key)

    def _standing_of(self, cycle: Cycle, asked: _Asked) -> StandingConstraints:
        """What is kept for pods that have constraints."""
        columns = cycle.cluster.columns

        def make() -> StandingConstraints:
            constraints, strict, _, _ = asked
            domains = [
                self._domains(cycle, constraints, place, strict=strict)
                for place in range(len(constraints))
            ]
            sums = [
                one.sums(self._sums, cycle, constraint)
                for one, constraint in zip(domains, constraints, strict=True)
            ]
            return StandingConstraints(cycle, constraints, domains, sums, strict=strict)

        return self._standing.get(columns, asked.key, make)

    # -- what helps

    def requeue_on(self) -> Sequence[hook.RequeueHint]:
        """Pods that are counted otherwise, and nodes that join, leave or change domains."""
        action = hook.Action
        of_pods = (
            action.ADD | action.UPDATE_POD_LABEL | action.UPDATE_POD_TOLERATION | action.DELETE
        )
        of_nodes = action.ADD | action.DELETE | action.UPDATE_NODE_LABEL | action.UPDATE_NODE_TAINT
        return (
            hook.RequeueHint(Pod, of_pods, self._pod_change_helps),
            hook.RequeueHint(Node, of_nodes, self._node_change_helps),
        )

    def details(self, rejected: RejectedNodes) -> list[str]:
        """The constraint, and how many pods there are in which domain."""
        return spread_details(rejected, rejected.nodes.cycle.data[self.name])

    def remedies(self, case: RemedyCase) -> Iterator[Remedy]:
        """Allow more skew, make a constraint a wish, or label the node."""
        return topology_spread_remedies(case)

    def _pod_change_helps(self, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
        constraints = self._constraints_of(pod, self._cluster.shape_of(pod), DO_NOT_SCHEDULE)
        return pod_counts_differently(pod, old, new, constraints)

    def _node_change_helps(self, pod: Pod, old: Node | None, new: Node | None) -> bool:
        constraints = self._constraints_of(pod, self._cluster.shape_of(pod), DO_NOT_SCHEDULE)
        return changes_domains(old, new, constraints)

    # -- who is alike

    def sign(self, pod: Pod) -> Hashable:
        """The constraints with their selectors, and what of the pod they take into account."""
        shape = self._cluster.shape_of(pod)
        required = self._constraints_of(pod, shape, DO_NOT_SCHEDULE)
        preferred = self._constraints_of(pod, shape, SCHEDULE_ANYWAY)
        every = (*required, *preferred)
        if not every:
            return ()
        return (
            pod.namespace,
            tuple((one.signature, one.matches(shape.labels)) for one in required),
            tuple(one.signature for one in preferred),
            bool(pod.spec.topology_spread_constraints),
            node_selection_key(pod, shape) if any(one.honors_affinity for one in every) else None,
            tolerations_key(pod, shape) if any(one.honors_taints for one in every) else None,
        )

    # -- constraints

    def _constraints_of(self, pod: Pod, shape: Shape, action: str) -> tuple[SpreadConstraint, ...]:
        own = pod.spec.topology_spread_constraints
        if own:
            key = (self.name, action)
            known = cast("OwnConstraints | None", shape.data.get(key))
            if known is None or known.labels is not shape.labels:
                known = shape.data[key] = own_constraints(own, shape.labels, action, known)
            return known.constraints
        return self._defaults.of(pod, shape.label_key, action)


def _host_part(
    cycle: Cycle, nodes: Nodes, constraint: SpreadConstraint, ignored: Mask | None
) -> ScorePart:
    """What a constraint over hosts adds to the scores: matching pods are counted on each node."""
    cluster, columns = cycle.cluster, cycle.cluster.columns
    size = len(nodes) - (int(ignored.sum()) if ignored is not None else 0)
    pods = spread_pods(cycle.shape.namespace, constraint)
    table = columns.table
    counts = table.zeros(np.int32) if pods is None else pods.counted(cluster).array(table)
    places = nodes.take(counts).astype(np.intp)
    values = weighted(np.arange(int(places.max(initial=0)) + 2), constraint.max_skew, size)
    values[-1] = 0.0  # the node has no such label
    if not every_node_has_labels(columns, (constraint,)):
        places[nodes.take(columns.labels(constraint.topology_key).ids) == 0] = len(values) - 1
    return ScorePart(values, places)
