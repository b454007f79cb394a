"""InterPodAffinity: pods near to, or away from, other pods.

The state counts on each node the pods that match a term, and the pods that have a term; a decision
sums them by domain. A term works both ways: an incoming pod's terms look at the pods on the
cluster, and the terms of the pods on the cluster look at the incoming pod.
"""

import functools
from collections.abc import Hashable, Iterable, Iterator, Sequence

import msgspec
import numpy as np

from mooring.framework import hook
from mooring.framework.arrays import Amounts, Choice
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.quick_score import QuickScore
from mooring.framework.details.rejected_nodes import RejectedNodes
from mooring.framework.handle import Handle
from mooring.framework.nodes import Nodes
from mooring.framework.remedies.remedy import Remedy, RemedyCase
from mooring.framework.scope import Scope
from mooring.framework.verdict import ACCEPT, Verdicts, reject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.workloads import Namespace
from mooring.plugins.affinity.details import too_far, too_near, unwanted
from mooring.plugins.affinity.remedies import inter_pod_affinity_remedies
from mooring.plugins.affinity.requeue_hints import (
    RequiredTerms,
    node_in_other_domain,
    pod_add_helps,
    pod_delete_helps,
    pod_update_helps,
)
from mooring.plugins.affinity.required_counts import TOO_FAR, TOO_NEAR, RequiredTermCounts
from mooring.plugins.affinity.resolved_terms import MatchingPods, TermResolver, matches_all
from mooring.plugins.domain_sums import (
    DomainSums,
    DomainWeights,
    KeptByLabels,
    nodes_by_domain,
    sums_over,
)
from mooring.plugins.score_arithmetic import MAX_SCORE
from mooring.state.cluster import Cluster
from mooring.state.counts import Counts, TermCount, TermCounts
from mooring.state.shapes import Shape

_NO_AFFINITY = reject("node(s) didn't match pod affinity rules", unresolvable=True)
_ANTI_AFFINITY = reject("node(s) didn't match pod anti-affinity rules")
_EXISTING = reject("node(s) didn't satisfy existing pods anti-affinity rules")
#: In the order of what `required_counts` says.
_TABLE = (ACCEPT, _EXISTING, _ANTI_AFFINITY, _NO_AFFINITY)
_MAX_WEIGHT = 100
#: So many nodes in a domain, and what is the same for all of them is worked out once.
_MANY_NODES = 4


class InterPodAffinityArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Arguments of InterPodAffinity."""

    #: How much a required affinity term of a pod on the cluster draws matching pods to it.
    hard_pod_affinity_weight: int = 1
    #: Whether preferred terms of pods on the cluster count only for a pod with some of its own.
    ignore_preferred_terms_of_existing_pods: bool = False

    def check(self) -> Iterable[tuple[str, str]]:
        """What Kubernetes would reject."""
        weight = self.hard_pod_affinity_weight
        if not 0 <= weight <= _MAX_WEIGHT:
            yield (
                "hardPodAffinityWeight",
                f"{weight} is out of range: must be from 0 to {_MAX_WEIGHT}",
            )


class InterPodAffinity(
    hook.WhatIf,
    hook.FilterNodes,
    hook.PreScore,
    hook.ScoreNodes,
    hook.Normalize,
    hook.Requeues,
    hook.Details,
    hook.Remedies,
    hook.Sign,
    QuickScore,
):
    """Places pods near to, or away from, other pods, as affinity and anti-affinity ask."""

    name = "InterPodAffinity"
    reads = (Namespace,)
    filter_scope = Scope.DOMAIN
    score_scope = Scope.DOMAIN
    Args = InterPodAffinityArgs

    def __init__(self, args: InterPodAffinityArgs, handle: Handle) -> None:
        self._hard_weight = args.hard_pod_affinity_weight
        self._ignore_existing = args.ignore_preferred_terms_of_existing_pods
        self._cluster = handle.cluster
        self._terms = TermResolver(handle.cluster.catalog)
        self._sums: KeptByLabels[DomainSums] = KeptByLabels()

    # -- filter

    def pre_filter(self, cycle: Cycle) -> hook.PreFilterAnswer:
        """Count by domain the pods that matter to this pod, and those to whom it matters."""
        cluster, shape = cycle.cluster, cycle.shape
        if not (shape.affinity or shape.anti_affinity or cluster.anti_affinity):
            return hook.SKIP
        terms = self._terms.affinity(shape)
        state = RequiredTermCounts(
            cluster.columns, terms.resolved, self._terms.labels_of(shape.namespace)
        )
        self._count_existing(cycle, state)
        if not (shape.affinity or shape.anti_affinity or state.existing):
            return hook.SKIP
        for one in terms.resolved:
            key = one.term.topology_key
            state.affinity.add(key, self._matching_sums(cluster, key, terms.together))
        apart = self._terms.anti_affinity(shape)
        for one, matching in zip(apart.resolved, apart.each, strict=True):
            key = one.term.topology_key
            state.anti_affinity.add(key, self._matching_sums(cluster, key, matching))
        cycle.data[self.name] = state
        return None

    def _count_existing(self, cycle: Cycle, state: RequiredTermCounts) -> None:
        """Count the anti-affinity terms of the pods on the cluster that are about the pod."""
        cluster = cycle.cluster
        by_key: dict[str, list[TermCount]] = {}
        for one in cluster.anti_affinity.matching_terms(
            cycle.shape, state.namespace_labels, self._terms.version
        ):
            by_key.setdefault(one.term.topology_key, []).append(one)
        for key, terms in by_key.items():
            if cluster.columns.has_label(key):  # else it is about domains that do not exist
                state.existing.add(key, self._term_sums(cluster, key, terms))

    def _matching_sums(self, cluster: Cluster, key: str, matching: MatchingPods) -> Amounts:
        """(n_values,) the pods in each domain that match terms."""
        counts, columns = matching.counts(cluster), cluster.columns
        sums = self._sums.get(columns, (key, matching.key), lambda: sums_over(columns, key))
        return sums.read(columns, counts.item, lambda: counts)

    def _term_sums(self, cluster: Cluster, key: str, terms: Sequence[TermCount]) -> Amounts:
        """(n_values,) the pods in each domain that have one of some terms."""
        columns = cluster.columns

        def at(row: int) -> int:
            return sum(one.rows.get(row, 0) for one in terms)

        def counts() -> Counts:
            found = np.zeros(len(columns), np.int32)
            for one in terms:
                one.add_to(found, columns.table)
            return found

        names = (key, *(one.known_as for one in terms))
        return self._sums.get(columns, names, lambda: sums_over(columns, key)).read(
            columns, at, counts
        )

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Count another pod."""
        self._change(cycle, pod, row, 1)

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Count a pod no more."""
        self._change(cycle, pod, row, -1)

    def _change(self, cycle: Cycle, pod: Pod, row: int, count: int) -> None:
        state: RequiredTermCounts = cycle.data[self.name]
        mine, other = cycle.shape, cycle.cluster.shape_of(pod)
        for term in other.anti_affinity:
            if term.matches(mine.namespace, mine.labels, state.namespace_labels):
                state.existing.change(term.topology_key, row, count)
        if state.resolved and matches_all(state.resolved, other):
            for one in state.resolved:
                state.affinity.change(one.term.topology_key, row, count)
        for one in self._terms.anti_affinity(mine).resolved:
            if one.matches(other.namespace, other.labels):
                state.anti_affinity.change(one.term.topology_key, row, count)

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts | None:  # noqa: ARG002
        """Reject nodes that are too far from wanted pods, or too near to unwanted ones."""
        choice = self._choose(nodes)
        return Verdicts(choice, _TABLE) if choice is not None else None

    def _choose(self, nodes: Nodes) -> Choice | None:
        state: RequiredTermCounts = nodes.cycle.data[self.name]
        # The first pod that matches its own affinity may go anywhere.
        first = bool(state.resolved) and not state.affinity
        return state.choose(
            nodes, anywhere=first and matches_all(state.resolved, nodes.cycle.shape)
        )

    # -- score

    def pre_score(self, cycle: Cycle, nodes: Nodes) -> hook.PreScoreAnswer:  # noqa: ARG002
        """Weigh by domain the pods that matter to this pod, and those to whom it matters."""
        cluster, shape = cycle.cluster, cycle.shape
        if not shape.preferred and (
            self._ignore_existing or not (cluster.preferred or cluster.affinity)
        ):
            return hook.SKIP
        weights = DomainWeights()
        for weighted, matching in zip(
            shape.preferred, self._terms.preferred(shape).each, strict=True
        ):
            key = weighted.term.topology_key
            if cluster.columns.has_label(key):
                weights.add(key, self._matching_sums(cluster, key, matching), weighted.weight)
        version, labels = self._terms.version, self._terms.labels_of(shape.namespace)
        if self._hard_weight:
            for one in cluster.affinity.matching_terms(shape, labels, version):
                self._weigh(cluster, weights, one, self._hard_weight)
        for one in cluster.preferred.matching_terms(shape, labels, version):
            self._weigh(cluster, weights, one, one.weight)
        if not weights.by_key:
            return hook.SKIP
        cycle.data[self.name + "/score"] = weights.by_key
        return None

    def _weigh(
        self, cluster: Cluster, weights: DomainWeights, term: TermCount, weight: int
    ) -> None:
        key = term.term.topology_key
        if cluster.columns.has_label(key):
            weights.add(key, self._term_sums(cluster, key, (term,)), weight)

    def score_nodes(self, pod: Pod, nodes: Nodes) -> Amounts:  # noqa: ARG002
        """The sum of the weights in the node's domains."""
        by_key: dict[str, Amounts] = nodes.cycle.data[self.name + "/score"]
        parts = [
            weights.take(nodes.take(nodes.columns.labels(key).ids))
            for key, weights in by_key.items()
        ]
        return functools.reduce(np.add, parts)

    def normalize(self, cycle: Cycle, nodes: Nodes, scores: Amounts) -> Amounts:  # noqa: ARG002
        """The lowest sum becomes 0, the highest 100."""
        low, high = int(scores.min()), int(scores.max())
        if high == low:
            return np.zeros(len(scores), np.int64)
        if high - low < len(scores):  # many nodes have the same sum
            return _shares(np.arange(high - low + 1)).take(scores - low)
        return _shares(scores - low, high - low)

    def normalized_scores(self, cycle: Cycle, nodes: Nodes) -> Amounts | None:
        """The same at once, by domain if there are fewer domains than nodes."""
        by_key: dict[str, Amounts] = cycle.data[self.name + "/score"]
        (key, weights), *more = by_key.items()
        if more or nodes.rows is not None or len(weights) * _MANY_NODES > len(nodes):
            raw = self.score_nodes(cycle.pod, nodes)
            return self.normalize(cycle, nodes, raw)
        columns = nodes.columns
        shown = weights[nodes_by_domain(columns, key) > 0]
        low, high = int(shown.min()), int(shown.max())
        if high == low:
            return None
        return _shares(weights - low, high - low).take(columns.labels(key).ids)

    # -- what helps

    def requeue_on(self) -> Sequence[hook.RequeueHint]:
        """Pods that the terms of this pod or of others are about, and nodes in other domains."""
        action = hook.Action
        return (
            hook.RequeueHint(
                Pod, action.ADD | action.UPDATE_POD_LABEL | action.DELETE, self._pod_change_helps
            ),
            hook.RequeueHint(Node, action.ADD | action.UPDATE_NODE_LABEL, self._node_change_helps),
        )

    def details(self, rejected: RejectedNodes) -> list[str]:
        """The terms, of this pod or of another."""
        pod, choice = rejected.pod, self._choose(rejected.nodes)
        own = {TOO_FAR: too_far(pod), TOO_NEAR: too_near(pod)}
        kept_away = unwanted(rejected, self._terms.labels_of(pod.namespace))
        said = choice.tolist() if choice is not None else []
        return [own.get(one, kept_away[place]) for place, one in enumerate(said)]

    def remedies(self, case: RemedyCase) -> Iterator[Remedy]:
        """Give up a term, or take the pods away that want to be apart."""
        return inter_pod_affinity_remedies(case)

    def _pod_change_helps(self, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
        shape = self._cluster.shape_of(pod)
        terms = RequiredTerms(
            self._terms.affinity(shape).resolved,
            self._terms.anti_affinity(shape).resolved,
        )
        if new is not None:
            return (
                pod_add_helps(new, terms) if old is None else pod_update_helps(pod, old, new, terms)
            )
        return old is not None and pod_delete_helps(
            pod, old, terms, repelled=self._repels(self._cluster.shape_of(old), shape)
        )

    def _repels(self, other: Shape, shape: Shape) -> bool:
        """Whether an anti-affinity term of another pod is about this one."""
        if not other.anti_affinity:
            return False
        labels = self._terms.labels_of(shape.namespace)
        return any(
            term.matches(shape.namespace, shape.labels, labels) for term in other.anti_affinity
        )

    def _node_change_helps(self, pod: Pod, old: Node | None, new: Node) -> bool:
        shape = self._cluster.shape_of(pod)
        labels, version = self._terms.labels_of(shape.namespace), self._terms.version
        apart = {term.topology_key for term in shape.anti_affinity}
        apart.update(
            one.term.topology_key
            for one in self._cluster.anti_affinity.matching_terms(shape, labels, version)
        )
        return node_in_other_domain(old, new, (term.topology_key for term in shape.affinity), apart)

    # -- who is alike

    def sign(self, pod: Pod) -> Hashable:
        """The pod's own terms, and what the terms of the pods on the cluster read of it."""
        shape = self._cluster.shape_of(pod)
        own: Hashable = None
        if shape.has_affinity:
            resolved = self._terms.affinity(shape).resolved
            own = (
                tuple(term.key for term in shape.affinity),
                tuple(term.key for term in shape.anti_affinity),
                tuple(one.key for one in shape.preferred),
                bool(resolved) and matches_all(resolved, shape),
            )
        others = self._terms_of_others(scored=bool(shape.preferred) or not self._ignore_existing)
        if not others:
            return own
        keys = frozenset[str]().union(*(one.label_keys for one in others))
        read = frozenset(label for label in shape.label_key if label[0] in keys)
        # With the keys, because the labels say nothing about others that become of interest.
        return own, shape.namespace, keys, read

    def _terms_of_others(self, *, scored: bool) -> list[TermCounts]:
        """The terms of pods on the cluster that count for a pod; for scores only if so."""
        cluster = self._cluster
        counted = [cluster.anti_affinity]
        if scored:
            counted.append(cluster.preferred)
            if self._hard_weight:
                counted.append(cluster.affinity)
        return [one for one in counted if one]


def _shares(sums: Amounts, most: int | None = None) -> Amounts:
    """Whole percents of the highest sum."""
    found: Amounts = (MAX_SCORE * (sums / float(sums[-1] if most is None else most))).astype(
        np.int64
    )
    return found
