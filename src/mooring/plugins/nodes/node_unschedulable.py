"""NodeUnschedulable: keeps pods off cordoned nodes."""

from collections.abc import Iterator, Sequence
from typing import Final

from mooring.framework.details.rejected_nodes import RejectedNodes
from mooring.framework.hook import (
    Action,
    Details,
    FilterNodes,
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
from mooring.model.taints import NO_SCHEDULE, Taint
from mooring.plugins.pod_changes import is_same_pod
from mooring.plugins.shape_reader import ShapeReader
from mooring.state.aspects import Aspect
from mooring.state.columns import Columns
from mooring.state.shapes import Shape

_CORDONED: Final = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)
_REJECTED: Final = reject("node(s) were unschedulable", unresolvable=True)


class NodeUnschedulable(FilterNodes, Requeues, Details, Remedies, Sign, ShapeReader):
    """Rejects cordoned nodes, unless the pod tolerates the taint for it."""

    name = "NodeUnschedulable"
    reads = ()
    filter_scope = Scope.NODES

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts | None:
        """Reject cordoned nodes."""
        # parity v1.36.4: plugins/nodeunschedulable/node_unschedulable.go
        columns = nodes.columns
        rejected = columns.remember((self.name,), lambda: _rejected(columns), Aspect.TAINTS)
        if rejected is None or _tolerates(nodes.cycle.shape, pod):
            return None
        return Verdicts(nodes.take(rejected.choice), rejected.table)

    def requeue_on(self) -> Sequence[RequeueHint]:
        """A node that takes pods again, or a toleration for cordoned nodes."""
        return (
            RequeueHint(Node, Action.ADD | Action.UPDATE_NODE_TAINT, _uncordoned),
            RequeueHint(Pod, Action.UPDATE_POD_TOLERATION, _gained_toleration),
        )

    def details(self, rejected: RejectedNodes) -> str:
        """They are cordoned."""
        return f"may not use {'a cordoned node' if len(rejected.nodes) == 1 else 'cordoned nodes'}"

    def remedies(self, case: RemedyCase) -> Iterator[Remedy]:
        """Uncordon the node, or let the pod onto cordoned nodes."""
        yield Remedy(
            f"uncordon {case.node.name}",
            Cost.CHANGE_NODE,
            frozenset({"cordon"}),
            node=changed_copies.uncordoned(case.node),
            caution="first find out why it is cordoned",
        )
        yield Remedy(
            f"tolerate cordoned nodes ({_CORDONED})",
            Cost.TOLERATE_CORDON,
            frozenset({f"tolerate {_CORDONED}"}),
            pod=changed_copies.tolerating(case.pod, [_CORDONED]),
        )

    def sign(self, pod: Pod) -> bool:
        """Whether the pod tolerates cordoned nodes."""
        return _tolerates(self.shape_of(pod), pod)


def _rejected(columns: Columns) -> Verdicts | None:
    cordoned = columns.unschedulable
    return Verdicts.where(cordoned.copy(), _REJECTED) if cordoned.any() else None


def _tolerates(shape: Shape, pod: Pod) -> bool:
    known = shape.data.get(NodeUnschedulable.name)
    if known is None:
        known = any(one.tolerates(_CORDONED) for one in pod.tolerations)
        shape.data[NodeUnschedulable.name] = known
    return bool(known)


def _uncordoned(pod: Pod, old: Node | None, new: Node) -> bool:  # noqa: ARG001
    """Whether a node takes pods that did not before."""
    return not new.unschedulable and (old is None or old.unschedulable)


def _gained_toleration(pod: Pod, old: Pod, new: Pod) -> bool:  # noqa: ARG001
    """Whether the pod itself tolerates cordoned nodes now."""
    return is_same_pod(pod, new) and any(one.tolerates(_CORDONED) for one in new.tolerations)
