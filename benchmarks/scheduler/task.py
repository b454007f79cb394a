"""A workload on so many nodes, as the objects to create; called by `cluster` and `measuring`.

Most pods that are there at the start are created with their node already given, in turn over the
nodes or where a scheduler would put them. The last ones are left to the scheduler that is
measured, which warms up with them.
"""

from collections.abc import Iterator

from benchmarks.scheduler import kinds
from benchmarks.scheduler.kinds import Object, PodKind
from benchmarks.scheduler.workloads import Workload

#: Where pods trickle in while others are measured.
CHURN_NAMESPACE = "churn"

_WARM_UPS = 50


class Task:
    """A workload on so many nodes.

    Attributes:
        workload: the workload.
        nodes: how many nodes, besides that of a daemon set.
        size: how many pods.
        placed: how many pods are created on a node.
    """

    def __init__(self, workload: Workload, nodes: int, *, quick: bool = False) -> None:
        self.workload = workload
        self.nodes = nodes
        self.size = workload.size(nodes, quick=quick)
        self.placed = max(0, self.init_pods - _WARM_UPS)

    @property
    def init_pods(self) -> int:
        """How many pods are there at the start."""
        return self.size.init * len(self.workload.init)

    def node_manifests(self) -> list[Object]:
        """The nodes."""
        nodes = [kinds.node(number, self.workload.zones) for number in range(self.nodes)]
        return [kinds.daemon_node(), *nodes] if self.workload.daemon else nodes

    def namespaces(self) -> list[str]:
        """The names of all namespaces."""
        return list(dict.fromkeys([*self.workload.namespaces, CHURN_NAMESPACE]))

    def placed_pods(self) -> Iterator[Object]:
        """The pods that are created on nodes."""
        for number in range(self.placed):
            kind = self._init_kind(number)
            node = kinds.node_name(number // kind.together % self.nodes)
            yield kind.manifest(number, self.workload.namespaces[0], node)

    def warm_up_pods(self) -> Iterator[Object]:
        """The pods that the measured scheduler places before the measured ones."""
        for number in range(self.placed, self.init_pods):
            yield self._init_kind(number).manifest(number, self.workload.namespaces[0])

    def measured_pods(self) -> Iterator[Object]:
        """The pods whose binding is measured."""
        for number in range(self.size.pods):
            yield self.workload.pods.manifest(number, self.workload.namespaces[1])

    def _init_kind(self, number: int) -> PodKind:
        return self.workload.init[number // self.size.init]
