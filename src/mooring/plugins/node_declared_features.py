"""NodeDeclaredFeatures: keeps pods off nodes whose kubelet does not have what they need."""

from collections.abc import Sequence
from typing import Final, cast

import numpy as np

from mooring.framework.cycle import Cycle
from mooring.framework.hook import (
    SKIP,
    Action,
    FilterNodes,
    PreFilter,
    PreFilterAnswer,
    Requeues,
    Wake,
)
from mooring.framework.nodes import Nodes
from mooring.framework.verdict import Verdicts, reject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.feature_requirements import required_features
from mooring.plugins.requeue_pods import is_itself
from mooring.state.columns import Columns
from mooring.state.shapes import Shape

_REFUSED: Final = reject("node(s) didn't match Pod's required features", unresolvable=True)


class NodeDeclaredFeatures(PreFilter, FilterNodes, Requeues):
    """Refuses nodes that do not declare the features the pod needs."""

    name = "NodeDeclaredFeatures"

    def pre_filter(self, cycle: Cycle) -> PreFilterAnswer:
        """Skip pods that need no feature."""
        return None if _needed(cycle.shape, cycle.pod) else SKIP

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts | None:
        """Refuse nodes that lack a feature."""
        # parity v1.36.4: plugins/nodedeclaredfeatures/nodedeclaredfeatures.go
        columns, needed = nodes.columns, _needed(nodes.cycle.shape, pod)
        refused = columns.remember((self.name, needed), lambda: _refused(columns, needed))
        return None if refused is None else Verdicts(nodes.take(refused.choice), refused.table)

    def requeue_on(self) -> Sequence[Wake]:
        """A node that declares something else, or a pod that needs something else."""
        return (
            Wake(Node, Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE, _declares_other),
            Wake(Pod, Action.UPDATE, _needs_other),
        )


def _declares_other(pod: Pod, old: Node | None, new: Node) -> bool:  # noqa: ARG001
    return old is None or (old.status.declared_features or []) != (
        new.status.declared_features or []
    )


def _needs_other(pod: Pod, old: Pod, new: Pod) -> bool:
    return is_itself(pod, new) and required_features(old) != required_features(new)


def _needed(shape: Shape, pod: Pod) -> frozenset[str]:
    known = shape.data.get(NodeDeclaredFeatures.name)
    if known is None:
        known = shape.data[NodeDeclaredFeatures.name] = required_features(pod)
    return cast("frozenset[str]", known)


def _refused(columns: Columns, needed: frozenset[str]) -> Verdicts | None:
    refused = np.fromiter(
        (not needed.issubset(node.status.declared_features or ()) for node in columns.nodes),
        np.bool_,
        len(columns),
    )
    return Verdicts.where(refused, _REFUSED) if refused.any() else None
