"""PodTopologySpread: pods spread evenly over zones, hosts or other domains.

The numbers of matching pods on each node are kept by the state; a decision sums them by domain.
"""

from collections.abc import Iterable

import msgspec
import numpy as np

from mooring.framework import hook
from mooring.framework.arrays import Amounts, Floats, Mask, Rows
from mooring.framework.cycle import Cycle
from mooring.framework.handle import Handle
from mooring.framework.nodes import Nodes
from mooring.framework.verdict import ACCEPT, Verdicts, reject
from mooring.model.pod import Pod, TopologySpreadConstraint
from mooring.plugins.domains import affinity_mask, tolerated_mask
from mooring.plugins.natural_log import natural_log
from mooring.plugins.scores import MAX_SCORE
from mooring.plugins.spread_constraints import (
    DO_NOT_SCHEDULE,
    HOSTNAME,
    SCHEDULE_ANYWAY,
    SYSTEM_DEFAULTS,
    Constraint,
    DefaultSelectors,
    own_constraints,
)
from mooring.state.columns import Columns
from mooring.state.counts import Counts, Group

_SYSTEM = "System"
_LIST = "List"
#: The minimum of no domains at all, which no count can exceed.
_NO_MINIMUM = 2**31 - 1

_MISSING = reject(
    "node(s) didn't match pod topology spread constraints (missing required label)",
    unresolvable=True,
)
_SKEWED = reject("node(s) didn't match pod topology spread constraints")
_TABLE = (ACCEPT, _MISSING, _SKEWED)


class PodTopologySpreadArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Arguments of PodTopologySpread."""

    #: Constraints for pods that bring none; only with `List`.
    default_constraints: list[TopologySpreadConstraint] = []
    #: ``System``: spread over hosts (skew 3) and zones (skew 5) if possible; ``List``: as given.
    defaulting_type: str = _SYSTEM

    def check(self) -> Iterable[tuple[str, str]]:
        """What Kubernetes would refuse."""
        if self.defaulting_type not in (_SYSTEM, _LIST):
            yield "defaultingType", f"{self.defaulting_type!r} is unknown; use System or List"
        elif self.defaulting_type == _SYSTEM and self.default_constraints:
            yield "defaultingType", "System takes no defaultConstraints; use List"
        seen: set[tuple[str, str]] = set()
        for index, one in enumerate(self.default_constraints):
            path = f"defaultConstraints[{index}]"
            if one.max_skew <= 0:
                yield f"{path}.maxSkew", f"{one.max_skew} is too small; it must be at least 1"
            if not one.topology_key:
                yield f"{path}.topologyKey", "it is empty; name a node label"
            if one.when_unsatisfiable not in (DO_NOT_SCHEDULE, SCHEDULE_ANYWAY):
                yield (
                    f"{path}.whenUnsatisfiable",
                    f"{one.when_unsatisfiable!r} is unknown; use DoNotSchedule or ScheduleAnyway",
                )
            if one.label_selector is not None:
                yield f"{path}.labelSelector", "it must be absent; it is deduced for each pod"
            pair = (one.topology_key, one.when_unsatisfiable)
            if pair in seen:
                yield path, f"it repeats {pair[0]} with {pair[1]}; keep one"
            seen.add(pair)


class _Domains:
    """The domains of one constraint that do not depend on pods: worked out once for a template."""

    __slots__ = ("eligible_ids", "eligible_rows", "ids", "present", "values")

    def __init__(self, columns: Columns, constraint: Constraint, eligible: Mask) -> None:
        column = columns.labels(constraint.topology_key)
        self.ids = column.ids
        self.values = len(column.values)
        #: The rows that count, None for all of them, and their domains.
        self.eligible_rows: Rows | None = None if eligible.all() else np.flatnonzero(eligible)
        self.eligible_ids = self.ids if self.eligible_rows is None else self.ids[eligible]
        self.present: Mask = np.bincount(self.eligible_ids, minlength=self.values) > 0

    def sums(self, counts: Counts | None) -> Amounts:
        """(n_values,) the matching pods of each domain on the nodes that count."""
        if counts is None:
            return np.zeros(self.values, np.int64)
        chosen = counts if self.eligible_rows is None else counts[self.eligible_rows]
        return np.bincount(self.eligible_ids, chosen, self.values).astype(np.int64)


class _Filtering:
    """What is counted for one required constraint."""

    __slots__ = ("constraint", "counts", "domains", "eligible", "own", "smallest")

    def __init__(
        self, constraint: Constraint, domains: _Domains, counts: Amounts, eligible: Mask, own: int
    ) -> None:
        self.constraint = constraint
        self.domains = domains
        self.counts = counts
        self.eligible = eligible
        self.own = own
        self.smallest: int | None = None

    def minimum(self) -> int:
        """The count of the emptiest domain; 0 if there are fewer domains than asked for."""
        if self.smallest is None:
            present = self.domains.present
            if np.count_nonzero(present) < self.constraint.min_domains:
                self.smallest = 0
            else:
                self.smallest = int(self.counts[present].min(initial=_NO_MINIMUM))
        return self.smallest


class _Scoring:
    """What is counted for the preferred constraints."""

    __slots__ = ("ignored", "scores")

    def __init__(self, scores: Amounts, ignored: Mask | None) -> None:
        self.scores = scores
        self.ignored = ignored


class PodTopologySpread(
    hook.WhatIf, hook.FilterNodes, hook.PreScore, hook.ScoreNodes, hook.Normalize
):
    """Spreads pods evenly over hosts, zones or other parts of the topology."""

    name = "PodTopologySpread"
    Args = PodTopologySpreadArgs

    def __init__(self, args: PodTopologySpreadArgs, handle: Handle) -> None:
        self._system = args.defaulting_type == _SYSTEM
        self._defaults = SYSTEM_DEFAULTS if self._system else tuple(args.default_constraints)
        self._default_actions = {one.when_unsatisfiable for one in self._defaults}
        self._selectors = DefaultSelectors(handle.cluster.catalog)

    # -- filter

    def pre_filter(self, cycle: Cycle) -> hook.PreFilterAnswer:
        """Count the matching pods of each domain."""
        constraints = self._constraints(cycle, DO_NOT_SCHEDULE)
        if not constraints:
            return hook.SKIP
        columns = cycle.cluster.columns
        labels = cycle.shape.labels
        state = []
        for place, constraint in enumerate(constraints):
            eligible, domains = columns.remember(
                (self.name, cycle.shape, place, constraint.key),
                lambda constraint=constraint: self._domains(cycle, constraints, constraint),
            )
            state.append(
                _Filtering(
                    constraint,
                    domains,
                    domains.sums(_matching(cycle, constraint)),
                    eligible,
                    int(constraint.matches(labels)),
                )
            )
        cycle.data[self.name] = state
        return None

    def _domains(
        self, cycle: Cycle, constraints: tuple[Constraint, ...], constraint: Constraint
    ) -> tuple[Mask, _Domains]:
        columns = cycle.cluster.columns
        eligible = _has_labels(columns, constraints) & self._included(cycle, constraint)
        return eligible, _Domains(columns, constraint, eligible)

    def _included(self, cycle: Cycle, constraint: Constraint) -> Mask:
        """(n,) the nodes that count under the constraint's inclusion policies."""
        columns = cycle.cluster.columns
        mask = np.ones(len(columns), np.bool_)
        if constraint.honors_affinity:
            allowed = affinity_mask(columns, cycle.pod, cycle.shape)
            if allowed is not None:
                mask &= allowed
        if constraint.honors_taints:
            mask &= tolerated_mask(columns, cycle.pod, cycle.shape)
        return mask

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Count another pod."""
        self._change(cycle, pod, row, 1)

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Count a pod no more."""
        self._change(cycle, pod, row, -1)

    def _change(self, cycle: Cycle, pod: Pod, row: int, count: int) -> None:
        # parity v1.36.4: podtopologyspread/filtering.go updateWithPod: a terminating pod, which
        # was never counted, is taken off as well.
        if pod.namespace != cycle.pod.namespace:
            return
        for one in cycle.data[self.name]:
            if one.eligible[row] and one.constraint.matches(pod.labels):
                one.counts[one.domains.ids[row]] += count
                one.smallest = None

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts | None:  # noqa: ARG002
        """Reject nodes in domains that have too many matching pods already."""
        choice = np.zeros(len(nodes), np.uint8)
        for one in nodes.cycle.data[self.name]:
            ids = nodes.take(one.domains.ids)
            limit = one.constraint.max_skew + one.minimum() - one.own
            refused = np.where(ids == 0, 1, np.where(one.counts[ids] > limit, 2, 0))
            choice = np.where(choice == 0, refused, choice).astype(np.uint8)
        return Verdicts(choice, _TABLE)

    # -- score

    def pre_score(self, cycle: Cycle, nodes: Nodes) -> hook.PreScoreAnswer:
        """Count the matching pods of each domain among the possible nodes."""
        constraints = self._constraints(cycle, SCHEDULE_ANYWAY)
        if not constraints:
            return hook.SKIP
        columns = cycle.cluster.columns
        # Only the system's own defaults put up with nodes that lack one of the labels.
        strict = bool(cycle.pod.spec.topology_spread_constraints) or not self._system
        ignored: Mask | None = None
        if strict:
            labelled = nodes.take(_has_labels(columns, constraints))
            if not labelled.all():
                ignored = ~labelled
        total = np.zeros(len(nodes))
        for place, constraint in enumerate(constraints):
            total += self._score(cycle, nodes, constraints, place, ignored, strict=strict)
        low = np.floor(total)
        scores = (low + (total - low >= 0.5)).astype(np.int64)  # noqa: PLR2004 - halves go up
        if ignored is not None:
            scores[ignored] = 0
        cycle.data[self.name + "/score"] = _Scoring(scores, ignored)
        return None

    def _score(
        self,
        cycle: Cycle,
        nodes: Nodes,
        constraints: tuple[Constraint, ...],
        place: int,
        ignored: Mask | None,
        *,
        strict: bool,
    ) -> Floats:
        """(n_nodes,) the share of one constraint."""
        constraint = constraints[place]
        columns = cycle.cluster.columns
        column = columns.labels(constraint.topology_key)
        ids = nodes.take(column.ids)
        counts = _matching(cycle, constraint)
        if constraint.topology_key == HOSTNAME:
            size = len(nodes) - (int(ignored.sum()) if ignored is not None else 0)
            here = nodes.take(counts) if counts is not None else np.zeros(len(nodes), np.int64)
        else:
            # A node without the label is in the domain of the empty value, where such a one is.
            empty = column.place("")
            merged = np.where(ids == empty, 0, ids) if empty > 0 else ids
            shown = merged if ignored is None else merged[~ignored]
            size = int(np.count_nonzero(np.bincount(shown, minlength=len(column.values))))

            def eligible() -> tuple[Mask, _Domains]:
                mask = self._included(cycle, constraint)
                if strict:
                    mask = mask & _has_labels(columns, constraints)
                return mask, _Domains(columns, constraint, mask)

            _, domains = columns.remember(
                (self.name, "score", cycle.shape, place, constraint.key), eligible
            )
            sums = domains.sums(counts)
            if empty > 0:
                sums[empty] += sums[0]
            here = sums[ids]
        share = here * natural_log(size + 2) + float(constraint.max_skew - 1)
        share[ids == 0] = 0.0
        return share

    def score_nodes(self, pod: Pod, nodes: Nodes) -> Amounts:  # noqa: ARG002
        """The matching pods near each node, weighted by the size of the topology."""
        state: _Scoring = nodes.cycle.data[self.name + "/score"]
        return state.scores

    def normalize(self, cycle: Cycle, nodes: Nodes, scores: Amounts) -> Amounts:  # noqa: ARG002
        """The emptier a node's domains, the higher."""
        ignored = cycle.data[self.name + "/score"].ignored
        counted = scores if ignored is None else scores[~ignored]
        most = int(counted.max(initial=0))
        if most == 0:
            found = np.full(len(scores), MAX_SCORE, np.int64)
        else:
            least = int(counted.min())
            found = MAX_SCORE * (most + least - scores) // most
        if ignored is not None:
            found[ignored] = 0
        return found

    # -- constraints

    def _constraints(self, cycle: Cycle, action: str) -> tuple[Constraint, ...]:
        own = cycle.pod.spec.topology_spread_constraints
        if own:
            key = (self.name, action)
            known = cycle.shape.data.get(key)
            if known is None:
                known = own_constraints(own, cycle.shape.labels, action)
                cycle.shape.data[key] = known
            return known  # type: ignore[return-value]
        if action not in self._default_actions:
            return ()
        selector = self._selectors.of(cycle.pod, cycle.shape.label_key)
        if selector is None:
            return ()
        return tuple(
            Constraint(one, selector)
            for one in self._defaults
            if one.when_unsatisfiable == action
        )


def _has_labels(columns: Columns, constraints: tuple[Constraint, ...]) -> Mask:
    """(n,) the nodes that have the labels of all constraints."""
    keys = tuple(one.topology_key for one in constraints)

    def compute() -> Mask:
        mask = np.ones(len(columns), np.bool_)
        for key in keys:
            mask &= columns.labels(key).ids > 0
        return mask

    return columns.remember(("has labels", keys), compute)


def _matching(cycle: Cycle, constraint: Constraint) -> Counts | None:
    """(n,) the pods on each node that the constraint counts; None if it counts none."""
    if not constraint.counts:
        return None
    namespace = cycle.shape.namespace
    selector = constraint.selector

    def test(group: Group) -> bool:
        return (
            group.namespace == namespace
            and not group.terminating
            and selector is not None
            and selector.matches(group.labels)
        )

    return cycle.cluster.pod_counts.matching(("spread", namespace, constraint.key), test)
