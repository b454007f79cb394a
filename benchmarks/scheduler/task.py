"""A workload on so many nodes, as the objects to create; called by `cluster` and `measuring`.

Most pods that are there at the start are created with their node already given, in turn over the
nodes or where a scheduler would put them. The last ones are left to the scheduler that is
measured, which warms up with them.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from benchmarks.scheduler import kinds
from benchmarks.scheduler.clients import Chain, Request, bind_pod, create_event, create_pod
from benchmarks.scheduler.kinds import Object, PodKind
from benchmarks.scheduler.workloads import Workload

#: Where pods trickle in while others are measured.
CHURN_NAMESPACE = "churn"
#: Where pods stay pending.
WAITING_NAMESPACE = "waiting"
#: So many replica sets there are to update.
REPLICA_SETS = 20

_WARM_UPS = 50


class BarePod(NamedTuple):
    """The requests about a pod that no scheduler is asked about.

    Attributes:
        create: create it, with all that belongs to it.
        bind: bind it, with all that a scheduler writes before.
        event: records that.
        remove: remove it, with all that belongs to it; nothing if pods stay.
    """

    create: Chain
    bind: Chain
    event: Request
    remove: Chain = ()


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

    @cached_property
    def zones(self) -> Mapping[str, str]:
        """The zone of each node by its name; empty if it has none."""
        return {
            node["metadata"]["name"]: node["metadata"]["labels"].get(kinds.ZONE, "")
            for node in self.node_manifests()
        }

    def namespaces(self) -> list[str]:
        """The names of all namespaces."""
        others = (CHURN_NAMESPACE, WAITING_NAMESPACE)
        return list(dict.fromkeys([*self.workload.namespaces, *others]))

    @property
    def waiting(self) -> int:
        """How many pods stay pending."""
        return self.nodes * self.workload.waiting[1]

    def others(self) -> Iterator[tuple[str, Object]]:
        """What else there is, with the path to create it at."""
        where = self.workload.namespaces[1]
        if self.workload.served:
            yield f"/api/v1/namespaces/{where}/services", kinds.SERVICE
        if self.workload.updated:
            for number in range(REPLICA_SETS):
                yield f"/apis/apps/v1/namespaces/{where}/replicasets", kinds.replica_set(number)

    def waiting_pods(self) -> Iterator[Object]:
        """The pods that stay pending."""
        for number in range(self.waiting):
            among = self.workload.waiting[0]
            yield among[number % len(among)].manifest(number, WAITING_NAMESPACE)

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

    def placed_chains(self) -> Iterator[Chain]:
        """The requests that create the pods on nodes, with all that belongs to them."""
        return ((create_pod(pod),) for pod in self.placed_pods())

    def warm_up_chains(self) -> Iterator[Chain]:
        """The requests that create the pods to warm up with."""
        return ((create_pod(pod),) for pod in self.warm_up_pods())

    def measured_chains(self) -> Iterator[Chain]:
        """The requests that create the measured pods."""
        return ((create_pod(pod),) for pod in self.measured_pods())

    def bare_pods(self, numbers: Iterable[int]) -> Iterator[BarePod]:
        """The workload's own pods, created and bound by the loop without a scheduler."""
        # To create or bind a pod with an affinity costs more than a plain one.
        namespace, kind = self.workload.namespaces[1], self.workload.pods
        for number in numbers:
            name, node = kind.name(number), kinds.node_name(number % self.nodes)
            yield BarePod(
                (create_pod(kind.manifest(number, namespace)),),
                (bind_pod(namespace, name, node),),
                create_event(namespace, name, node),
            )

    def _init_kind(self, number: int) -> PodKind:
        return self.workload.init[number // self.size.init]
