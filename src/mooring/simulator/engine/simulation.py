"""One simulation: all its parts, and the loop that lets virtual time pass.

    heap ──action──> pods, nodes, workloads ──> API, controllers, kubelets ──changes──> scheduler
      ^                                                                                    │
      └──────────────────────── what is to happen later ────────────────────────────────────┘

It reads no clock and draws no numbers itself. `scenario_run` fills it with a scenario; whoever runs
it says when to stop.
"""

from collections.abc import Callable
from typing import Any, Final

from mooring.embedded.kubelet.kubelet import RUN_SECONDS, KubeletSettings
from mooring.embedded.resources import NODES, PODS, Obj
from mooring.embedded.status_errors import StatusError
from mooring.model.change import Change, Gone
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.scheduler.core_building import CoreOptions, build_core
from mooring.simulator.engine.api_cluster import EPOCH, ApiCluster
from mooring.simulator.engine.event_heap import EventHeap
from mooring.simulator.engine.light_pods import LightPods
from mooring.simulator.engine.node_evictions import NodeEvictions
from mooring.simulator.engine.node_failures import NodeFailures
from mooring.simulator.engine.plan_execution import PlanExecution
from mooring.simulator.engine.pods import Pods
from mooring.simulator.engine.recorder import Recorder
from mooring.simulator.engine.sampling import Sampler
from mooring.simulator.engine.scheduler_shell import Latencies, SchedulerShell
from mooring.simulator.engine.summary import summarize
from mooring.simulator.engine.unreachable_nodes import UnreachableNodes
from mooring.simulator.random_source import Streams
from mooring.simulator.result import SimulationResult
from mooring.simulator.scheduler_setup import SchedulerSetup
from mooring.state.cluster import Cluster

#: Whose pod it is, as an annotation of pods that controllers create.
WORKLOAD: Final = "mooring.dev/workload"
#: Nobody simulates longer than a year.
LONGEST_SECONDS: Final = 366 * 86_400.0
#: Failed decisions and bindings, and evictions that a budget forbids, are tried again for so long
#: after the last change.
_RETRY_SECONDS: Final = 600.0
#: So many steps are made between two looks at whether to go on.
_STEPS: Final = 16

#: Asked now and then with the virtual time; False breaks the simulation off.
GoOn = Callable[[float], bool]


