"""NodePorts: keeps pods off nodes where their host ports are taken."""

from typing import Final

import numpy as np

from mooring.framework.cycle import Cycle
from mooring.framework.hook import SKIP, FilterNodes, PreFilter, PreFilterAnswer
from mooring.framework.nodes import Nodes
from mooring.framework.verdict import Verdicts, reject
from mooring.model.pod import Pod

_REFUSED: Final = reject("node(s) didn't have free ports for the requested pod ports")


class NodePorts(PreFilter, FilterNodes):
    """Refuses nodes where a host port of the pod is taken."""

    name = "NodePorts"

    def pre_filter(self, cycle: Cycle) -> PreFilterAnswer:
        """Skip pods without host ports."""
        return None if cycle.shape.host_ports else SKIP

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts | None:  # noqa: ARG002
        """Refuse nodes where a port is taken."""
        # parity v1.36.4: plugins/nodeports/node_ports.go
        taken = np.zeros(len(nodes), np.bool_)
        for ip, protocol, port in nodes.cycle.shape.host_ports:
            taken |= nodes.take(nodes.columns.port_mask(ip, protocol, port))
        return Verdicts.where(taken, _REFUSED) if taken.any() else None
