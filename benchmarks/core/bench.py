"""A cluster with pods on it, ready for decisions; used by all parts.

Pods that are on the cluster from the start were put there directly, evenly and within their own
rules; pods to place are decoded from JSON and queued before any clock runs, each an object of its
own as from a watch. What places them is the core of `moor run`: it takes a pod from its queue,
decides, and says that it is to be bound. `Bench` never measures.
"""

import gc
import random
from collections.abc import Iterator

from benchmarks.command import BenchError
from benchmarks.core.plugin_clock import PluginClock
from benchmarks.core.workloads import Workload, node_name
from mooring.config.runtimes import build_profiles
from mooring.framework.decisions.decision_cycle import without_extenders
from mooring.model.change import Gone, Put
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.in_tree import default_registry
from mooring.scheduler.core import Core
from mooring.scheduler.core_building import CoreOptions, build_core
from mooring.scheduler.effects import Bind, Bound
from mooring.state.cluster import Cluster

#: Pods that keep apart come in groups of one pod for so many nodes, as scheduler_perf's 1,000 pods
#: on 5,000 nodes. That leaves room for those to place, which belong to the first group.
NODES_PER_GROUPED_POD = 5
_SEED = 20260
_PROFILE = "default-scheduler"


class Bench:
    """A cluster and a scheduler's core with the default plugins on it.

    Args:
        workload: the kinds of pods.
        nodes: how many nodes there are.
        pods: how many pods are on them from the start.

    Attributes:
        clock: watches the decisions, if it is switched on.
    """

    def __init__(self, workload: Workload, nodes: int, pods: int) -> None:
        self.workload = workload
        self.nodes = nodes
        self.pods = pods
        self.cluster = Cluster()
        for thing in workload.others():
            self.cluster.put(thing)
        for number in range(nodes):
            self.cluster.put_node(Node.from_json(workload.node(number), keep_source=False))
        for pod in self._first_pods():
            self.cluster.put_pod(pod)
        self.clock = PluginClock()
        self.core = _core(self.cluster, self.clock)
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
        """Waiting pods in the queue that nobody has looked at yet."""
        kinds = self.workload.kinds
        made = []
        for number in range(self._next, self._next + count):
            among_kind, place = divmod(number, len(kinds))
            pod = Pod.from_json(kinds[place].pod(among_kind), keep_source=False)
            # The number is the time: who is made first is placed first.
            self.core.handle((Put(pod),), float(number))
            made.append(pod)
        self._next += count
        return made

    def place(self, pods: list[Pod]) -> list[str]:
        """Decide about the pods that are next in the queue, one after the other.

        Returns:
            The names of their nodes.

        Raises:
            BenchError: another pod is next, or one finds no room.
        """
        schedule_one, now = self.core.schedule_one, float(self._next)
        names = []
        for pod in pods:
            cycle = schedule_one(now)
            effects = without_extenders(cycle) if cycle is not None else ()
            bind = next((one for one in effects if isinstance(one, Bind)), None)
            if bind is None or bind.pod is not pod:
                raise BenchError(f"{pod.key} finds no room on {self.nodes} nodes.")
            names.append(bind.binding.node_name)
        return names

    def seen_bound(self, pods: list[Pod], names: list[str]) -> list[Pod]:
        """Placed pods as a watch shows them after they were bound: new objects with a node."""
        kinds = {kind.name: kind for kind in self.workload.kinds}
        found = []
        for pod, name in zip(pods, names, strict=True):
            kind, _, number = pod.name.rpartition("-")
            body = kinds[kind].pod(int(number), node=name, phase="Pending")
            found.append(Pod.from_json(body, keep_source=False))
        return found

    def bound(self, pod: Pod, node: str) -> None:
        """The request that binds a pod was answered."""
        self.core.report(Bound(pod, node), float(self._next))

    def confirm(self, pod: Pod) -> None:
        """A watch shows a pod on its node."""
        self.core.handle((Put(pod),), float(self._next))

    def take_back(self, pods: list[Pod]) -> None:
        """Remove placed pods, so that the cluster is again as it was."""
        now = float(self._next)
        for pod in pods:
            self.core.report(Bound(pod, ""), now)
            self.core.handle((Gone(pod),), now)


def _core(cluster: Cluster, clock: PluginClock) -> Core:
    """The core of `moor run` with the default configuration."""
    registry = default_registry()
    profiles = build_profiles(None, registry)
    options = CoreOptions(observers={_PROFILE: clock})
    choose = random.Random(_SEED).randrange
    return build_core(profiles, registry, cluster, lambda: 0, choose, options)
