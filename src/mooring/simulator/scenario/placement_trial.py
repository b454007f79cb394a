"""Pods placed for a try, on a copy of the cluster, by the scheduler's own plugins.

The autoscaler asks whether pods would fit. What plugins would reserve, such as volumes, is not.
"""

from mooring.config.runtimes import build_runtime
from mooring.framework.decisions.decision_cycle import decide, without_extenders
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.simulator.scheduler_setup import SchedulerSetup
from mooring.state.cluster import Cluster


class PlacementTrial:
    """A copy of the cluster on which pods are placed.

    Args:
        cluster: the copy.
        setup: the scheduler.
    """

    def __init__(self, cluster: Cluster, setup: SchedulerSetup) -> None:
        self._cluster = cluster
        self._runtimes = {
            name: build_runtime(profile, setup.registry, cluster, lambda: 0)
            for name, profile in setup.profiles.items()
        }

    def add(self, node: Node) -> None:
        """A node more."""
        self._cluster.put_node(node)

    def place(self, pod: Pod) -> str | None:
        """Place a pod; the name of its node, None if it fits nowhere."""
        runtime = self._runtimes.get(pod.scheduler_name)
        if runtime is None:
            return None
        decision = without_extenders(decide(runtime, pod))
        if not len(decision.best):
            return None
        node = self._cluster.columns.nodes[int(decision.best[0])]
        self._cluster.assume(pod, node.name)
        return node.name
