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
from mooring.framework.arrays import Amounts, Choice, Mask
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
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.workloads import Namespace
from mooring.plugins.affinity.details import too_far, too_near, unwanted
from mooring.plugins.affinity.questions import DomainQuestion, PodQuestions, PodsWithTerm, Questions
from mooring.plugins.affinity.remedies import inter_pod_affinity_remedies
from mooring.plugins.affinity.requeue_hints import (
    RequiredTerms,
    node_in_other_domain,
    pod_add_helps,
    pod_delete_helps,
    pod_update_helps,
)
from mooring.plugins.affinity.required_counts import TOO_FAR, TOO_NEAR, RequiredTermCounts
from mooring.plugins.affinity.resolved_terms import TermResolver, matches_all
from mooring.plugins.domain_sums import (
    DomainSums,
    DomainWeights,
    KeptByLabels,
    PodsOfASort,
    sums_over,
)
from mooring.plugins.score_arithmetic import MAX_SCORE
from mooring.state.counts import TermCount, TermCounts
from mooring.state.shapes import Shape

_NO_AFFINITY = reject("node(s) didn't match pod affinity rules", unresolvable=True)
_ANTI_AFFINITY = reject("node(s) didn't match pod anti-affinity rules")
_EXISTING = reject("node(s) didn't satisfy existing pods anti-affinity rules")
#: In the order of what `required_counts` says.
_TABLE = (ACCEPT, _EXISTING, _ANTI_AFFINITY, _NO_AFFINITY)
_MAX_WEIGHT = 100
#: So many different sums, and their shares are worked out beforehand.
_MOST_SHARES = 4096


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
    QuickFilter,
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
        self._questions = Questions(
            self._cluster,
            self._terms,
            self._hard_weight,
            ignore_existing=self._ignore_existing,
        )
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
            state.affinity.add(key, self._sums_by_domain(key, [terms.together]))
        apart = self._terms.anti_affinity(shape)
        for one, matching in zip(apart.resolved, apart.each, strict=True):
            key = one.term.topology_key
            state.anti_affinity.add(key, self._sums_by_domain(key, [matching]))
        cycle.data[self.name] = state
        return None

    def _count_existing(self, cycle: Cycle, state: RequiredTermCounts) -> None:
        """Count the anti-affinity terms of the pods on the cluster that are about the pod."""
        cluster = cycle.cluster
        by_key: dict[str, list[PodsOfASort]] = {}
        for one in cluster.anti_affinity.matching_terms(
            cycle.shape, state.namespace_labels, self._terms.version
        ):
            pods = PodsWithTerm(cluster.anti_affinity, one.known_as)
            by_key.setdefault(one.term.topology_key, []).append(pods)
        for key, pods_with_terms in by_key.items():
            if cluster.columns.has_label(key):  # else it is about domains that do not exist
                state.existing.add(key, self._sums_by_domain(key, pods_with_terms))

    def _sums_by_domain(self, key: str, pods: Sequence[PodsOfASort]) -> Amounts:
        """(n_values,) the pods of some sorts in each domain."""
        names = (key, *(one.key for one in pods))
        return self._answer(DomainQuestion(names, key, [(one, 1) for one in pods])).sums

    def _answer(self, question: DomainQuestion) -> DomainSums:
        """How many pods there are in each domain now."""
        cluster = self._cluster
        found = self._sums.get(
            cluster.columns,
            question.key,
            lambda: sums_over(cluster.columns, question.topology_key, question.pods),
        )
        return found.catch_up(cluster)

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
                weights.add(key, self._sums_by_domain(key, [matching]), weighted.weight)
        version, labels = self._terms.version, self._terms.labels_of(shape.namespace)
        drawn = [(cluster.preferred, 0)]
        if self._hard_weight:
            drawn.append((cluster.affinity, self._hard_weight))
        for terms, weight in drawn:
            for one in terms.matching_terms(shape, labels, version):
                self._weigh(weights, terms, one, weight or one.weight)
        if not weights.by_key:
            return hook.SKIP
        cycle.data[self.name + "/score"] = weights.by_key
        return None

    def _weigh(
        self, weights: DomainWeights, terms: TermCounts, one: TermCount, weight: int
    ) -> None:
        key = one.term.topology_key
        if self._cluster.columns.has_label(key):
            weights.add(key, self._sums_by_domain(key, [PodsWithTerm(terms, one.known_as)]), weight)

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

    # -- at once

    def accepted(self, cycle: Cycle, possible: Mask) -> Mask:
        """The nodes that the filter leaves."""
        cluster, shape = cycle.cluster, cycle.shape
        if not (shape.affinity or shape.anti_affinity or cluster.anti_affinity):
            return possible
        return self._accepted(self._questions.of(shape), cycle, possible)

    def accepted_alike(self, cycle: Cycle) -> QuickMask | None:
        """Asks about all pods to which the same terms count."""
        asked = self._questions.of(cycle.shape)
        if not (asked.apart or asked.together):
            return None
        return functools.partial(self._accepted, asked)

    def _accepted(self, asked: PodQuestions, cycle: Cycle, possible: Mask) -> Mask:
        for one in asked.apart:
            found = self._answer(one)
            if found.has_pods:
                possible = possible > found.nodes_with_pods  # these, but not those
        if not asked.together:
            return possible
        answers = [self._answer(one) for one in asked.together]
        if asked.first and not any(one.has_pods for one in answers):
            # The first pod that matches its own affinity may go anywhere.
            for one in asked.together:
                column = cycle.cluster.columns.labels(one.topology_key)
                if not column.is_complete:
                    possible = possible & (column.ids > 0)
        else:
            for found in answers:
                if not found.has_pods_everywhere:
                    possible = possible & found.nodes_with_pods
        return possible

    def quick_scores(self, cycle: Cycle, nodes: Nodes, weight: int) -> Amounts | None:
        """The normalized scores, by domain if that is enough."""
        cluster, shape = cycle.cluster, cycle.shape
        if not (shape.preferred or cluster.preferred or cluster.affinity):
            return None
        return self._quick_scores(self._questions.of(shape).wanted, cycle, nodes, weight)

    def quick_scores_alike(self, cycle: Cycle) -> QuickScores | None:
        """Asks about all pods to which the same terms count."""
        wanted = self._questions.of(cycle.shape).wanted
        return functools.partial(self._quick_scores, wanted) if wanted else None

    def _quick_scores(
        self,
        wanted: Sequence[DomainQuestion],
        cycle: Cycle,  # noqa: ARG002 - it is that of the nodes
        nodes: Nodes,
        weight: int,
    ) -> Amounts | None:
        answers = []
        for one in wanted:
            found = self._answer(one)
            if found.has_pods:
                answers.append(found)
        if not answers:
            return None
        if len(answers) == 1 and nodes.rows is None:
            sums = answers[0]
            low, high = sums.lowest, sums.highest
            if not sums.every_node_counts:  # those without the label have 0
                low, high = min(low, 0), max(high, 0)
            shares = _weighted_shares(sums.sums, low, high, weight)
            return shares.take(sums.ids) if shares is not None else None
        raw = functools.reduce(np.add, [one.sums.take(nodes.take(one.ids)) for one in answers])
        low, high = int(np.minimum.reduce(raw)), int(np.maximum.reduce(raw))
        return _weighted_shares(raw, low, high, weight)

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
        own: Hashable = ()
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


def _weighted_shares(sums: Amounts, low: int, high: int, weight: int) -> Amounts | None:
    """What `InterPodAffinity.normalize` gives, times a weight; None if all are the same.

    Args:
        sums: the sums; numbers that are out of range get anything.
        low: the lowest of those that count.
        high: the highest of them.
        weight: the weight.
    """
    if high == low:
        return None
    if high - low < _MOST_SHARES:
        places = sums - low if low else sums
        return _table_of_shares(high - low, weight).take(places, mode="clip")
    return _shares(sums - low, high - low) * weight


@functools.lru_cache(maxsize=64)
def _table_of_shares(most: int, weight: int) -> Amounts:
    return _shares(np.arange(most + 1)) * weight


def _shares(sums: Amounts, most: int | None = None) -> Amounts:
    """Whole percents of the highest sum."""
    found: Amounts = (MAX_SCORE * (sums / float(sums[-1] if most is None else most))).astype(
        np.int64
    )
    return found
