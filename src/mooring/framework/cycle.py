"""One decision in progress: the pod, the nodes and what plugins keep between hooks.

Made by the decision cycle for each pod and thrown away after the decision. A plugin keeps what it
computed in `pre_filter` under its own name: ``cycle.data[self.name]``.
"""

from typing import Any

from mooring.framework.nodes import Nodes
from mooring.framework.plans.plan import PluginPlan
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster
from mooring.state.shapes import Shape


class Cycle:
    """One decision for one pod.

    Attributes:
        pod: the pod to place.
        shape: the pod's compiled description.
        cluster: the state; read-only for plugins.
        data: what plugins keep between hooks, by plugin name.
        skipped: the plugins that returned `SKIP` from `pre_filter`.
        cleanups: what plugins want written because the pod fits nowhere, and who they are.
        thorough: every node is to be evaluated, for a record; a scheduler stops once it has found
        enough.
    """

    __slots__ = ("cleanups", "cluster", "data", "pod", "shape", "skipped", "thorough")

    def __init__(
        self, pod: Pod, cluster: Cluster, *, thorough: bool = False, key: str = ""
    ) -> None:
        self.thorough = thorough
        self.pod = pod
        self.shape: Shape = cluster.shape_of(pod, key)
        self.cluster = cluster
        self.data: dict[str, Any] = {}
        self.skipped: set[str] = set()
        self.cleanups: list[PluginPlan] = []

    def restart(self) -> None:
        """Forget what plugins keep: the decision is made anew."""
        self.data.clear()
        self.skipped.clear()
        self.cleanups.clear()

    @property
    def nodes(self) -> Nodes:
        """All nodes of the cluster."""
        # Made anew each time: two objects that know each other would wait for the collector.
        columns = self.cluster.columns
        return Nodes(columns.nodes, columns, cycle=self)
