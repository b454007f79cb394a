"""The scheduler's heart: changes and reports in, effects out.

    informers ──changes──> handle ─┐
                                   ├──> queue ──> schedule_one ──> effects
    shell ────reports────> report ─┘

`Core` owns which pod is where: waiting in the queue, being decided, waiting for permission, being
bound. The cluster's state is its own; every method is called by one thread, and time is passed in.
"""

import functools
import logging
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Any, NamedTuple

from msgspec.structs import replace

from mooring.errors import MooringError
from mooring.framework import foreign
from mooring.framework.binding import Binding
from mooring.framework.cluster_events import ClusterEvent, event_between
from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Rejection
from mooring.framework.hook import Action
from mooring.framework.runtime import Runtime
from mooring.log_kinds import failure_of
from mooring.model.change import Gone, Put
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.scheduler.effects import (
    AskExtenders,
    Bind,
    BindFailed,
    Bound,
    Effect,
    PatchStatus,
    PreemptVictims,
    RecordEvent,
    Report,
    VictimsPreempted,
    failed_scheduling,
)
from mooring.scheduler.preemptions_in_progress import PreemptingPlugin, PreemptionsInProgress
from mooring.scheduler.queue import Queue
from mooring.scheduler.queued_pod import QueuedPod, SubQueue
from mooring.scheduler.scheduling_cycle import Choose, Chosen, NoNode, choose_node
from mooring.scheduler.waiting_pods import WaitingPod, WaitingPods
from mooring.state.cluster import Cluster

log = logging.getLogger("mooring.scheduler")

UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"
#: One decision: questions to extenders come out, answers go in, effects are the result.
SchedulingCycle = Generator[AskExtenders, Any, list[Effect]]


class BindingCycle(NamedTuple):
    """A pod that is being bound, and since when."""

    queued: QueuedPod
    cycle: Cycle
    node: Node
    since: float


