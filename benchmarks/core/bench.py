"""A cluster with pods on it, ready for decisions; used by all parts.

Pods that are on the cluster from the start were put there directly, evenly and within their own
rules; pods to place are decoded from JSON before any clock runs, each an object of its own as from
a watch. `Bench` never measures.
"""

import gc
import random
from collections.abc import Iterator

import msgspec

from benchmarks.command import BenchError
from benchmarks.core.workloads import NAMESPACE, Workload, node_name
from mooring.config.runtimes import build_profiles, build_runtime
from mooring.framework.runtime import Runtime
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.workloads import Namespace
from mooring.plugins.in_tree import default_registry
from mooring.state.cluster import Cluster

#: Pods that keep apart come in groups of one pod for so many nodes, as scheduler_perf's 1,000 pods
#: on 5,000 nodes. That leaves room for those to place, which belong to the first group.
NODES_PER_GROUPED_POD = 5
_SEED = 20260


class Bench:
    """A cluster and the default plugins on it.

    Args:
        workload: the kinds of pods.
        nodes: how many nodes there are.
        pods: how many pods are on them from the start.
    """

    def __init__(self, workload: Workload, nodes: int, pods: int) -> None:
        self.workload = workload
        self.nodes = nodes
        self.pods = pods
        self.cluster = Cluster()
        self.cluster.put(_namespace())
        for number in range(nodes):
            self.cluster.put_node(Node.from_json(workload.node(number), keep_source=False))
        for pod in self._first_pods():
            self.cluster.put_pod(pod)
        self.runtime = default_runtime(self.cluster)
        self._random = random.Random(_SEED)
        self._next = pods
        gc.collect()  # so that what an earlier bench left is not collected while a clock runs

    def _first_pods(self) -> Iterator[Pod]:
        kinds = self.workload.kinds
        group_size = max(1, self.nodes // NODES_PER_GROUPED_POD)
        homes = [
            [
                node_name(number)
                for number in range(self.nodes)
                if not kind.home or self.workload.zone(number) in kind.home
            ]
            for kind in kinds
        ]
        for number in range(self.pods):
            among_kind, place = divmod(number, len(kinds))
            home = homes[place]
            # Each kind starts elsewhere, so that few pods are not all on the same nodes.
            row = (place * len(home) // len(kinds) + among_kind) % len(home)
            body = kinds[place].pod(among_kind, among_kind // group_size, node=home[row])
            yield Pod.from_json(body, keep_source=False)

    def new_pods(self, count: int) -> list[Pod]:
        """Waiting pods that nobody has seen yet."""
        kinds = self.workload.kinds
        numbers = range(self._next, self._next + count)
        self._next += count
        return [
            Pod.from_json(kinds[place].pod(among_kind), keep_source=False)
            for among_kind, place in (divmod(number, len(kinds)) for number in numbers)
        ]

    def choose(self, pod: Pod) -> str:
        """Decide about a pod: one of the best nodes, by its name."""
        best = self.runtime.decide(pod).best
        if not len(best):
            raise BenchError(f"{pod.key} finds no room on {self.nodes} nodes.")
        row = int(best[self._random.randrange(len(best))])
        return self.cluster.columns.nodes[row].name

    def place(self, pods: list[Pod]) -> None:
        """Decide about pods, one after the other, and count each where it goes."""
        assume = self.cluster.assume
        for pod in pods:
            assume(pod, self.choose(pod))

    def take_back(self, pods: list[Pod]) -> None:
        """Remove placed pods, so that the cluster is again as it was."""
        for pod in pods:
            self.cluster.remove_pod(pod.key)


def default_runtime(cluster: Cluster) -> Runtime:
    """The default configuration's plugins on a cluster."""
    registry = default_registry()
    profile = build_profiles(None, registry)["default-scheduler"]
    return build_runtime(profile, registry, cluster, lambda: 0)


def _namespace() -> Namespace:
    labels = {"kubernetes.io/metadata.name": NAMESPACE}
    body = {"metadata": {"name": NAMESPACE, "labels": labels}}
    return Namespace.from_json(msgspec.json.encode(body))
