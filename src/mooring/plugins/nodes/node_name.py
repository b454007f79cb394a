"""NodeName: a pod that names its node goes there."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

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

_REJECTED: Final = reject("node(s) didn't match the requested node name", unresolvable=True)


class NodeName(FilterNodes, Requeues, Details, Remedies, Sign):
    """Rejects all nodes but the one that the pod names, if it names one."""

    name = "NodeName"
    reads = ()
    filter_scope = Scope.NODES

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts | None:
        """Reject all other nodes."""
        # parity v1.36.4: plugins/nodename/node_name.go
        if not pod.node_name:
            return None
        others = np.ones(len(nodes.columns), np.bool_)
        row = nodes.columns.row_of.get(pod.node_name)
        if row is not None:
            others[row] = False
        return Verdicts.where(nodes.take(others), _REJECTED)

    def requeue_on(self) -> Sequence[RequeueHint]:
        """A new node, which may have the name."""
        return (RequeueHint(Node, Action.ADD),)

    def details(self, rejected: RejectedNodes) -> str:
        """The node that the pod names."""
        name = rejected.pod.node_name
        there = "" if name in rejected.nodes.columns.row_of else ", which does not exist"
        return f"names the node {name}{there}"

    def remedies(self, case: RemedyCase) -> Iterator[Remedy]:
        """Leave the choice of the node to the scheduler."""
        yield Remedy(
            f"remove the node name {case.pod.node_name} from the pod",
            Cost.GIVE_UP_CONDITION,
            frozenset({"name"}),
            pod=changed_copies.with_spec(case.pod, node_name=None),
        )

    def sign(self, pod: Pod) -> str:
        """The node that the pod names."""
        return pod.node_name
