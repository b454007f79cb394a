"""NodeAffinity: the nodes that a pod requires and prefers by their labels or names.

Masks and scores depend on the pod's terms and the nodes' labels only and are remembered with the
nodes. A pod that requires nodes by name is looked at on these nodes only.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Final, cast

import msgspec
import numpy as np

from mooring.framework.arrays import Amounts, Mask
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.row_answers import NormalizesByExtremes
from mooring.framework.details.rejected_nodes import RejectedNodes
from mooring.framework.hook import (
    SKIP,
    Action,
    Details,
    FilterNodes,
    Normalize,
    PreFilter,
    PreFilterAnswer,
    PreScore,
    PreScoreAnswer,
    Remedies,
    RequeueHint,
    Requeues,
    ScoreNodes,
    Sign,
)
from mooring.framework.nodes import Nodes
from mooring.framework.remedies.remedy import Remedy, RemedyCase
from mooring.framework.scope import Scope
from mooring.framework.verdict import ACCEPT, Verdicts, reject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.selectors import NodeAffinity as AffinityTerms
from mooring.model.selectors import (
    NodeSelector,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    Requirement,
)
from mooring.plugins.nodes.node_affinity_details import node_affinity_details
from mooring.plugins.nodes.node_affinity_remedies import node_affinity_remedies
from mooring.plugins.nodes.node_selector_syntax import node_affinity_problems
from mooring.plugins.pod_keys import node_selection_key
from mooring.plugins.score_arithmetic import normalize_scores
from mooring.plugins.shape_reader import ShapeReader
from mooring.state.aspects import Aspect
from mooring.state.columns import Columns
from mooring.state.shapes import Shape

_TABLE: Final = (
    ACCEPT,
    reject("node(s) didn't match scheduler-enforced node affinity", unresolvable=True),
    reject("node(s) didn't match Pod's node affinity/selector", unresolvable=True),
)
_CONFLICT: Final = reject("pod affinity terms conflict", unresolvable=True)
_NAME_FIELD: Final = "metadata.name"
_NO_TERMS: Final = AffinityTerms()

_encode = msgspec.msgpack.Encoder(order="deterministic").encode


class NodeAffinityArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Arguments of NodeAffinity.

    Attributes:
        added_affinity: required and preferred terms that are added to those of every pod.
    """

    added_affinity: AffinityTerms | None = None

    def check(self) -> Iterable[tuple[str, str]]:
        """What kube-scheduler would reject."""
        if self.added_affinity is not None:
            yield from node_affinity_problems(self.added_affinity, "addedAffinity")


