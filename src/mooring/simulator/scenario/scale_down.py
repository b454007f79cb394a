"""Which nodes the autoscaler removes: those not needed for a while, as cluster-autoscaler does.

    little is requested of it, its pods may be evicted and fit elsewhere ──> unneeded
    unneeded for long enough, no cooldown ──> empty: up to ten are removed at a time
                                          └─> else: one is drained at a time, then removed
    not drained in two minutes ──> uncordoned, and nothing is removed for three minutes

Whether pods fit elsewhere is decided by the scheduler's own plugins on a fork of its state.
"""

from functools import partial
from typing import Final

from mooring.embedded.controllers.nodes.node_lifecycle import NOT_READY, UNREACHABLE
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.simulator.disruption_budgets import Budgets
from mooring.simulator.engine.simulation import Simulation
from mooring.simulator.pod_owners import stays_with_node
from mooring.simulator.scenario import values
from mooring.simulator.scenario.placement_trial import PlacementTrial
from mooring.simulator.scenario.scalable_node_groups import ScalableNodeGroups
from mooring.simulator.scenario.schema import AutoscalerForm
from mooring.simulator.scheduler_setup import SchedulerSetup

#: Defaults of cluster-autoscaler: --max-scale-down-parallelism, --max-pod-eviction-time,
#: --scale-down-delay-after-failure.
_MOST_AT_ONCE: Final = 10
_EVICTION_SECONDS: Final = 120.0
_AFTER_FAILURE: Final = 180.0
_SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
_SYSTEM: Final = "kube-system"
_MEASURED: Final = ("cpu", "memory")
#: Of a node with one of these, only their use counts.
_GPUS: Final = ("nvidia.com/gpu", "amd.com/gpu")


class ScaleDown:
    """Removes nodes that are not needed.

    Args:
        simulation: the cluster.
        setup: the scheduler, whose plugins say whether pods fit elsewhere.
        groups: the node groups.
        form: how the autoscaler behaves.
    """

    def __init__(
        self,
        simulation: Simulation,
        setup: SchedulerSetup,
        groups: ScalableNodeGroups,
        form: AutoscalerForm,
    ) -> None:
        self._simulation = simulation
        self._setup = setup
        self._groups = groups
        self._threshold = form.scale_down_utilization_threshold
        self._unneeded_time = values.seconds(form.scale_down_unneeded_time, ())
        self._unneeded: dict[str, float] = {}
        self._leaving: dict[str, bool] = {}  # whether it had pods
        self._cooldown_until = 0.0

    def pause(self, seconds: float) -> None:
        """Remove nothing for so long; nodes that are not needed are noted all the same."""
        until = self._simulation.heap.now + seconds
        self._cooldown_until = max(self._cooldown_until, until)

    def scan(self) -> None:
        """See which nodes are not needed, and remove those that were not for long enough."""
        now = self._simulation.heap.now
        budgets = Budgets(self._simulation.state)
        found = (node for name in self._groups.scaled for node in self._candidates(name, budgets))
        self._unneeded = {node: self._unneeded.get(node, now) for node in found}
        if now < self._cooldown_until:
            return
        due = [node for node, at in self._unneeded.items() if now - at >= self._unneeded_time]
        free = max(_MOST_AT_ONCE - len(self._leaving), 0)
        chosen = [node for node in due if not self._evicted(node)][:free]
        if not chosen and free and not any(self._leaving.values()):
            chosen = [node for node in due if self._fit_elsewhere(node)][:1]
        for node in chosen:
            name = self._groups.of(node)
            if len(self._here(name)) > self._groups.scaled[name].min:
                self._remove(node)

    def _here(self, group: str) -> list[str]:
        return [one for one in self._groups.here(group) if one not in self._leaving]

    def _candidates(self, group: str, budgets: Budgets) -> list[str]:
        here = self._here(group)
        if len(here) <= self._groups.scaled[group].min:
            return []
        nodes = self._simulation.state.nodes
        return [one for one in here if self._not_needed(nodes[one], budgets)]

    def _not_needed(self, node: Node, budgets: Budgets) -> bool:
        if any(one.key in (NOT_READY, UNREACHABLE) for one in node.taints):
            return False  # nobody knows what is on it
        if _utilization(node) >= self._threshold:
            return False
        return all(_drainable(pod, budgets) for pod in self._evicted(node.name))

    def _evicted(self, node: str) -> list[Pod]:
        """The pods that a drain would evict."""
        return [one for one in self._simulation.evictions.on_node(node) if not stays_with_node(one)]

    def _fit_elsewhere(self, node: str) -> bool:
        pods = [one for one in self._evicted(node) if not one.deleting]
        fork = self._simulation.state.fork()
        for pod in self._simulation.evictions.on_node(node):
            fork.remove_pod(pod.key)
        fork.remove_node(node)
        trial = PlacementTrial(fork, self._setup)
        return all(trial.place(pod.placed("", {})) is not None for pod in pods)

    def _remove(self, node: str) -> None:
        simulation = self._simulation
        self._leaving[node] = bool(self._evicted(node))
        self._unneeded.pop(node, None)
        simulation.recorder.note_event(simulation.heap.now, "scale-down", f"{node} is not needed")
        cluster = simulation.cluster
        cluster.change_node(node, lambda obj: obj["spec"].update(unschedulable=True))
        give_up = partial(self._give_up, node)
        simulation.heap.after(_EVICTION_SECONDS, give_up, background=True)
        simulation.evictions.drain(node, partial(self._drained, node))

    def _drained(self, node: str) -> None:
        self._simulation.remove_node(node)
        self._leaving.pop(node, None)

    def _give_up(self, node: str) -> None:
        """A node is not drained in time: it is needed after all."""
        simulation = self._simulation
        if node not in self._leaving:
            return
        del self._leaving[node]
        simulation.evictions.stop_draining(node)
        cluster = simulation.cluster
        cluster.change_node(node, lambda obj: obj["spec"].pop("unschedulable", None))
        message = f"{node} stays: pods were not evicted in {_EVICTION_SECONDS:.0f} s"
        simulation.recorder.note_event(simulation.heap.now, "scale-down", message)
        self.pause(_AFTER_FAILURE)


def _utilization(node: Node) -> float:
    """The largest share that pods, those of DaemonSets too, request of what counts on a node."""
    # parity: cluster-autoscaler simulator/utilization/info.go Calculate
    counts = [one for one in _GPUS if node.allocatable[one]] or _MEASURED
    return max(
        node.used[one] / node.allocatable[one] if node.allocatable[one] else 0.0 for one in counts
    )


def _drainable(pod: Pod, budgets: Budgets) -> bool:
    """Whether a node may be drained for what one of its pods is like."""
    # parity: cluster-autoscaler simulator/drainability/rules
    safe = pod.annotations.get(_SAFE_TO_EVICT)
    if safe == "false" or not budgets.allow_eviction(pod):
        return False
    if safe == "true":
        return True
    return pod.controller is not None and (pod.namespace != _SYSTEM or bool(budgets.of(pod)))
