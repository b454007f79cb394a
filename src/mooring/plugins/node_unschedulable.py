"""NodeUnschedulable: keeps pods off cordoned nodes."""

from typing import Final

from mooring.framework.hook import FilterNodes
from mooring.framework.nodes import Nodes
from mooring.framework.verdict import Verdicts, reject
from mooring.model.pod import Pod
from mooring.model.taints import NO_SCHEDULE, Taint
from mooring.state.columns import Columns
from mooring.state.shapes import Shape

_CORDONED: Final = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)
_REFUSED: Final = reject("node(s) were unschedulable", unresolvable=True)


class NodeUnschedulable(FilterNodes):
    """Refuses cordoned nodes, unless the pod tolerates the taint for it."""

    name = "NodeUnschedulable"

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts | None:
        """Refuse cordoned nodes."""
        # parity v1.36.4: plugins/nodeunschedulable/node_unschedulable.go
        columns = nodes.columns
        refused = columns.remember((self.name,), lambda: _refused(columns))
        if refused is None or _tolerates(nodes.cycle.shape, pod):
            return None
        return Verdicts(nodes.take(refused.choice), refused.table)


def _refused(columns: Columns) -> Verdicts | None:
    cordoned = columns.unschedulable
    return Verdicts.where(cordoned.copy(), _REFUSED) if cordoned.any() else None


def _tolerates(shape: Shape, pod: Pod) -> bool:
    known = shape.data.get(NodeUnschedulable.name)
    if known is None:
        known = any(one.tolerates(_CORDONED) for one in pod.tolerations)
        shape.data[NodeUnschedulable.name] = known
    return bool(known)
