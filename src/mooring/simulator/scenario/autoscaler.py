"""Node groups that grow and shrink, in the way of cluster-autoscaler.

Every scan: pods that no node can take are tried on copies of the cluster with new nodes of each
group; the expander chooses among the groups that help. A node that little is requested of for a
while, and whose pods fit elsewhere, is drained and removed. Whether a pod fits is decided by the
scheduler's own plugins on a fork of its state.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from mooring.config.runtimes import build_runtime
from mooring.framework.decisions.decision_cycle import decide, without_extenders
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.scheduler.queued_pod import SubQueue
from mooring.simulator.engine.simulation import Simulation
from mooring.simulator.pod_owners import stays_with_node
from mooring.simulator.random_source import RandomSource
from mooring.simulator.scenario import values
from mooring.simulator.scenario.expanders import Option, choose_option
from mooring.simulator.scenario.scalable_node_groups import ScalableNodeGroups
from mooring.simulator.scenario.schema import AutoscalerForm, NodeGroup
from mooring.simulator.scheduler_setup import SchedulerSetup
from mooring.state.cluster import Cluster
from mooring.wording import counted

#: So many pods are looked at in one scan, and so many nodes are added.
_MOST_PODS: Final = 2000
_MOST_NEW_NODES: Final = 1000
#: So many nodes that are empty are removed in one scan, and one that is not.
_MOST_EMPTY: Final = 10
_PENDING: Final = (SubQueue.UNSCHEDULABLE, SubQueue.BACKOFF)
_MEASURED: Final = ("cpu", "memory")


class Autoscaler:
    """Changes the node groups of a simulation.

    Args:
        simulation: the cluster.
        setup: the scheduler, whose plugins say whether a pod fits.
        groups: the node groups.
        form: how it behaves.
        numbers: for the expander ``random``, and for ties.
    """

    def __init__(
        self,
        simulation: Simulation,
        setup: SchedulerSetup,
        groups: ScalableNodeGroups,
        form: AutoscalerForm,
        numbers: RandomSource,
    ) -> None:
        self._simulation = simulation
        self._setup = setup
        self._groups = groups
        self._form = form
        self._numbers = numbers
        self._interval = values.seconds(form.scan_interval, ())
        self._delay = values.seconds(form.scale_down_delay, ())
        self._scaled = {
            name: one for name, one in groups.groups.items() if one.autoscaling is not None
        }
        self._upcoming: dict[str, int] = dict.fromkeys(self._scaled, 0)
        self._unneeded: dict[str, float] = {}
        self._leaving: set[str] = set()
        longest = max(
            values.seconds(one.autoscaling.startup, ())
            for one in self._scaled.values()
            if one.autoscaling is not None
        )
        simulation.quiet_seconds = self._delay + longest + 3 * self._interval

    def start(self) -> None:
        """Look after the cluster from now on."""
        self._simulation.heap.after(self._interval, self._scan, background=True)

    def _scan(self) -> None:
        pods = self._pending()
        grown = bool(pods) and self._scale_up(pods)
        if not grown:
            self._scale_down()
        self._simulation.heap.after(self._interval, self._scan, background=True)

    # -- up

    def _pending(self) -> list[Pod]:
        queue = self._simulation.core.queue
        waiting = [
            one.pod
            for one in queue
            if one.sub_queue in _PENDING and one.attempts and not one.pod.status.nominated_node_name
        ]
        return waiting[:_MOST_PODS]

    def _scale_up(self, pods: Sequence[Pod]) -> bool:
        """Have a group grow, if that helps; whether one does."""
        left = self._without_upcoming(pods)
        if not left:
            return False
        options = [
            option
            for name, group in self._scaled.items()
            if (option := self._option(name, group, left)) is not None
        ]
        if not options:
            return False
        chosen = choose_option(self._form.expander, options, self._numbers)
        self._grow(chosen.group, len(chosen.nodes))
        return True

    def _without_upcoming(self, pods: Sequence[Pod]) -> list[Pod]:
        """The pods that nodes which are on their way cannot take."""
        if not any(self._upcoming.values()):
            return list(pods)
        trial = _Trial(self._simulation.state.fork(), self._setup)
        for name, count in self._upcoming.items():
            for obj in self._groups.next_nodes(name, count):
                trial.add(Node.from_dict(obj))
        return [pod for pod in pods if trial.place(pod) is None]

    def _option(self, name: str, group: NodeGroup, pods: Sequence[Pod]) -> Option | None:
        """What would come of it if a group grew."""
        scaling = group.autoscaling
        assert scaling is not None  # noqa: S101 - only such groups are asked
        size = len(self._groups.here(name)) + self._upcoming[name]
        room = min(scaling.max - size, _MOST_NEW_NODES)
        if room <= 0:
            return None
        trial = _Trial(self._simulation.state.fork(), self._setup)
        candidates = iter(self._groups.next_nodes(name, self._upcoming[name] + room))
        for _ in range(self._upcoming[name]):
            next(candidates)
        used: dict[str, Node] = {}
        placed: list[Pod] = []
        rejected: set[int] = set()
        spare: Node | None = None
        for pod in pods:
            shape = id(self._simulation.state.shape_of(pod))
            if shape in rejected:
                continue
            where = trial.place(pod)
            if where is None and spare is None:
                obj = next(candidates, None)
                if obj is not None:
                    spare = Node.from_dict(obj)
                    trial.add(spare)
                    where = trial.place(pod)
            if where is None:
                rejected.add(shape)
                continue
            if spare is not None and where == spare.name:
                used[where] = spare
                spare = None
            if where in used:
                placed.append(pod)
        if not used:
            return None
        return Option(name, list(used.values()), placed, scaling.priority)

    def _grow(self, name: str, count: int) -> None:
        group = self._groups.groups[name]
        assert group.autoscaling is not None  # noqa: S101 - only such groups grow
        self._upcoming[name] += count
        seconds = values.seconds(group.autoscaling.startup, ())
        simulation = self._simulation
        message = f"{name} grows by {counted(count, 'node')}"
        simulation.recorder.note_event(simulation.heap.now, "scale-up", message)
        simulation.heap.after(seconds, partial(self._ready, name, count))

    def _ready(self, name: str, count: int) -> None:
        self._upcoming[name] -= count
        self._groups.add(name, count)

    # -- down

    def _scale_down(self) -> None:
        now = self._simulation.heap.now
        state = self._simulation.state
        unneeded = {}
        for name, group in self._scaled.items():
            scaling = group.autoscaling
            assert scaling is not None  # noqa: S101 - only such groups are looked at
            here = [one for one in self._groups.here(name) if one not in self._leaving]
            spare = len(here) - scaling.min
            for node in here:
                if spare > 0 and self._idle(state.nodes[node]):
                    unneeded[node] = self._unneeded.get(node, now)
        self._unneeded = unneeded
        due = [node for node, since in unneeded.items() if now - since >= self._delay]
        empty = [node for node in due if not self._movable(node)]
        chosen = empty[:_MOST_EMPTY]
        if not chosen:
            chosen = [node for node in due if self._fit_elsewhere(node)][:1]
        for node in chosen:
            group = self._groups.groups[self._groups.of(node)]
            here = [one for one in self._groups.here(group.name) if one not in self._leaving]
            if group.autoscaling is not None and len(here) > group.autoscaling.min:
                self._remove(node)

    def _idle(self, node: Node) -> bool:
        share = max(
            node.used[one] / node.allocatable[one] if node.allocatable[one] else 0.0
            for one in _MEASURED
        )
        if share >= self._form.utilization_threshold and self._movable(node.name):
            return False
        # parity: cluster-autoscaler keeps nodes with pods that nobody would create again
        return all(pod.controller is not None for pod in self._movable(node.name))

    def _movable(self, node: str) -> list[Pod]:
        return [one for one in self._simulation.evictions.on_node(node) if not stays_with_node(one)]

    def _fit_elsewhere(self, node: str) -> bool:
        pods = self._movable(node)
        fork = self._simulation.state.fork()
        for pod in self._simulation.evictions.on_node(node):
            fork.remove_pod(pod.key)
        fork.remove_node(node)
        trial = _Trial(fork, self._setup)
        return all(trial.place(pod.placed("", {})) is not None for pod in pods)

    def _remove(self, node: str) -> None:
        simulation = self._simulation
        self._leaving.add(node)
        self._unneeded.pop(node, None)
        simulation.recorder.note_event(simulation.heap.now, "scale-down", f"{node} is not needed")
        simulation.cluster.change_node(node, lambda obj: obj["spec"].update(unschedulable=True))
        simulation.evictions.drain(node, partial(self._gone, node))

    def _gone(self, node: str) -> None:
        self._simulation.remove_node(node)
        self._leaving.discard(node)


class _Trial:
    """A copy of the cluster on which pods are placed for a try."""

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
