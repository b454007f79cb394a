"""TaintToleration: keeps pods off nodes whose taints they do not tolerate.

Nodes with the same taints get the same answer, so only the different sets of taints are looked at,
once for all pods with the same tolerations.
"""

from collections.abc import Sequence
from typing import Final, cast

import msgspec
import numpy as np

from mooring.framework.arrays import Amounts
from mooring.framework.cycle import Cycle
from mooring.framework.hook import (
    Action,
    FilterNodes,
    Normalize,
    PreScore,
    RequeueHint,
    Requeues,
    ScoreNodes,
)
from mooring.framework.nodes import Nodes
from mooring.framework.verdict import Verdicts, reject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.taints import PREFER_NO_SCHEDULE, Taint, Toleration, untolerated
from mooring.plugins.pod_changes import is_same_pod
from mooring.plugins.score_arithmetic import normalize_scores
from mooring.state.aspects import Aspect
from mooring.state.columns import Columns
from mooring.state.shapes import Shape

_REJECTED: Final = reject("node(s) had untolerated taint(s)", unresolvable=True)
_encode = msgspec.msgpack.Encoder().encode


class TaintToleration(FilterNodes, PreScore, ScoreNodes, Normalize, Requeues):
    """Rejects nodes with taints that the pod does not tolerate; prefers few soft taints."""

    name = "TaintToleration"

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts | None:
        """Reject nodes with a NoSchedule or NoExecute taint that is not tolerated."""
        # parity v1.36.4: plugins/tainttoleration/taint_toleration.go
        columns, tolerations = nodes.columns, pod.tolerations
        rejected = columns.remember(
            (self.name, "filter", _key(nodes.cycle.shape, tolerations)),
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
                (self.name, "score", _key(nodes.cycle.shape, tolerations)),
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


def _key(shape: Shape, tolerations: list[Toleration]) -> bytes:
    known = shape.data.get(TaintToleration.name)
    if known is None:
        known = shape.data[TaintToleration.name] = _encode(tolerations)
    return cast("bytes", known)


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