class Simulation:
    """A cluster and a scheduler in virtual time.

    Args:
        setup: the scheduler's profiles.
        streams: where numbers are drawn from.
        latencies: how long things take.

    Attributes:
        heap: virtual time.
        cluster: objects, controllers, kubelets.
        state: the scheduler's state.
        core: the scheduler.
        pods: all pods.
        failures: nodes that stop answering.
        evictions: pods that have to leave their node.
        recorder: what happened.
        quiet_seconds: it goes on for so long after the last change; an autoscaler needs that.
    """

    def __init__(
        self, setup: SchedulerSetup, streams: Streams, latencies: Latencies | None = None
    ) -> None:
        latencies = latencies if latencies is not None else Latencies()
        heap = self.heap = EventHeap()
        kubelet = KubeletSettings(
            start_seconds=latencies.pod_start, stop_seconds=latencies.pod_stop
        )
        unreachable = self._unreachable = UnreachableNodes()
        self.cluster = ApiCluster(
            lambda: heap.now, kubelet, unreachable, keep_source=setup.keep_source
        )
        self.state = Cluster()
        self.recorder = Recorder()
        grace = latencies.node_monitor_grace_period
        self.failures = NodeFailures(unreachable, self.cluster, heap, self.recorder, grace)
        self.core = build_core(
            setup.profiles,
            setup.registry,
            self.state,
            lambda: int((EPOCH + heap.now) * 1e9),
            streams("ties").randrange,
            CoreOptions(setup.queue),
        )
        feed = self.cluster.changes.append
        light = LightPods(heap, self.recorder, feed, unreachable, latencies.pod_start)
        self.pods = Pods(light, self.cluster, self.recorder, heap, latencies.pod_stop)
        self._plans = PlanExecution(self.cluster, self.state, heap)
        self.shell = SchedulerShell(
            self.core, heap, self.pods, self._plans, self.recorder, latencies
        )
        self.evictions = NodeEvictions(self.state, self.pods, heap)
        self.quiet_seconds = 0.0
        self._sampler = Sampler(self.state, self.recorder)
        self._groups: dict[str, tuple[str, float]] = {}
        self._durations: dict[str, Callable[[], float]] = {}
        self._last_change = 0.0

    # -- what scenarios and autoscalers do

    def add_node(self, obj: Obj, group: str = "", price: float = 0.0) -> None:
        """Add a node.

        Raises:
            StatusError: something in it is wrong, or there is one of this name.
        """
        self._groups[obj["metadata"]["name"]] = (group, price)
        self.cluster.api.restore(NODES, obj)

    def remove_node(self, name: str) -> None:
        """Take a node away with everything on it; nothing happens if there is none."""
        self._unreachable.recover(name)
        self.evictions.lose(name)
        if self.cluster.api.store.get(NODES, "", name) is not None:
            self.cluster.api.delete(NODES, "", name)

    def draw_durations(self, workload: str, draw: Callable[[], float]) -> None:
        """Have each pod that controllers create for a workload run for a time of its own."""
        self._durations[workload] = draw

    # -- virtual time

    def run(self, until: float | None = None, go_on: GoOn = lambda _: True) -> bool:
        """Let time pass until nothing is left to happen, or so many seconds; whether it ended so.

        Args:
            until: the virtual time to end at; None for when nothing happens any more.
            go_on: asked now and then.
        """
        end = LONGEST_SECONDS if until is None else until
        steps = 0
        while True:
            self._settle()
            time = self._next_time()
            if time is None or time > end or (until is None and self._idle(time)):
                break
            self._sampler.catch_up(time)
            self._pass_to(time)
            steps += 1
            if steps % _STEPS == 0 and not go_on(self.heap.now):
                return False
        if until is not None:
            self.heap.now = until
        return True

    def result(self) -> SimulationResult:
        """What came of it so far."""
        self._sampler.end(self.heap.now)
        return summarize(self.recorder, self._sampler.series(), self.heap.now)

    def _next_time(self) -> float | None:
        action, work = self.heap.next_time(), self.cluster.next_time()
        if action is None or work is None:
            return work if action is None else action
        return min(action, work)

    def _pass_to(self, time: float) -> None:
        action = self.heap.next_time()
        if action is not None and action <= time:
            self.heap.step()
        else:
            self.heap.now = time  # controllers have something to do

    def _idle(self, time: float) -> bool:
        """Whether nothing will happen any more but looking after the cluster."""
        if self.heap.foreground or self.cluster.next_time() is not None:
            return False
        quiet = self.quiet_seconds
        if self.core.queue.counts()["backoff"] or self.evictions.draining:
            quiet = max(quiet, _RETRY_SECONDS)
        return time > self._last_change + quiet

    def _settle(self) -> None:
        """Let controllers do what is due, and show the scheduler what changed."""
        cluster = self.cluster
        while True:
            if cluster.busy:
                cluster.settle()
            if not cluster.changes:
                return
            changes = cluster.changes[:]
            cluster.changes.clear()
            if any(self._keeps_going(one) for one in self._plans.pop_others(changes)):
                self._last_change = self.heap.now
            for change in changes:
                self._seen(change)
            self.shell.handle(changes)
            for change in changes:
                self._follow(change)

    def _keeps_going(self, change: Change[Any]) -> bool:
        """Whether a change is more than what the scheduler tells of a pod that waits.

        One whose binding fails again and again has a nominated node now and none then, for ever.
        """
        thing = change.object
        if not isinstance(thing, Pod) or isinstance(change, Gone):
            return True
        known = self.state.pod(thing.namespace, thing.name)
        return bool(known is None or known.uid != thing.uid or thing.node_name or thing.deleting)

    def _seen(self, change: Change[Any]) -> None:
        """Note what happened to a pod or a node, before the scheduler sees it."""
        thing = change.object
        if isinstance(thing, Pod):
            if thing.uid in self.pods.light or thing.uid not in self.recorder.pods:
                if thing.uid in self.recorder.pods or isinstance(change, Gone):
                    return
                self._draw_duration(thing)
            self.pods.seen(change, thing.annotations.get(WORKLOAD, ""))
        elif isinstance(thing, Node):
            if isinstance(change, Gone):
                self.recorder.node_removed(thing.name, self.heap.now)
            elif thing.name not in self.state.nodes:
                group, price = self._groups.get(thing.name, ("", 0.0))
                self.recorder.node_added(thing, group, price, self.heap.now)

    def _draw_duration(self, pod: Pod) -> None:
        draw = self._durations.get(pod.annotations.get(WORKLOAD, ""))
        item = self.cluster.api.store.get(PODS, pod.namespace, pod.name)
        if draw is None or item is None or item.uid != pod.uid:
            return
        obj = item.obj
        obj["metadata"].setdefault("annotations", {})[RUN_SECONDS] = repr(round(draw(), 6))
        self.cluster.api.store.put(PODS, obj)

    def _follow(self, change: Change[Any]) -> None:
        """What follows from a change that the scheduler has seen."""
        thing = change.object
        if isinstance(thing, Pod):
            if isinstance(change, Gone):
                self.evictions.pod_gone(thing)
            elif thing.node_name and not thing.finished:
                self.evictions.pod_bound(thing)
        elif isinstance(thing, Node):
            if isinstance(change, Gone):
                self.evictions.node_gone(thing.name)
            else:
                self.evictions.node_changed(thing)

    def try_to(self, action: Callable[[], object]) -> str:
        """Do something that the API may reject; why it did, empty if it did not."""
        try:
            action()
        except StatusError as error:
            return str(error)
        return ""
