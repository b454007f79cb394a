"""Node groups that grow and shrink, in the way of cluster-autoscaler.

Every scan: pods that no node can take are tried on copies of the cluster with new nodes of each
group; the expander chooses among the groups that help. If none grows, `scale_down` looks for nodes
that are not needed. Whether a pod fits is decided by the scheduler's own plugins on a fork of its
state.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.scheduler.queued_pod import SubQueue
from mooring.simulator.engine.simulation import Simulation
from mooring.simulator.random_source import RandomSource
from mooring.simulator.scenario import values
from mooring.simulator.scenario.expanders import Option, choose_option
from mooring.simulator.scenario.placement_trial import PlacementTrial
from mooring.simulator.scenario.scalable_node_groups import ScalableNodeGroups
from mooring.simulator.scenario.scale_down import ScaleDown
from mooring.simulator.scenario.schema import AutoscalerForm
from mooring.simulator.scheduler_setup import SchedulerSetup
from mooring.wording import counted

#: So many pods are looked at in one scan, and so many nodes are added.
_MOST_PODS: Final = 2000
_MOST_NEW_NODES: Final = 1000
_PENDING: Final = (SubQueue.UNSCHEDULABLE, SubQueue.BACKOFF)


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
        self._after_add = values.seconds(form.scale_down_delay_after_add, ())
        self._scale_down = ScaleDown(simulation, setup, groups, form)
        self._upcoming: dict[str, int] = dict.fromkeys(groups.scaled, 0)
        longest = max(values.seconds(one.startup, ()) for one in groups.scaled.values())
        unneeded = values.seconds(form.scale_down_unneeded_time, ())
        wait = max(unneeded, self._after_add)
        simulation.quiet_seconds = wait + longest + 3 * self._interval

    def start(self) -> None:
        """Look after the cluster from now on."""
        self._simulation.heap.after(self._interval, self._scan, background=True)

    def _scan(self) -> None:
        pods = self._pending()
        grown = bool(pods) and self._scale_up(pods)
        if not grown:
            self._scale_down.scan()
        self._simulation.heap.after(self._interval, self._scan, background=True)

    # -- up

    def _pending(self) -> list[Pod]:
        queue = self._simulation.core.queue
        # Without any node, every attempt is an error to the scheduler.
        places = _PENDING if self._simulation.state.nodes else (*_PENDING, SubQueue.ERROR_BACKOFF)
        waiting = [
            one.pod
            for one in queue
            if one.sub_queue in places and one.attempts and not one.pod.status.nominated_node_name
        ]
        return waiting[:_MOST_PODS]

    def _scale_up(self, pods: Sequence[Pod]) -> bool:
        """Have a group grow, if that helps; whether one does."""
        left = self._without_upcoming(pods)
        if not left:
            return False
        options = [
            option
            for name in self._groups.scaled
            if (option := self._option(name, left)) is not None
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
        trial = PlacementTrial(self._simulation.state.fork(), self._setup)
        for name, count in self._upcoming.items():
            for obj in self._groups.next_nodes(name, count):
                trial.add(Node.from_dict(obj))
        return [pod for pod in pods if trial.place(pod) is None]

    def _option(self, name: str, pods: Sequence[Pod]) -> Option | None:
        """What would come of it if a group grew."""
        scaling = self._groups.scaled[name]
        size = len(self._groups.here(name)) + self._upcoming[name]
        room = min(scaling.max - size, _MOST_NEW_NODES)
        if room <= 0:
            return None
        trial = PlacementTrial(self._simulation.state.fork(), self._setup)
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
        self._upcoming[name] += count
        self._scale_down.pause(self._after_add)
        seconds = values.seconds(self._groups.scaled[name].startup, ())
        simulation = self._simulation
        message = f"{name} grows by {counted(count, 'node')}"
        simulation.recorder.note_event(simulation.heap.now, "scale-up", message)
        simulation.heap.after(seconds, partial(self._ready, name, count))

    def _ready(self, name: str, count: int) -> None:
        self._upcoming[name] -= count
        problem = self._simulation.try_to(partial(self._groups.add, name, count))
        if problem:
            self._simulation.recorder.note_event(self._simulation.heap.now, "rejected", problem)