class NodeAffinity(
    PreFilter,
    FilterNodes,
    PreScore,
    ScoreNodes,
    Normalize,
    Requeues,
    Details,
    Remedies,
    Sign,
    ShapeReader,
    NormalizesByExtremes,
):
    """Rejects nodes that the pod's node selector or affinity excludes; scores what it prefers."""

    name = "NodeAffinity"
    reads = ()
    filter_scope = Scope.NODES
    score_scope = Scope.NODES
    Args: ClassVar[type[msgspec.Struct]] = NodeAffinityArgs

    def __init__(self, args: NodeAffinityArgs) -> None:
        added = args.added_affinity or _NO_TERMS
        self._added_required = added.required_during_scheduling_ignored_during_execution
        self._added_preferred = added.preferred_during_scheduling_ignored_during_execution or []
        self._added_key = _encode(added)

    def pre_filter(self, cycle: Cycle) -> PreFilterAnswer:
        """Narrow the search to nodes that the pod requires by name; skip pods that require none."""
        # parity v1.36.4: plugins/nodeaffinity/node_affinity.go PreFilter
        required = _terms(cycle.pod).required_during_scheduling_ignored_during_execution
        if required is None:
            nothing = self._added_required is None and cycle.pod.spec.node_selector is None
            return SKIP if nothing else None
        names = _named(required)
        return _CONFLICT if names is not None and not names else names

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts | None:
        """Reject nodes that do not match the added and the pod's own required terms."""
        columns = nodes.columns
        key = node_selection_key(pod, nodes.cycle.shape)
        choice = columns.remember(
            (self.name, "filter", self._added_key, key),
            lambda: self._choose(columns, pod),
            Aspect.LABELS,
        )
        return None if choice is None else Verdicts(nodes.take(choice), _TABLE)

    def pre_score(self, cycle: Cycle, nodes: Nodes) -> PreScoreAnswer:  # noqa: ARG002
        """Skip pods without preferred terms."""
        preferred = _terms(cycle.pod).preferred_during_scheduling_ignored_during_execution
        return SKIP if preferred is None and not self._added_preferred else None

    def score_nodes(self, pod: Pod, nodes: Nodes) -> Amounts:
        """The sum of the weights of the preferred terms that match a node."""
        columns = nodes.columns
        preferred = _preferred(pod)
        key = _preferred_key(pod, nodes.cycle.shape)
        return nodes.take(
            columns.remember(
                (self.name, "score", self._added_key, key),
                lambda: _weights(columns, [*self._added_preferred, *preferred]),
                Aspect.LABELS,
            )
        )

    def normalize(self, cycle: Cycle, nodes: Nodes, scores: Amounts) -> Amounts:  # noqa: ARG002
        """The more, the better."""
        return normalize_scores(scores)

    def requeue_on(self) -> Sequence[RequeueHint]:
        """A node that matches now and did not before."""
        return (RequeueHint(Node, Action.ADD | Action.UPDATE_NODE_LABEL, self._begins_to_match),)

    def details(self, rejected: RejectedNodes) -> list[str]:
        """The conditions that are not met; of added ones, what the configuration says."""
        return node_affinity_details(rejected)

    def remedies(self, case: RemedyCase) -> Iterator[Remedy]:
        """Give up conditions, or label the node."""
        return node_affinity_remedies(case.pod, case.node)

    def sign(self, pod: Pod) -> tuple[bytes, bytes]:
        """The node selector with the required terms, and the preferred terms."""
        shape = self.shape_of(pod)
        return node_selection_key(pod, shape), _preferred_key(pod, shape)

    def _begins_to_match(self, pod: Pod, old: Node | None, new: Node) -> bool:
        # parity v1.36.4: plugins/nodeaffinity/node_affinity.go isSchedulableAfterNodeChange: of a
        # changed node, only what the pod itself requires is compared.
        added = self._added_required
        if added is not None and not added.matches(new.labels, new.name):
            return False
        return _fulfils(new, pod) and (old is None or not _fulfils(old, pod))

    def _choose(self, columns: Columns, pod: Pod) -> np.typing.NDArray[np.uint8] | None:
        """(n,) places in the table of answers; None if all nodes match."""
        choice = np.zeros(len(columns), np.uint8)
        choice[~_required_mask(columns, pod)] = 2
        if self._added_required is not None:
            choice[~columns.selector_mask(self._added_required)] = 1
        return choice if choice.any() else None


def _terms(pod: Pod) -> AffinityTerms:
    affinity = pod.spec.affinity
    return _NO_TERMS if affinity is None else affinity.node_affinity or _NO_TERMS


def _preferred(pod: Pod) -> list[PreferredSchedulingTerm]:
    return _terms(pod).preferred_during_scheduling_ignored_during_execution or []


def _preferred_key(pod: Pod, shape: Shape) -> bytes:
    known = shape.data.get(NodeAffinity.name)
    if known is None:
        known = shape.data[NodeAffinity.name] = _encode(_preferred(pod))
    return cast("bytes", known)


def _named(required: NodeSelector) -> frozenset[str] | None:
    """The only nodes that can match by their names; None if a term does not name any."""
    names: frozenset[str] = frozenset()
    for term in required.node_selector_terms or ():
        found = _named_by(term)
        if found is None:
            return None
        names |= found
    return names if required.node_selector_terms else None


def _named_by(term: NodeSelectorTerm) -> frozenset[str] | None:
    found: frozenset[str] | None = None
    for one in term.match_fields or ():
        if one.key == _NAME_FIELD and one.operator == "In":
            values = frozenset(one.values or ())
            found = values if found is None else found & values
    return found


def _required_mask(columns: Columns, pod: Pod) -> Mask:
    mask = np.ones(len(columns), np.bool_)
    for key, value in pod.node_selector.items():
        mask &= columns.requirement_mask(Requirement(key=key, operator="In", values=[value]))
    required = _terms(pod).required_during_scheduling_ignored_during_execution
    if required is not None:
        mask &= columns.selector_mask(required)
    return mask


def _fulfils(node: Node, pod: Pod) -> bool:
    """Whether one node matches the pod's own required terms."""
    labels = node.labels
    if any(labels.get(key) != value for key, value in pod.node_selector.items()):
        return False
    required = _terms(pod).required_during_scheduling_ignored_during_execution
    return required is None or required.matches(labels, node.name)


def _weights(columns: Columns, preferred: Iterable[PreferredSchedulingTerm]) -> Amounts:
    # parity v1.36.4: component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go
    total = np.zeros(len(columns), np.int64)
    for term in preferred:
        if term.weight:
            total[columns.term_mask(term.preference)] += term.weight
    total.flags.writeable = False
    return total
