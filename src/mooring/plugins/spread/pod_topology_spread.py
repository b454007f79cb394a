"""PodTopologySpread: pods spread evenly over zones, hosts or other domains.

The numbers of matching pods on each node are kept by the state; a decision sums them by domain.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence

import msgspec
import numpy as np

from mooring.framework import hook
from mooring.framework.arrays import Amounts, Floats, Mask
from mooring.framework.cycle import Cycle
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
from mooring.plugins.pod_keys import node_selection_key, tolerations_key
from mooring.plugins.score_arithmetic import MAX_SCORE
from mooring.plugins.spread.constraint_counts import (
    EligibleDomains,
    RequiredCounts,
    has_topology_labels,
    included_nodes,
    matching_counts,
)
from mooring.plugins.spread.constraints import (
    DO_NOT_SCHEDULE,
    HOSTNAME,
    SCHEDULE_ANYWAY,
    SYSTEM_DEFAULTS,
    DefaultSelectors,
    SpreadConstraint,
    own_constraints,
)
from mooring.plugins.spread.details import spread_details
from mooring.plugins.spread.natural_log import natural_log
from mooring.plugins.spread.remedies import topology_spread_remedies
from mooring.plugins.spread.requeue_hints import changes_domains, pod_counts_differently
from mooring.state.columns import LabelColumn
from mooring.state.counts import Counts
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

    __slots__ = ("ignored", "scores")

    def __init__(self, scores: Amounts, ignored: Mask | None) -> None:
        self.scores = scores
        self.ignored = ignored


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
):
    """Spreads pods evenly over hosts, zones or other parts of the topology."""

    name = "PodTopologySpread"
    reads = (ReplicaSet, ReplicationController, Service, StatefulSet)
    filter_scope = Scope.DOMAIN
    score_scope = Scope.DOMAIN
    Args = PodTopologySpreadArgs

    def __init__(self, args: PodTopologySpreadArgs, handle: Handle) -> None:
        self._system = args.defaulting_type != _LIST
        self._defaults = SYSTEM_DEFAULTS if self._system else tuple(args.default_constraints)
        self._default_actions = {one.when_unsatisfiable for one in self._defaults}
        self._cluster = handle.cluster
        self._selectors = DefaultSelectors(handle.cluster)

    # -- filter

    def pre_filter(self, cycle: Cycle) -> hook.PreFilterAnswer:
        """Count the matching pods of each domain."""
        constraints = self._constraints(cycle, DO_NOT_SCHEDULE)
        if not constraints:
            return hook.SKIP
        cycle.data[self.name] = [
            RequiredCounts(
                cycle, constraints[place], self._domains(cycle, constraints, place, strict=True)
            )
            for place in range(len(constraints))
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

        keys = tuple(one.topology_key for one in constraints)
        return columns.remember(
            (self.name, cycle.shape, constraint.policies, keys, place, strict),
            compute,
            *constraint.aspects,
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
        choice = np.zeros(len(nodes), np.uint8)
        required: list[RequiredCounts] = nodes.cycle.data[self.name]
        for one in reversed(required):  # the first constraint that rejects has the last word
            ids = nodes.take(one.ids)
            limit = one.constraint.max_skew + one.minimum - one.own
            choice[one.sums[ids] > limit] = 2
            choice[ids == 0] = 1
        return Verdicts(choice, _TABLE)

    # -- score

    def pre_score(self, cycle: Cycle, nodes: Nodes) -> hook.PreScoreAnswer:
        """Count the matching pods of each domain among the possible nodes."""
        constraints = self._constraints(cycle, SCHEDULE_ANYWAY)
        if not constraints:
            return hook.SKIP
        # Only the system's own defaults put up with nodes that lack one of the labels.
        strict = bool(cycle.pod.spec.topology_spread_constraints) or not self._system
        ignored: Mask | None = None
        if strict:
            labelled = nodes.take(has_topology_labels(cycle.cluster.columns, constraints))
            ignored = None if labelled.all() else ~labelled
        total = np.zeros(len(nodes))
        for place, constraint in enumerate(constraints):
            counts = matching_counts(cycle, constraint)
            if constraint.topology_key == HOSTNAME:
                size = len(nodes) - (int(ignored.sum()) if ignored is not None else 0)
                here = _on_node(nodes, counts)
            else:
                column = cycle.cluster.columns.labels(constraint.topology_key)
                size = _domains_shown(column, nodes, ignored)
                sums = self._domains(cycle, constraints, place, strict=strict).sums(counts)
                if (empty := column.place("")) > 0:
                    sums[empty] += sums[0]
                here = sums[nodes.take(column.ids)]
            total += _constraint_score(cycle, nodes, constraint, here, size)
        low = np.floor(total)
        scores = (low + (total - low >= 0.5)).astype(np.int64)
        if ignored is not None:
            scores[ignored] = 0
        cycle.data[self.name + "/score"] = _SpreadScores(scores, ignored)
        return None

    def score_nodes(self, pod: Pod, nodes: Nodes) -> Amounts:  # noqa: ARG002
        """The matching pods near each node, weighted by the size of the topology."""
        state: _SpreadScores = nodes.cycle.data[self.name + "/score"]
        return state.scores

    def normalize(self, cycle: Cycle, nodes: Nodes, scores: Amounts) -> Amounts:  # noqa: ARG002
        """The emptier a node's domains, the higher."""
        ignored = cycle.data[self.name + "/score"].ignored
        counted = scores if ignored is None else scores[~ignored]
        most = int(counted.max(initial=0))
        if most == 0:
            found = np.full(len(scores), MAX_SCORE, np.int64)
        else:
            found = MAX_SCORE * (most + int(counted.min()) - scores) // most
        if ignored is not None:
            found[ignored] = 0
        return found

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

    def _constraints(self, cycle: Cycle, action: str) -> tuple[SpreadConstraint, ...]:
        return self._constraints_of(cycle.pod, cycle.shape, action)

    def _constraints_of(self, pod: Pod, shape: Shape, action: str) -> tuple[SpreadConstraint, ...]:
        own = pod.spec.topology_spread_constraints
        if own:
            key = (self.name, action)
            known = shape.data.get(key)
            if known is None:
                known = shape.data[key] = own_constraints(own, shape.labels, action)
            return known  # type: ignore[return-value]
        if action not in self._default_actions:
            return ()
        selector = self._selectors.of(pod, shape.label_key)
        if selector is None:
            return ()
        return tuple(
            SpreadConstraint(one, selector)
            for one in self._defaults
            if one.when_unsatisfiable == action
        )


def _on_node(nodes: Nodes, counts: Counts | None) -> Amounts:
    """(n_nodes,) the matching pods on each node itself."""
    if counts is None:
        return np.zeros(len(nodes), np.int64)
    return nodes.take(counts).astype(np.int64)


def _domains_shown(column: LabelColumn, nodes: Nodes, ignored: Mask | None) -> int:
    """How many domains the possible nodes are in."""
    ids = nodes.take(column.ids)
    empty = column.place("")
    if empty > 0:
        # A node without the label is in the domain of the empty value.
        ids = np.where(ids == empty, 0, ids)
    shown = ids if ignored is None else ids[~ignored]
    return int(np.count_nonzero(np.bincount(shown, minlength=len(column.values))))


def _constraint_score(
    cycle: Cycle,
    nodes: Nodes,
    constraint: SpreadConstraint,
    here: np.typing.NDArray[np.integer],
    size: int,
) -> Floats:
    """(n_nodes,) what one constraint adds to the scores; nothing where the label is missing."""
    share: Floats = here * np.float64(natural_log(size + 2)) + float(constraint.max_skew - 1)
    share[nodes.take(cycle.cluster.columns.labels(constraint.topology_key).ids) == 0] = 0.0
    return share