class Core:
    """Decides about pods of several profiles on one cluster.

    Args:
        runtimes: the plugins by scheduler name, all on this cluster.
        cluster: the state.
        queue: the waiting pods.
        choose: picks one of so many equals.
        extended: whether extenders take part for a pod.
    """

    def __init__(
        self,
        runtimes: Mapping[str, Runtime],
        cluster: Cluster,
        queue: Queue,
        choose: Choose,
        extended: Callable[[Pod], bool] | None = None,
    ) -> None:
        self.cluster = cluster
        self.queue = queue
        self._runtimes = runtimes
        self.waiting = WaitingPods()
        self._choose = choose
        self._extended = extended
        # By unique id: a pod may be gone, and another of its name there, before its report comes.
        self._binding_cycles: dict[str, BindingCycle] = {}
        self._preemptions = PreemptionsInProgress()
        # Pods that will look for victims when it is seen what becomes of those of others.
        self._deferred: dict[str, Pod] = {}

    @property
    def waiting(self) -> WaitingPods:
        """The pods that wait for permission; plugins see them through their handles."""
        return self._waiting

    @waiting.setter
    def waiting(self, waiting: WaitingPods) -> None:
        self._waiting = waiting
        for runtime in self._runtimes.values():
            runtime.waiting = waiting

    @property
    def binding(self) -> list[BindingCycle]:
        """The pods that are being bound; two may have one name, if the first is deleted by now."""
        return list(self._binding_cycles.values())

    # -- changes of the cluster

    def handle(self, changes: Iterable[Put[Any] | Gone[Any]], now: float) -> list[Effect]:
        """Apply what informers saw, in order."""
        for change in changes:
            thing: KubeObject = change.object
            put = isinstance(change, Put)
            if isinstance(thing, Pod):
                self._on_pod(thing if put and not thing.finished else None, thing, now)
            elif isinstance(thing, Node):
                old_node = self.cluster.nodes.get(thing.name)
                new_node = self.cluster.put_node(thing) if put else None
                if not put:
                    self.cluster.remove_node(thing.name)
                self._on_event(old_node, new_node, now)
            else:
                old = self.cluster.catalog.get(type(thing), thing.key)
                self.cluster.catalog.put(thing) if put else self.cluster.catalog.remove(thing)
                self._on_event(old, thing if put else None, now)
        return []

    def _on_pod(self, pod: Pod | None, seen: Pod, now: float) -> None:
        """A pod is there, or not any more."""
        key = seen.key
        known = self.cluster.pod(seen.namespace, seen.name)
        if known is not None and known.uid != seen.uid:
            if pod is None:
                return  # an older pod of the same name is gone; the new one is not
            self._pod_deleted(known, now)
            known = None
        if pod is None:
            if known is not None:
                self._pod_deleted(known, now)
            self.cluster.remove_pod(key)
        elif pod.node_name:
            self.waiting.remove(key)
            self.queue.remove(pod)
            before = known if known is not None and known.node_name else None
            assumed = pod.uid in self._binding_cycles or before is None
            self.cluster.put_pod(pod)
            self._on_assigned_pod_event(pod.uid, None if assumed else before, pod, now)
        elif pod.scheduler_name in self._runtimes:
            self._pod_pending(known, pod, now)

    def _pod_pending(self, known: Pod | None, pod: Pod, now: float) -> None:
        """A pod of ours has no node yet."""
        nominations = self.cluster.nominations
        nominated_node = nominations.node_of(pod.key)
        self.cluster.put_pod(pod)
        if known is not None and known.node_name:
            return  # it is assumed and being bound
        before = (known.status.nominated_node_name or "") if known is not None else ""
        after = pod.status.nominated_node_name or ""
        if nominated_node and not after and not before:
            # parity v1.36.4: backend/queue/nominator.go: a nomination that the API server does not
            # know of yet outlives updates without it.
            nominations.put(pod, nominated_node)
        elif known is not None and before and before != after:
            self.queue.nomination_removed(known, now)
        if known is None:
            self.queue.add(pod, now)
        else:
            self.queue.update(known, pod, now)

    def _pod_deleted(self, known: Pod, now: float) -> None:
        """A pod is gone."""
        if known.node_name:
            waiting = self.waiting.get(known.key)
            if waiting is not None:
                waiting.reject("", "the pod was deleted")
            self.cluster.remove_pod(known.key)
            self._on_assigned_pod_event(known.uid, known, None, now)
            return
        nominated_node = self.cluster.nominations.node_of(known.key)
        self.queue.remove(known)
        self.cluster.remove_pod(known.key)
        if nominated_node:
            status = replace(known.status, nominated_node_name=nominated_node)
            self.queue.nomination_removed(replace(known, status=status), now)

    def _on_event(self, old: KubeObject | None, new: KubeObject | None, now: float) -> None:
        event = event_between(old, new)
        if event is not None:
            self.queue.on_event(event, now)

    def _on_assigned_pod_event(
        self, uid: str, old: Pod | None, new: Pod | None, now: float
    ) -> None:
        """A pod on a node changed or is gone; if pods waited for it to go, they may be tried."""
        if uid not in self._preemptions or (new is not None and not new.deleting):
            self._on_event(old, new, now)
            return
        waited = self._preemptions.seen(uid)
        self._end_preemption_of(waited)
        self._on_event(old, new, now)
        self._retry_preemptors(waited, now)

    # -- decisions

    def schedule_one(self, now: float) -> SchedulingCycle | None:
        """The next decision; None if no pod is ready.

        The result must be run to its end, and nothing else be called meanwhile.
        """
        queued = self.queue.pop(now)
        return self._schedule(queued, now) if queued is not None else None

    def _schedule(self, queued: QueuedPod, now: float) -> SchedulingCycle:
        pod = queued.pod
        runtime = self._runtimes[pod.scheduler_name]
        if pod.deleting:
            self.queue.done(queued)
            return []
        extended = self._extended is not None and self._extended(pod)
        try:
            found = yield from choose_node(
                runtime, self._with_nominated_node(pod), self._choose,
                extended=extended, leaving=self._preemptions.leaving,
            )  # fmt: skip
        except Exception as error:  # noqa: BLE001 - one pod must not end all scheduling
            return self._decision_failed(queued, error, now)
        if isinstance(found, NoNode):
            return self._no_node(queued, found, now)
        return self._place(runtime, queued, found, now)

    def _with_nominated_node(self, pod: Pod) -> Pod:
        """The pod with its nominated node, whether or not the watch has shown that yet."""
        nominated_node = self.cluster.nominations.node_of(pod.key)
        if not nominated_node or nominated_node == pod.status.nominated_node_name:
            return pod
        return replace(pod, status=replace(pod.status, nominated_node_name=nominated_node))

    def _place(
        self, runtime: Runtime, queued: QueuedPod, chosen: Chosen, now: float
    ) -> list[Effect]:
        """Give the pod its node in the state, and see whether the plugins agree."""
        pod, cycle = queued.pod, chosen.cycle
        node = self.cluster.nodes[chosen.node_name]
        self.cluster.assume(pod, node.name)
        try:
            rejection = runtime.binding_hooks.reserve(cycle, node)
        except Exception as error:  # noqa: BLE001 - as above; what was reserved is given back
            self.cluster.forget(pod.key)
            return self._decision_failed(queued, error, now)
        if rejection is not None:
            self.cluster.forget(pod.key)
            return self._rejected(queued, rejection, now)
        try:
            waits = runtime.binding_hooks.permit(cycle, node)
        except Exception as error:  # noqa: BLE001
            self._undo_placement(runtime, cycle, node, pod)
            return self._decision_failed(queued, error, now)
        if isinstance(waits, Rejection):
            self._undo_placement(runtime, cycle, node, pod)
            return self._rejected(queued, waits, now)
        if waits:
            self.waiting.add(WaitingPod(queued, cycle, node, waits, now))
            return [PatchStatus(pod, nominated_node=node.name)]
        return [self._bind(queued, cycle, node, now)]

    def _bind(self, queued: QueuedPod, cycle: Cycle, node: Node, now: float) -> Bind:
        pod = queued.pod
        self.queue.done(queued)
        self._binding_cycles[pod.uid] = BindingCycle(queued, cycle, node, now)
        binding = Binding(
            namespace=pod.namespace,
            name=pod.name,
            uid=pod.uid,
            node_name=node.name,
            pod=pod,
            node=node,
        )
        first = queued.first_tried if queued.first_tried is not None else queued.since
        return Bind(pod, binding, cycle, pod.scheduler_name, queued.attempts, first)

    def tick(self, now: float) -> list[Effect]:
        """Time passed: pods leave backoff, pods that waited for permission are settled."""
        self.queue.flush(now)
        effects: list[Effect] = []
        for waiting in self.waiting.settled(now):
            try:
                effects += self._settle(waiting, now)
            except Exception as error:  # noqa: BLE001 - it waits no more: it must not be lost
                runtime = self._runtimes[waiting.pod.scheduler_name]
                self._undo_placement(runtime, waiting.cycle, waiting.node, waiting.pod)
                effects += self._decision_failed(waiting.queued, error, now)
        late = self._preemptions.late(now)
        if late:
            self._end_preemption_of(late)
            self.queue.activate(late, now)
            self._retry_preemptors(late, now)
        return effects

    def _settle(self, waiting: WaitingPod, now: float) -> list[Effect]:
        """A pod need not wait for permission any longer."""
        if not waiting.reason:
            return [self._bind(waiting.queued, waiting.cycle, waiting.node, now)]
        runtime = self._runtimes[waiting.pod.scheduler_name]
        placed = self._undo_placement(runtime, waiting.cycle, waiting.node, waiting.pod)
        message = f"0/1 nodes are available: 1 {waiting.reason}."
        effects = self._failed(
            waiting.queued, UNSCHEDULABLE, message, {waiting.rejected_by}, now, nominated_node=""
        )
        self._placement_undone(placed, now)
        return effects

    def next_time(self) -> float | None:
        """When `tick` has something to do."""
        parts = (self.queue, self.waiting, self._preemptions)
        return min((t for one in parts if (t := one.next_time()) is not None), default=None)

    # -- what came of effects

    def report(self, report: Report, now: float) -> list[Effect]:
        """Note what came of an effect."""
        if isinstance(report, Bound):
            return self._bound(report)
        if isinstance(report, BindFailed):
            return self._not_bound(report, now)
        return self._victims_preempted(report, now)

    def _bound(self, report: Bound) -> list[Effect]:
        pod = report.pod
        self._binding_cycles.pop(pod.uid, None)
        self.cluster.confirm(pod.key, pod.uid)
        note = f"Successfully assigned {pod.key} to {report.node}"
        return [RecordEvent(pod, "Scheduled", "Binding", note, reporter=pod.scheduler_name)]

    def _not_bound(self, report: BindFailed, now: float) -> list[Effect]:
        pod = report.pod
        binding_cycle = self._binding_cycles.pop(pod.uid, None)
        if binding_cycle is None:
            return []
        runtime = self._runtimes[pod.scheduler_name]
        placed = self._undo_placement(runtime, binding_cycle.cycle, binding_cycle.node, pod)
        queued, message = binding_cycle.queued, report.message
        effects = self._failed(
            queued, SCHEDULER_ERROR, message, set(), now, nominated_node="", bind_failed=True
        )
        self._placement_undone(placed, now)
        return effects

    def _victims_preempted(self, report: VictimsPreempted, now: float) -> list[Effect]:
        pod = report.preemptor
        if self._preemptions.reported(pod, now, failed=bool(report.error)):
            self._end_preemption_of([pod])
            if report.error:
                self.queue.activate([pod], now)
            self._retry_preemptors([pod], now)
        return []

    def _end_preemption_of(self, pods: list[Pod]) -> None:
        """Hold these pods back no longer."""
        for pod in pods:
            for plugin in self._preempting_plugins(pod):
                plugin.preempting.discard(pod.uid)

    def _retry_preemptors(self, pods: list[Pod], now: float) -> None:
        """Try pods that still stand at the open gate, and those that waited for others' victims.

        No further change may come that lets them go.
        """
        for pod in pods:
            queued = self.queue.get(pod.key)
            if queued is not None and queued.sub_queue is SubQueue.GATED:
                self.queue.activate([pod], now)
        deferred, self._deferred = self._deferred, {}
        self.queue.activate(deferred.values(), now)

    # -- failures

    def _undo_placement(self, runtime: Runtime, cycle: Cycle, node: Node, pod: Pod) -> Pod | None:
        """Undo a placement; returns the pod as it was counted, None if it is counted no more."""
        placed = self.cluster.pod(pod.namespace, pod.name)
        runtime.binding_hooks.unreserve(cycle, node)
        self.cluster.forget(pod.key, pod.uid)
        return placed if placed is not None and placed.uid == pod.uid else None

    def _placement_undone(self, placed: Pod | None, now: float) -> None:
        """A placement was undone: its room is free for others, which is no help to the pod."""
        if placed is not None:
            was_victim = placed.uid in self._preemptions
            waited = self._preemptions.seen(placed.uid)
            self._end_preemption_of(waited)
            gone = ClusterEvent(Pod, Action.DELETE, placed, None)
            self.queue.on_event(gone, now, functools.partial(_is_another, placed))
            if was_victim:
                self._retry_preemptors(waited, now)

    def _decision_failed(self, queued: QueuedPod, error: Exception, now: float) -> list[Effect]:
        """A decision failed."""
        message, shown = foreign.tell(error)
        if issubclass(type(error), MooringError):
            cause = shown.__cause__ if shown is error else shown
            log.error("%s", message, exc_info=cause, extra=failure_of(error))
        else:
            log.error("the decision for %s failed inside mooring", queued.key, exc_info=shown)
            message = f"mooring failed: {message}"
        return self._failed(queued, SCHEDULER_ERROR, message, set(), now, nominated_node="")

    def _rejected(self, queued: QueuedPod, rejection: Rejection, now: float) -> list[Effect]:
        if rejection.verdict.error:
            reasons = ", ".join(rejection.verdict.reasons)
            return self._failed(queued, SCHEDULER_ERROR, reasons, set(), now, nominated_node="")
        counted = ", ".join(sorted(f"1 {reason}" for reason in rejection.verdict.reasons))
        message = f"0/1 nodes are available: {counted}."
        return self._failed(
            queued, UNSCHEDULABLE, message, {rejection.plugin}, now, nominated_node=""
        )

    def _no_node(self, queued: QueuedPod, found: NoNode, now: float) -> list[Effect]:
        pod = queued.pod
        if found.preempt is None:
            if found.deferred:
                self._deferred[pod.uid] = pod
            nominated_node = None if found.keep_nomination else ""
            return self._failed(
                queued,
                UNSCHEDULABLE,
                found.message,
                found.plugins,
                now,
                nominated_node=nominated_node,
            )
        target = found.preempt
        effects: list[Effect] = []
        for plugin in self._preempting_plugins(pod):
            plugin.preempting.add(pod.uid)
        going = [one.uid for one in target.victims if not one.deleting]
        self._preemptions.start(pod, target.node, going)
        # Less important pods lose their nomination to that node: they may fit elsewhere.
        for other in self.cluster.nominations.on(target.node):
            if other.priority < pod.priority and other.key != pod.key:
                self.cluster.nominations.remove(other.key)
                effects.append(PatchStatus(other, nominated_node=""))
        victims = []
        for victim in target.victims:
            waiting = self.waiting.get(victim.key)
            if waiting is not None:
                waiting.reject("DefaultPreemption", "preempted")
            else:
                victims.append(victim)
        effects.append(PreemptVictims(tuple(victims), pod, target.node, pod.scheduler_name))
        effects += self._failed(
            queued, UNSCHEDULABLE, found.message, found.plugins, now, nominated_node=target.node
        )
        return effects

    def _failed(
        self,
        queued: QueuedPod,
        reason: str,
        message: str,
        plugins: set[str],
        now: float,
        *,
        nominated_node: str | None,
        bind_failed: bool = False,
    ) -> list[Effect]:
        """Put the pod back and record why; `nominated_node` is its new one, None keeps the old."""
        # parity v1.36.4: schedule_one.go handleSchedulingFailure
        tried = queued.pod
        pod = self.cluster.pod(tried.namespace, tried.name)
        if pod is None or pod.uid != tried.uid or pod.node_name:
            if not bind_failed:
                self.queue.done(queued)
            return []
        if nominated_node:
            self.cluster.nominations.put(pod, nominated_node)
        elif nominated_node == "":
            self.cluster.nominations.remove(pod.key)
        self.queue.requeue(
            queued, plugins, now, error=reason == SCHEDULER_ERROR, pod=pod, bind_failed=bind_failed
        )
        return failed_scheduling(pod, reason, message, nominated_node)

    def _preempting_plugins(self, pod: Pod) -> list[PreemptingPlugin]:
        runtime = self._runtimes[pod.scheduler_name]
        found = [one for _, one in runtime.post_filters if isinstance(one, PreemptingPlugin)]
        return [one for one in found if type(one.preempting) is set]


def _is_another(pod: Pod, other: Pod) -> bool:
    return pod.uid != other.uid
