"""A small cluster with a few real plugins, on which pods look for room."""

from collections.abc import Sequence
from typing import Any

from mooring.config.plugin_entry import describe_plugin, extension_points_of
from mooring.framework import hook
from mooring.framework.cycle import Cycle
from mooring.framework.extension_points import PluginAtPoint
from mooring.framework.filtering import Filtering, Preemption, Rejection
from mooring.framework.handle import Ongoing
from mooring.framework.nodes import Nodes
from mooring.framework.runtime import Runtime
from mooring.framework.scope import Scope
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.model.workloads import PodDisruptionBudget
from mooring.plugins.affinity.inter_pod_affinity import InterPodAffinity
from mooring.plugins.nodes.node_affinity import NodeAffinity
from mooring.plugins.nodes.node_ports import NodePorts
from mooring.plugins.nodes.node_unschedulable import NodeUnschedulable
from mooring.plugins.nodes.taint_toleration import TaintToleration
from mooring.plugins.preemption.default_preemption import DefaultPreemption
from mooring.plugins.resources.node_resources_fit import NodeResourcesFit
from mooring.plugins.spread.pod_topology_spread import PodTopologySpread
from mooring.scheduler.preemptions_in_progress import PreemptionsInProgress
from mooring.state.cluster import Cluster
from mooring.testing import make_pod

_PLUGINS: Sequence[type[hook.Hook]] = (
    NodeUnschedulable,
    TaintToleration,
    NodeAffinity,
    NodePorts,
    NodeResourcesFit,
    PodTopologySpread,
    InterPodAffinity,
)


class Failing:
    """A filter that cannot be asked from outside."""

    name = "Failing"
    scope = Scope.NODES
    by_node = False

    def ask(self, pod: Pod, nodes: Nodes) -> None:
        raise RuntimeError("not here")


class Hidden:
    """A runtime as a handle whose filters fail, so that it has to be asked itself."""

    filters = (Failing(),)

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.cluster = runtime.cluster
        self.now_ns = runtime.now_ns
        self.choose = runtime.choose
        self.waiting = runtime.waiting
        self.preempting = runtime.preempting
        self.asked = 0

    def rejection(self, cycle: Cycle, row: int) -> Rejection | None:
        self.asked += 1
        return self._runtime.rejection(cycle, row)

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        self._runtime.add_pod(cycle, pod, row)

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        self._runtime.remove_pod(cycle, pod, row)


class Rig:
    """The cluster, its runtime and the plugin under test."""

    def __init__(
        self,
        *things: KubeObject,
        more: Sequence[hook.Hook] = (),
        args: dict[str, Any] | None = None,
    ) -> None:
        self.cluster = Cluster()
        for thing in things:
            self.cluster.put(thing)
        self.preemptions = PreemptionsInProgress()
        self.runtime = Runtime(self.cluster, ongoing=Ongoing(preemptions=self.preemptions))
        plugins = [describe_plugin(kind).make({}, self.runtime, "args") for kind in _PLUGINS]
        plugin = describe_plugin(DefaultPreemption).make(args or {}, self.runtime, "args")
        assert isinstance(plugin, DefaultPreemption)
        self.plugin = plugin
        placed: dict[str, list[PluginAtPoint]] = {}
        for one in (*plugins, *more, plugin):
            for point in extension_points_of(type(one)):
                placed.setdefault(point, []).append(
                    PluginAtPoint(one.name or type(one).__name__, one)
                )
        self.runtime.install("test", placed)

    def failed(self, pod: Pod) -> tuple[Cycle, Filtering]:
        """The decision that found no node."""
        cycle = Cycle(pod, self.cluster)
        filtering = self.runtime.filter_walk.run(cycle)
        assert not len(filtering.feasible)
        return cycle, filtering

    def search(self, pod: Pod, **options: Any) -> Preemption:
        return self.plugin.search(*self.failed(pod), **options)

    def state(self) -> dict[str, object]:
        """Everything that is counted for the pods, to be compared."""
        columns = self.cluster.columns
        amounts = {name: columns.used(name).tolist() for name in ("cpu", "memory", "pods")}
        pods = [sorted(pod.key for pod in columns.usage(row).pods) for row in range(len(columns))]
        ports = {port: columns.port_mask("127.0.0.1", "TCP", port).tolist() for port in (80, 443)}
        scoring = (columns.nonzero_cpu.tolist(), columns.nonzero_memory.tolist())
        return {"amounts": amounts, "pods": pods, "ports": ports, "scoring": scoring}


def low(
    name: str, node: str, priority: int = 0, *, cpu: str = "1", start: str = "", **more: Any
) -> Pod:
    """A running pod; `start` is the hour and minute at which it started."""
    conditions = more.pop("conditions", None)
    deleted = more.pop("deleted", False)
    raw = dict(make_pod(name, node=node, priority=priority, requests={"cpu": cpu}, **more).raw)
    if start:
        raw["status"] = {**raw["status"], "startTime": f"2026-01-01T{start}:00Z"}
    if conditions is not None:
        raw["status"] = {**raw["status"], "conditions": conditions}
    if deleted:
        raw["metadata"] = {**raw["metadata"], "deletionTimestamp": "2026-01-02T00:00:00Z"}
    return Pod.from_dict(raw)


def high(cpu: str = "4", priority: int = 100, nominated: str = "", **more: Any) -> Pod:
    """A waiting pod that wants room."""
    raw = dict(make_pod("high", requests={"cpu": cpu}, priority=priority, **more).raw)
    if nominated:
        raw["status"] = {**raw["status"], "nominatedNodeName": nominated}
    return Pod.from_dict(raw)


def budget(
    name: str, allowed: int, selector: dict[str, Any] | None, *, namespace: str = "default",
    disrupted: Sequence[str] = (),
) -> PodDisruptionBudget:  # fmt: skip
    return PodDisruptionBudget.from_dict(
        {
            "metadata": {"name": name, "namespace": namespace},
            "spec": {} if selector is None else {"selector": selector},
            "status": {
                "disruptionsAllowed": allowed,
                "disruptedPods": dict.fromkeys(disrupted, "2026-01-01T00:00:00Z"),
            },
        }
    )
