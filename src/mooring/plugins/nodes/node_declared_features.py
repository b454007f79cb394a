"""NodeDeclaredFeatures: keeps pods off nodes whose kubelet does not have what they need."""

from collections.abc import Iterator, Sequence
from typing import Final, cast

import numpy as np

from mooring.framework.cycle import Cycle
from mooring.framework.details.rejected_nodes import RejectedNodes
from mooring.framework.hook import (
    SKIP,
    Action,
    Details,
    FilterNodes,
    PreFilter,
    PreFilterAnswer,
    Remedies,
    RequeueHint,
    Requeues,
    Sign,
)
from mooring.framework.nodes import Nodes
from mooring.framework.remedies.remedy import Cost, Remedy, RemedyCase
from mooring.framework.scope import Scope
from mooring.framework.verdict import Verdicts, reject
from mooring.model import changed_copies
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.nodes.feature_requirements import required_features
from mooring.plugins.pod_changes import is_same_pod
from mooring.plugins.shape_reader import ShapeReader
from mooring.state.aspects import Aspect
from mooring.state.columns import Columns
from mooring.state.shapes import Shape

_REJECTED: Final = reject("node(s) didn't match Pod's required features", unresolvable=True)


class NodeDeclaredFeatures(PreFilter, FilterNodes, Requeues, Details, Remedies, Sign, ShapeReader):
    """Rejects nodes that do not declare the features the pod needs."""

    name = "NodeDeclaredFeatures"
    reads = ()
    filter_scope = Scope.NODES

    def pre_filter(self, cycle: Cycle) -> PreFilterAnswer:
        """Skip pods that need no feature."""
        return None if _needed(cycle.shape, cycle.pod) else SKIP

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts | None:
        """Reject nodes that lack a feature."""
        # parity v1.36.4: plugins/nodedeclaredfeatures/nodedeclaredfeatures.go
        columns, needed = nodes.columns, _needed(nodes.cycle.shape, pod)
        rejected = columns.remember(
            (self.name, needed), lambda: _rejected(columns, needed), Aspect.DECLARED_FEATURES
        )
        return None if rejected is None else Verdicts(nodes.take(rejected.choice), rejected.table)

    def requeue_on(self) -> Sequence[RequeueHint]:
        """A node that declares something else, or a pod that needs something else."""
        return (
            RequeueHint(Node, Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE, _declares_other),
            RequeueHint(Pod, Action.UPDATE, _needs_other),
        )

    def details(self, rejected: RejectedNodes) -> list[str]:
        """The features that the kubelets do not declare."""
        needed = required_features(rejected.pod)
        return [
            f"needs a kubelet that declares {' and '.join(sorted(needed - declared))}"
            for declared in ({*(one.status.declared_features or ())} for one in rejected.nodes)
        ]

    def remedies(self, case: RemedyCase) -> Iterator[Remedy]:
        """Run another kubelet."""
        declared = {*(case.node.status.declared_features or ())}
        missing = sorted(required_features(case.pod) - declared)
        yield Remedy(
            f"run a kubelet on {case.node.name} that declares {' and '.join(missing)}",
            Cost.REPLACE_KUBELET,
            frozenset({"features"}),
            node=changed_copies.with_features(case.node, missing),
        )

    def sign(self, pod: Pod) -> frozenset[str]:
        """The features that the pod needs."""
        return _needed(self.shape_of(pod), pod)


def _declares_other(pod: Pod, old: Node | None, new: Node) -> bool:  # noqa: ARG001
    return old is None or (old.status.declared_features or []) != (
        new.status.declared_features or []
    )


def _needs_other(pod: Pod, old: Pod, new: Pod) -> bool:
    return is_same_pod(pod, new) and required_features(old) != required_features(new)


def _needed(shape: Shape, pod: Pod) -> frozenset[str]:
    known = shape.data.get(NodeDeclaredFeatures.name)
    if known is None:
        known = shape.data[NodeDeclaredFeatures.name] = required_features(pod)
    return cast("frozenset[str]", known)


def _rejected(columns: Columns, needed: frozenset[str]) -> Verdicts | None:
    rejected = np.fromiter(
        (not needed.issubset(node.status.declared_features or ()) for node in columns.nodes),
        np.bool_,
        len(columns),
    )
    return Verdicts.where(rejected, _REJECTED) if rejected.any() else None
