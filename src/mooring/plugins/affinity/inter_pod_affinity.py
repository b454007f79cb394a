"""InterPodAffinity: pods near to, or away from, other pods.

The state counts on each node the pods that match a term, and the pods that have a term; a decision
sums them by domain. A term works both ways: an incoming pod's terms look at the pods on the
cluster, and the terms of the pods on the cluster look at the incoming pod.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from mooring.framework import hook
from mooring.framework.arrays import Amounts, Mask
from mooring.framework.cycle import Cycle
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
from mooring.plugins.score_arithmetic import MAX_SCORE
from mooring.plugins.topology_domains import DomainCounts, domain_sums
from mooring.state.catalog import Catalog
from mooring.state.cluster import Cluster
from mooring.state.counts import Counts, PodLabelGroup, TermCounts
from mooring.state.shapes import AffinityTerm, Shape
from mooring.state.table import SparseColumn

_NO_AFFINITY = reject("node(s) didn't match pod affinity rules", unresolvable=True)
_ANTI_AFFINITY = reject("node(s) didn't match pod anti-affinity rules")
_EXISTING = reject("node(s) didn't satisfy existing pods anti-affinity rules")
_TABLE = (ACCEPT, _NO_AFFINITY, _ANTI_AFFINITY, _EXISTING)
_MAX_WEIGHT = 100


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


class _AffinityCounts:
    """What is counted for the required terms of one decision."""

    __slots__ = ("affinity", "anti_affinity", "existing", "lenient", "namespace_labels", "resolved")

    def __init__(
        self,
        cluster: Cluster,
        resolved: "tuple[_ResolvedTerm, ...]",
        namespace_labels: Mapping[str, str],
        *,
        lenient: bool,
    ) -> None:
        columns = cluster.columns
        #: Pods on the cluster whose anti-affinity is about the incoming pod.
        self.existing = DomainCounts(columns)
        #: Pods that match all affinity terms of the incoming pod.
        self.affinity = DomainCounts(columns)
        #: Pods that match an anti-affinity term of the incoming pod.
        self.anti_affinity = DomainCounts(columns)
        self.resolved = resolved
        self.namespace_labels = namespace_labels
        #: The pod matches its own affinity, so the first of its kind may go anywhere.
        self.lenient = lenient


class _ResolvedTerm:
    """A term of the incoming pod, with the namespaces its selector selects now."""

    __slots__ = ("anywhere", "key", "namespaces", "term")

    def __init__(self, term: AffinityTerm, catalog: Catalog) -> None:
        self.term = term
        self.namespaces = term.namespaces
        selector = term.namespace_selector
        # parity v1.36.4: interpodaffinity/plugin.go mergeAffinityTermNamespacesIfNotEmpty: the
        # selector stays in place and is later matched against no labels, so one that a namespace
        # without labels satisfies selects every namespace.
        self.anywhere = selector is not None and selector.matches({})
        if selector is not None and (selector.match_labels or selector.match_expressions):
            self.namespaces |= {
                one.name for one in catalog.all(Namespace).values() if selector.matches(one.labels)
            }
        self.key = (term.key, self.namespaces, self.anywhere)

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether the term is about a pod of this namespace with these labels."""
        return (self.anywhere or namespace in self.namespaces) and self.term.selects(labels)


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
        self._catalog = handle.cluster.catalog

    # -- filter

    def pre_filter(self, cycle: Cycle) -> hook.PreFilterAnswer:
        """Count by domain the pods that matter to this pod, and those to whom it matters."""
        cluster, shape = cycle.cluster, cycle.shape
        if not (cluster.anti_affinity or shape.affinity or shape.anti_affinity):
            return hook.SKIP
        resolved = self._resolve(shape, shape.affinity)
        state = _AffinityCounts(
            cluster,
            resolved,
            self._namespace_labels(shape.namespace),
            lenient=bool(resolved) and _matches_all(resolved, shape),
        )
        for key, rows in self._existing_anti_affinity(cycle, state.namespace_labels).items():
            state.existing.add(key, rows)
        if not (shape.affinity or shape.anti_affinity or state.existing):
            return hook.SKIP
        if resolved:
            counts = _matching(cluster, resolved)
            for one in resolved:
                state.affinity.add(one.term.topology_key, counts)
        for one in self._resolve(shape, shape.anti_affinity):
            state.anti_affinity.add(one.term.topology_key, _matching(cluster, (one,)))
        cycle.data[self.name] = state
        return None

    def _existing_anti_affinity(
        self, cycle: Cycle, namespace_labels: Mapping[str, str]
    ) -> dict[str, Counts]:
        """By topology key, (n,) the anti-affinity terms on each node that are about the pod."""
        found: dict[str, Counts] = {}
        version, columns = self._catalog.version(Namespace), cycle.cluster.columns
        for one in cycle.cluster.anti_affinity.matching_terms(
            cycle.shape, namespace_labels, version
        ):
            key = one.term.topology_key
            rows = found.get(key)
            if rows is None:
                if not columns.has_label(key):
                    continue  # a term about domains that do not exist
                rows = found[key] = np.zeros(len(columns), np.int32)
            one.add_to(rows, columns.table)
        return found

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Count another pod."""
        self._change(cycle, pod, row, 1)

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Count a pod no more."""
        self._change(cycle, pod, row, -1)

    def _change(self, cycle: Cycle, pod: Pod, row: int, count: int) -> None:
        state: _AffinityCounts = cycle.data[self.name]
        mine, other = cycle.shape, cycle.cluster.shape_of(pod)
        for term in other.anti_affinity:
            if term.matches(mine.namespace, mine.labels, state.namespace_labels):
                state.existing.change(term.topology_key, row, count)
        if state.resolved and _matches_all(state.resolved, other):
            for one in state.resolved:
                state.affinity.change(one.term.topology_key, row, count)
        for one in self._resolve(mine, mine.anti_affinity):
            if one.matches(other.namespace, other.labels):
                state.anti_affinity.change(one.term.topology_key, row, count)

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts:  # noqa: ARG002
        """Reject nodes that are too far from wanted pods, or too near to unwanted ones."""
        state: _AffinityCounts = nodes.cycle.data[self.name]
        choice = np.zeros(len(nodes), np.uint8)
        choice[_any(nodes, state.existing)] = 3
        choice[_any(nodes, state.anti_affinity)] = 2
        if state.resolved:
            choice[self._too_far(nodes, state)] = 1
        return Verdicts(choice, _TABLE)

    def _too_far(self, nodes: Nodes, state: _AffinityCounts) -> Mask:
        """(n_nodes,) where the pods that the affinity terms ask for are not."""
        rejected = np.zeros(len(nodes), np.bool_)
        absent = np.zeros(len(nodes), np.bool_)
        for one in state.resolved:
            key = one.term.topology_key
            ids = nodes.take(nodes.columns.labels(key).ids)
            rejected |= ids == 0
            counts = state.affinity.by_key.get(key)
            absent |= counts[ids] <= 0 if counts is not None else True
        if state.lenient and not state.affinity:
            return rejected
        return rejected | absent

    # -- score

    def pre_score(self, cycle: Cycle, nodes: Nodes) -> hook.PreScoreAnswer:  # noqa: ARG002
        """Weigh by domain the pods that matter to this pod, and those to whom it matters."""
        cluster, shape = cycle.cluster, cycle.shape
        if not shape.preferred and (
            self._ignore_existing or not (cluster.preferred or cluster.affinity)
        ):
            return hook.SKIP
        weights = _DomainWeights(cluster)
        for resolved, weight in self._resolve_preferred(shape):
            weights.add(resolved.term.topology_key, _matching(cluster, (resolved,)), weight)
        version = self._catalog.version(Namespace)
        labels = self._namespace_labels(shape.namespace)
        if self._hard_weight:
            for one in cluster.affinity.matching_terms(shape, labels, version):
                weights.add_sparse(one.term.topology_key, one, self._hard_weight)
        for one in cluster.preferred.matching_terms(shape, labels, version):
            weights.add_sparse(one.term.topology_key, one, one.weight)
        by_key = weights.by_domain()
        if not by_key:
            return hook.SKIP
        cycle.data[self.name + "/score"] = by_key
        return None

    def score_nodes(self, pod: Pod, nodes: Nodes) -> Amounts:  # noqa: ARG002
        """The sum of the weights in the node's domains."""
        total = np.zeros(len(nodes), np.int64)
        by_key: dict[str, Amounts] = nodes.cycle.data[self.name + "/score"]
        for key, weights in by_key.items():
            total += weights[nodes.take(nodes.columns.labels(key).ids)]
        return total

    def normalize(self, cycle: Cycle, nodes: Nodes, scores: Amounts) -> Amounts:  # noqa: ARG002
        """The lowest sum becomes 0, the highest 100."""
        low, high = int(scores.min()), int(scores.max())
        if high == low:
            return np.zeros(len(scores), np.int64)
        shares = (scores - low) / float(high - low)
        found: Amounts = (MAX_SCORE * shares).astype(np.int64)
        return found

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
        pod, verdicts = rejected.pod, self.filter_nodes(rejected.pod, rejected.nodes)
        own = {1: too_far(pod), 2: too_near(pod)}
        kept_away = unwanted(rejected, self._namespace_labels(pod.namespace))
        return [
            own.get(int(choice), kept_away[place]) for place, choice in enumerate(verdicts.choice)
        ]

    def remedies(self, case: RemedyCase) -> Iterator[Remedy]:
        """Give up a term, or take the pods away that want to be apart."""
        return inter_pod_affinity_remedies(case)

    def _pod_change_helps(self, pod: Pod, old: Pod | None, new: Pod | None) -> bool:
        shape = self._cluster.shape_of(pod)
        terms = RequiredTerms(
            self._resolve(shape, shape.affinity), self._resolve(shape, shape.anti_affinity)
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
        labels = self._namespace_labels(shape.namespace)
        return any(
            term.matches(shape.namespace, shape.labels, labels) for term in other.anti_affinity
        )

    def _node_change_helps(self, pod: Pod, old: Node | None, new: Node) -> bool:
        shape = self._cluster.shape_of(pod)
        labels, version = self._namespace_labels(shape.namespace), self._catalog.version(Namespace)
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
            resolved = self._resolve(shape, shape.affinity)
            own = (
                tuple(term.key for term in shape.affinity),
                tuple(term.key for term in shape.anti_affinity),
                tuple(one.key for one in shape.preferred),
                bool(resolved) and _matches_all(resolved, shape),
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

    # -- terms

    def _namespace_labels(self, namespace: str) -> Mapping[str, str]:
        found = self._catalog.get(Namespace, namespace)
        return found.labels if found is not None else {}

    def _resolve(self, shape: Shape, terms: Sequence[AffinityTerm]) -> tuple[_ResolvedTerm, ...]:
        if not terms:
            return ()
        key = (self.name, "affinity" if terms is shape.affinity else "anti-affinity")
        version = self._catalog.version(Namespace)
        known = shape.data.get(key)
        if known is None or known[0] != version:  # type: ignore[index]
            found = tuple(_ResolvedTerm(term, self._catalog) for term in terms)
            known = shape.data[key] = (version, found)
        return known[1]  # type: ignore[index, no-any-return]

    def _resolve_preferred(self, shape: Shape) -> tuple[tuple[_ResolvedTerm, int], ...]:
        if not shape.preferred:
            return ()
        key = (self.name, "preferred")
        version = self._catalog.version(Namespace)
        known = shape.data.get(key)
        if known is None or known[0] != version:  # type: ignore[index]
            found = tuple(
                (_ResolvedTerm(one.term, self._catalog), one.weight) for one in shape.preferred
            )
            known = shape.data[key] = (version, found)
        return known[1]  # type: ignore[index, no-any-return]


class _DomainWeights:
    """Weighted counts of pods by topology key, summed by node first and by domain at the end."""

    def __init__(self, cluster: Cluster) -> None:
        self._columns = cluster.columns
        self._rows: dict[str, Amounts] = {}
        self._touched: dict[str, Mask] = {}

    def add(self, key: str, counts: Counts, weight: int) -> None:
        """Count so many pods on each node, each with a weight."""
        if self._is_counted(key):
            self._rows[key] += counts * np.int64(weight)
            self._touched[key] |= counts > 0

    def add_sparse(self, key: str, counts: SparseColumn, weight: int) -> None:
        """The same for a count that few nodes have."""
        if self._is_counted(key):
            counts.add_to(self._rows[key], self._columns.table, weight)
            counts.mark(self._touched[key], self._columns.table)

    def _is_counted(self, key: str) -> bool:
        """Whether there are any domains of a topology key."""
        if key not in self._rows:
            if not self._columns.has_label(key):
                return False
            self._rows[key] = np.zeros(len(self._columns), np.int64)
            self._touched[key] = np.zeros(len(self._columns), np.bool_)
        return True

    def by_domain(self) -> dict[str, Amounts]:
        """The sums of the weights by topology key and domain, where there are any pods."""
        # A sum may be 0 because preferred terms cancel out: an answer, unlike no pods at all.
        return {
            key: domain_sums(self._columns, key, rows)
            for key, rows in self._rows.items()
            if np.any(self._touched[key] & (self._columns.labels(key).ids > 0))
        }


def _matches_all(resolved: Sequence[_ResolvedTerm], shape: Shape) -> bool:
    return all(one.matches(shape.namespace, shape.labels) for one in resolved)


def _matching(cluster: Cluster, resolved: Sequence[_ResolvedTerm]) -> Counts:
    """(n,) the pods on each node that match all of these terms."""

    def test(group: PodLabelGroup) -> bool:
        return all(one.matches(group.namespace, group.labels) for one in resolved)

    selectors = [one.term.selector for one in resolved if one.term.selector is not None]
    key = ("affinity", *(one.key for one in resolved))
    return cluster.pod_counts.matching(key, test, selectors)


def _any(nodes: Nodes, counts: DomainCounts) -> Mask:
    """(n_nodes,) whose domains have a count."""
    mask = np.zeros(len(nodes), np.bool_)
    for key, sums in counts.by_key.items():
        mask |= (sums > 0)[nodes.take(nodes.columns.labels(key).ids)]
    return mask
