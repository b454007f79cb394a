"""TaintToleration: keeps pods off nodes whose taints they do not tolerate.

Nodes with the same taints get the same answer, so only the different sets of taints are looked at,
once for all pods with the same tolerations.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from mooring.framework.arrays import Amounts
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.row_answers import NormalizesByExtremes
from mooring.framework.details.rejected_nodes import RejectedNodes
from mooring.framework.hook import (
    Action,
    Details,
    FilterNodes,
    Normalize,
    PreScore,
    Remedies,
    RequeueHint,
    Requeues,
    ScoreNodes,
    Sign,
)
from mooring.framework.nodes import Nodes
from mooring.framework.remedies.remedy import Cost, Remedy, RemedyCase
from mooring.framework.scope import Scope
from mooring.framework.verdict import Verdicts, reject
from mooring.model import changed_copies
from mooring.model.node import Node
from mooring.model.node_facts import is_condition, is_control_plane
from mooring.model.pod import Pod
from mooring.model.taints import (
    NO_EXECUTE,
    NO_SCHEDULE,
    PREFER_NO_SCHEDULE,
    Taint,
    Toleration,
    untolerated,
)
from mooring.plugins.pod_changes import is_same_pod
from mooring.plugins.pod_keys import tolerations_key
from mooring.plugins.score_arithmetic import normalize_scores
from mooring.plugins.shape_reader import ShapeReader
from mooring.state.aspects import Aspect
from mooring.state.columns import Columns

_REJECTED: Final = reject("node(s) had untolerated taint(s)", unresolvable=True)


class TaintToleration(
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
    """Rejects nodes with taints that the pod does not tolerate; prefers few soft taints."""

    name = "TaintToleration"
    reads = ()
    filter_scope = Scope.NODES
    score_scope = Scope.NODES

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts | None:
        """Reject nodes with a NoSchedule or NoExecute taint that is not tolerated."""
        # parity v1.36.4: plugins/tainttoleration/taint_toleration.go
        columns, tolerations = nodes.columns, pod.tolerations
        rejected = columns.remember(
            (self.name, "filter", tolerations_key(pod, nodes.cycle.shape)),
            lambda: _rejected(columns, tolerations),
            Aspect.TAINTS,
        )
        return None if rejected is None else Verdicts(nodes.take(rejected.choice), rejected.table)

    def pre_score(self, cycle: Cycle, nodes: Nodes) -> None:
        """Nothing to prepare: what is computed is remembered with the nodes."""

    def score_nodes(self, pod: Pod, nodes: Nodes) -> Amounts:
        """How many PreferNoSchedule taints are not tolerated."""
        columns, tolerations = nodes.columns, pod.tolerations
        return nodes.take(
            columns.remember(
                (self.name, "score", tolerations_key(pod, nodes.cycle.shape)),
                lambda: _count_soft(columns, tolerations),
                Aspect.TAINTS,
            )
        )

    def normalize(self, cycle: Cycle, nodes: Nodes, scores: Amounts) -> Amounts:  # noqa: ARG002
        """The fewer taints, the better."""
        return normalize_scores(scores, reverse=True)

    def requeue_on(self) -> Sequence[RequeueHint]:
        """A node whose taints the pod tolerates now, or another toleration of the pod."""
        return (
            RequeueHint(Node, Action.ADD | Action.UPDATE_NODE_TAINT, _becomes_tolerated),
            RequeueHint(Pod, Action.UPDATE_POD_TOLERATION, _is_same_pod),
        )

    def details(self, rejected: RejectedNodes) -> list[str]:
        """The taints that are not tolerated."""
        tolerations = rejected.pod.tolerations
        return [_untolerated_text(node.taints, tolerations) for node in rejected.nodes]

    def remedies(self, case: RemedyCase) -> Iterator[Remedy]:
        """Tolerate the taints, or take them off the node; what is wrong with it is to be mended."""
        every = _untolerated(case.node.taints, case.pod.tolerations)
        wrong = [taint for taint in every if is_condition(taint)]
        if wrong:
            yield Remedy(
                f"repair {case.node.name}, which has {_named(wrong)}",
                Cost.MEND_NODE,
                frozenset({"mend"}),
                node=changed_copies.without_taints(case.node, wrong),
            )
        taints = [taint for taint in every if not is_condition(taint)]
        if not taints:
            return
        what = _named(taints)
        reserved = any(map(is_control_plane, taints))
        yield Remedy(
            f"tolerate {what}",
            Cost.GIVE_UP_CONDITION * len(taints) + (Cost.USE_CONTROL_PLANE if reserved else 0),
            frozenset(f"tolerate {taint}" for taint in taints),
            pod=changed_copies.tolerating(case.pod, taints),
            caution="the pod then runs on a control plane node" if reserved else "",
        )
        if reserved:
            return
        yield Remedy(
            f"remove {what} from {case.node.name}",
            Cost.REMOVE_TAINT * len(taints),
            frozenset(f"taint {taint}" for taint in taints),
            node=changed_copies.without_taints(case.node, taints),
        )

    def sign(self, pod: Pod) -> bytes:
        """The tolerations."""
        return tolerations_key(pod, self.shape_of(pod))


def _untolerated(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> list[Taint]:
    return [
        taint
        for taint in taints
        if taint.effect in (NO_SCHEDULE, NO_EXECUTE)
        and not any(one.tolerates(taint) for one in tolerations)
    ]


def _untolerated_text(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> str:
    return f"does not tolerate {_named(_untolerated(taints, tolerations))}"


def _named(taints: Sequence[Taint]) -> str:
    return f"the taint{'s' if taints[1:] else ''} {', '.join(map(str, taints))}"


def _rejected(columns: Columns, tolerations: list[Toleration]) -> Verdicts | None:
    answers = [untolerated(taints, tolerations) is not None for taints in columns.taint_sets]
    rejected = np.array(answers, np.bool_).take(columns.taint_ids)
    return Verdicts.where(rejected, _REJECTED) if rejected.any() else None


def _becomes_tolerated(pod: Pod, old: Node | None, new: Node) -> bool:
    """Whether the pod tolerates a node that it did not tolerate before."""
    tolerations = pod.tolerations
    if untolerated(new.taints, tolerations) is not None:
        return False
    return old is None or untolerated(old.taints, tolerations) is not None


def _is_same_pod(pod: Pod, old: Pod, new: Pod) -> bool:  # noqa: ARG001
    return is_same_pod(pod, new)


def _count_soft(columns: Columns, tolerations: list[Toleration]) -> Amounts:
    counts = [_soft(taints, tolerations) for taints in columns.taint_sets]
    found = np.array(counts, np.int64).take(columns.taint_ids)
    found.flags.writeable = False
    return found


def _soft(taints: tuple[Taint, ...], tolerations: list[Toleration]) -> int:
    return sum(
        taint.effect == PREFER_NO_SCHEDULE
        and not any(toleration.tolerates(taint) for toleration in tolerations)
        for taint in taints
    )
