"""NodePorts: keeps pods off nodes where their host ports are taken."""

from collections.abc import Iterator, Sequence
from typing import Final

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
from mooring.plugins.pod_changes import is_assigned_or_nominated, stays_away
from mooring.plugins.shape_reader import ShapeReader
from mooring.state.compiled_spec import host_ports

_ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104
_REJECTED: Final = reject("node(s) didn't have free ports for the requested pod ports")


class NodePorts(PreFilter, FilterNodes, Requeues, Details, Remedies, Sign, ShapeReader):
    """Rejects nodes where a host port of the pod is taken."""

    name = "NodePorts"
    reads = ()
    filter_scope = Scope.ROW

    def pre_filter(self, cycle: Cycle) -> PreFilterAnswer:
        """Skip pods without host ports."""
        return None if cycle.shape.host_ports else SKIP

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts | None:  # noqa: ARG002
        """Reject nodes where a port is taken."""
        # parity v1.36.4: plugins/nodeports/node_ports.go
        taken = np.zeros(len(nodes), np.bool_)
        for ip, protocol, port in nodes.cycle.shape.host_ports:
            taken |= nodes.take(nodes.columns.port_mask(ip, protocol, port))
        return Verdicts.where(taken, _REJECTED) if taken.any() else None

    def requeue_on(self) -> Sequence[RequeueHint]:
        """A new node, or a pod gone that had one of the ports."""
        return (RequeueHint(Pod, Action.DELETE, _frees_port), RequeueHint(Node, Action.ADD))

    def details(self, rejected: RejectedNodes) -> list[str]:
        """The ports that are taken, and on one node by whom."""
        nodes, wanted = rejected.nodes, host_ports(rejected.pod)
        masks = [(port[2], nodes.take(nodes.columns.port_mask(*port))) for port in wanted]
        texts = []
        for place in range(len(nodes)):
            taken = sorted({number for number, mask in masks if mask[place]})
            texts.append(f"needs {_named(taken)}, {'which are' if taken[1:] else 'which is'} taken")
        if len(texts) == 1:
            row = nodes.columns.row_of[nodes[0].name]
            for other in nodes.cycle.cluster.pods_on(row):
                if any(_clash(mine, one) for mine in wanted for one in host_ports(other)):
                    return [f"{texts[0]} by {other.key}"]
        return texts

    def remedies(self, case: RemedyCase) -> Iterator[Remedy]:
        """Do without the ports that are taken, or take a pod off the node that has one."""
        columns = case.cluster.columns
        row = columns.row_of[case.node.name]
        taken = {
            port for port in host_ports(case.pod) if columns.port_mask(*port)[row] or case.nominated
        }
        numbers = sorted({number for _, _, number in taken})
        ports = _named(numbers)
        yield Remedy(
            f"remove {ports} from the pod",
            Cost.GIVE_UP_PORT * len(numbers),
            frozenset(f"port {number}" for number in numbers),
            pod=changed_copies.without_host_ports(case.pod, numbers),
        )
        for other in filter(stays_away, case.cluster.pods_on(row)):
            theirs = {(protocol, number) for _, protocol, number in host_ports(other)}
            if theirs & {(protocol, number) for _, protocol, number in taken}:
                yield Remedy.take_off(other, f", which has {ports}")

    def sign(self, pod: Pod) -> frozenset[tuple[str, str, int]]:
        """The host ports."""
        return frozenset(self.shape_of(pod).host_ports)


def _named(numbers: Sequence[int]) -> str:
    return f"the host port{'s' if numbers[1:] else ''} {', '.join(map(str, numbers))}"


def _frees_port(pod: Pod, old: Pod, new: None) -> bool:  # noqa: ARG001
    """Whether a pod that is gone had a port that the pending pod wants."""
    if not is_assigned_or_nominated(old):
        return False
    wanted = host_ports(pod)
    return any(_clash(port, other) for port in host_ports(old) for other in wanted)


def _clash(one: tuple[str, str, int], other: tuple[str, str, int]) -> bool:
    # parity v1.36.4: framework/types.go HostPortInfo.CheckConflict
    return one[1:] == other[1:] and (one[0] == other[0] or _ANY_ADDRESS in (one[0], other[0]))
