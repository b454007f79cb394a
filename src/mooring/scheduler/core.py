"""The scheduler's heart: changes and reports in, effects out.

    informers ──changes──> handle ─┐
                                   ├──> queue ──> turn ──> Bind, Evict, PatchStatus, Tell
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
from mooring.framework.cycle import Cycle
from mooring.framework.filtering import Refusal
from mooring.framework.happenings import Happening, happening_of
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
    Evict,
    Evicted,
    PatchStatus,
    Report,
    Tell,
)
from mooring.scheduler.evictions import Evictions, Evictor
from mooring.scheduler.queue import Queue
from mooring.scheduler.queued_pod import Part, QueuedPod
from mooring.scheduler.schedule import Choose, Chosen, NoNode, choose_node
from mooring.scheduler.waiting import WaitingPod, WaitingPods
from mooring.state.cluster import Cluster

log = logging.getLogger("mooring.scheduler")

UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"
#: One decision: questions to extenders come out, answers go in, effects are the result.
Turn = Generator[AskExtenders, Any, list[Effect]]
#: A note of a Kubernetes event has at most so many bytes.
_NOTE = 1024
#: Plugins write as much as they like; a condition has at most so many bytes.
_MESSAGE = 32 * 1024


class Flight(NamedTuple):
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
        self._flights: dict[str, Flight] = {}
        self._evictions = Evictions()
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
    def binding(self) -> list[Flight]:
        """The pods that are being bound; two may have one name, if the first is deleted by now."""
        return list(self._flights.values())

    # -- what happened in the cluster

    def handle(self, changes: Iterable[Put[Any] | Gone[Any]], now: float) -> list[Effect]:
        """Take what informers saw, in order."""
        for change in changes:
            thing: KubeObject = change.object
            put = isinstance(change, Put)
            if isinstance(thing, Pod):
                self._pod(thing if put and not thing.finished else None, thing, now)
            elif isinstance(thing, Node):
                old_node = self.cluster.nodes.get(thing.name)
                self.cluster.put_node(thing) if put else self.cluster.remove_node(thing.name)
                self._happened(old_node, thing if put else None, now)
            else:
                old = self.cluster.catalog.get(type(thing), thing.key)
                self.cluster.catalog.put(thing) if put else self.cluster.catalog.remove(thing)
                self._happened(old, thing if put else None, now)
        return []

    def _pod(self, pod: Pod | None, seen: Pod, now: float) -> None:
        """A pod is there, or not any more."""
        key = seen.key
        known = self.cluster.pod(seen.namespace, seen.name)
        if known is not None and known.uid != seen.uid:
            if pod is None:
                return  # an older pod of the same name is gone; the new one is not
            self._leave(known, now)
            known = None
        if pod is None:
            if known is not None:
                self._leave(known, now)
            self.cluster.remove_pod(key)
        elif pod.node_name:
            self.waiting.remove(key)
            self.queue.remove(pod)
            before = known if known is not None and known.node_name else None
            assumed = pod.uid in self._flights or before is None
            self.cluster.put_pod(pod)
            self._happened_on_node(pod.uid, None if assumed else before, pod, now)
        elif pod.scheduler_name in self._runtimes:
            self._wait(known, pod, now)

    def _wait(self, known: Pod | None, pod: Pod, now: float) -> None:
        """A pod of ours has no node yet."""
        nominations = self.cluster.nominations
        promised = nominations.node_of(pod.key)
        self.cluster.put_pod(pod)
        if known is not None and known.node_name:
            return  # it is assumed and being bound
        before = (known.status.nominated_node_name or "") if known is not None else ""
        after = pod.status.nominated_node_name or ""
        if promised and not after and not before:
            # parity v1.36.4: backend/queue/nominator.go: a promise the API server does not know of
            # yet outlives updates that know nothing of it.
            nominations.put(pod, promised)
        elif known is not None and before and before != after:
            self.queue.happened_to_promise(known, now)
        if known is None:
            self.queue.add(pod, now)
        else:
            self.queue.update(known, pod, now)

    def _leave(self, known: Pod, now: float) -> None:
        """A pod is gone."""
        if known.node_name:
            waiting = self.waiting.get(known.key)
            if waiting is not None:
                waiting.refuse("", "the pod was deleted")
            self.cluster.remove_pod(known.key)
            self._happened_on_node(known.uid, known, None, now)
            return
        promised = self.cluster.nominations.node_of(known.key)
        self.queue.remove(known)
        self.cluster.remove_pod(known.key)
        if promised:
            status = replace(known.status, nominated_node_name=promised)
            self.queue.happened_to_promise(replace(known, status=status), now)

    def _happened(self, old: KubeObject | None, new: KubeObject | None, now: float) -> None:
        happening = happening_of(old, new)
        if happening is not None:
            self.queue.happened(happening, now)

    def _happened_on_node(self, uid: str, old: Pod | None, new: Pod | None, now: float) -> None:
        """A pod on a node changed or is gone; if pods waited for it to go, they may be tried."""
        if uid not in self._evictions or (new is not None and not new.deleting):
            self._happened(old, new, now)
            return
        waited = self._evictions.seen(uid)
        self._open(waited)
        self._happened(old, new, now)
        self._go_on(waited, now)

    # -- decisions

    def turn(self, now: float) -> Turn | None:
        """The next decision; None if no pod is ready.

        The result must be run to its end, and nothing else be called meanwhile.
        """
        queued = self.queue.pop(now)
        return self._schedule(queued, now) if queued is not None else None

    def _schedule(self, queued: QueuedPod, now: float) -> Turn:
        pod = queued.pod
        runtime = self._runtimes[pod.scheduler_name]
        if pod.deleting:
            self.queue.done(queued)
            return []
        extended = self._extended is not None and self._extended(pod)
        try:
            found = yield from choose_node(
                runtime, self._with_promise(pod), self._choose,
                extended=extended, leaving=self._evictions.leaving,
            )  # fmt: skip
        except Exception as error:  # noqa: BLE001 - one pod must not end all scheduling
            return self._broke(queued, error, now)
        if isinstance(found, NoNode):
            return self._no_node(queued, found, now)
        return self._place(runtime, queued, found, now)

    def _with_promise(self, pod: Pod) -> Pod:
        """The pod with the node it is promised, whether or not the watch has shown that yet."""
        promise = self.cluster.nominations.node_of(pod.key)
        if not promise or promise == pod.status.nominated_node_name:
            return pod
        return replace(pod, status=replace(pod.status, nominated_node_name=promise))

    def _place(
        self, runtime: Runtime, queued: QueuedPod, chosen: Chosen, now: float
    ) -> list[Effect]:
        """Give the pod its node in the state, and see whether the plugins agree."""
        pod, cycle = queued.pod, chosen.cycle
        node = self.cluster.nodes[chosen.node_name]
        self.cluster.assume(pod, node.name)
        try:
            refusal = runtime.placing.reserve(cycle, node)
        except Exception as error:  # noqa: BLE001 - as above; what was reserved is given back
            self.cluster.forget(pod.key)
            return self._broke(queued, error, now)
        if refusal is not None:
            self.cluster.forget(pod.key)
            return self._refused(queued, refusal, now)
        try:
            waits = runtime.placing.permit(cycle, node)
        except Exception as error:  # noqa: BLE001
            self._take_back(runtime, cycle, node, pod)
            return self._broke(queued, error, now)
        if isinstance(waits, Refusal):
            self._take_back(runtime, cycle, node, pod)
            return self._refused(queued, waits, now)
        if waits:
            self.waiting.add(WaitingPod(queued, cycle, node, waits, now))
            return [PatchStatus(pod, nominated_node=node.name)]
        return [self._bind(queued, cycle, node, now)]

    def _bind(self, queued: QueuedPod, cycle: Cycle, node: Node, now: float) -> Bind:
        pod = queued.pod
        self.queue.done(queued)
        self._flights[pod.uid] = Flight(queued, cycle, node, now)
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
                self._take_back(runtime, waiting.cycle, waiting.node, waiting.pod)
                effects += self._broke(waiting.queued, error, now)
        late = self._evictions.late(now)
        if late:
            self._open(late)
            self.queue.activate(late, now)
            self._go_on(late, now)
        return effects

    def _settle(self, waiting: WaitingPod, now: float) -> list[Effect]:
        """A pod need not wait for permission any longer."""
        if not waiting.reason:
            return [self._bind(waiting.queued, waiting.cycle, waiting.node, now)]
        runtime = self._runtimes[waiting.pod.scheduler_name]
        placed = self._take_back(runtime, waiting.cycle, waiting.node, waiting.pod)
        message = f"0/1 nodes are available: 1 {waiting.reason}."
        effects = self._failed(
            waiting.queued, UNSCHEDULABLE, message, {waiting.refused_by}, now, promise=""
        )
        self._room_again(placed, now)
        return effects

    def next_time(self) -> float | None:
        """When `tick` has something to do."""
        parts = (self.queue, self.waiting, self._evictions)
        return min((t for one in parts if (t := one.next_time()) is not None), default=None)

    # -- what came of effects

    def report(self, report: Report, now: float) -> list[Effect]:
        """Take what came of an effect."""
        if isinstance(report, Bound):
            return self._bound(report)
        if isinstance(report, BindFailed):
            return self._not_bound(report, now)
        return self._evicted(report, now)

    def _bound(self, report: Bound) -> list[Effect]:
        pod = report.pod
        self._flights.pop(pod.uid, None)
        self.cluster.confirm(pod.key, pod.uid)
        note = f"Successfully assigned {pod.key} to {report.node}"
        return [Tell(pod, "Scheduled", "Binding", note, reporter=pod.scheduler_name)]

    def _not_bound(self, report: BindFailed, now: float) -> list[Effect]:
        pod = report.pod
        flight = self._flights.pop(pod.uid, None)
        if flight is None:
            return []
        runtime = self._runtimes[pod.scheduler_name]
        placed = self._take_back(runtime, flight.cycle, flight.node, pod)
        effects = self._failed(
            flight.queued, SCHEDULER_ERROR, report.message, set(), now, promise="", flown=True
        )
        self._room_again(placed, now)
        return effects

    def _evicted(self, report: Evicted, now: float) -> list[Effect]:
        pod = report.preemptor
        if self._evictions.reported(pod, now, failed=bool(report.error)):
            self._open([pod])
            if report.error:
                self.queue.activate([pod], now)
            self._go_on([pod], now)
        return []

    def _open(self, pods: list[Pod]) -> None:
        """Hold these pods back no longer."""
        for pod in pods:
            for plugin in self._evictors(pod):
                plugin.evicting.discard(pod.uid)

    def _go_on(self, pods: list[Pod], now: float) -> None:
        """Try pods that still stand at the open gate, and those that waited for others' victims.

        No further change may come that lets them go.
        """
        for pod in pods:
            queued = self.queue.pending(pod.key)
            if queued is not None and queued.part is Part.GATED:
                self.queue.activate([pod], now)
        deferred, self._deferred = self._deferred, {}
        self.queue.activate(deferred.values(), now)

    # -- failures

    def _take_back(self, runtime: Runtime, cycle: Cycle, node: Node, pod: Pod) -> Pod | None:
        """Undo a placement; returns the pod as it was counted, None if it is counted no more."""
        placed = self.cluster.pod(pod.namespace, pod.name)
        runtime.placing.unreserve(cycle, node)
        self.cluster.forget(pod.key, pod.uid)
        return placed if placed is not None and placed.uid == pod.uid else None

    def _room_again(self, placed: Pod | None, now: float) -> None:
        """A placement was undone: its room is free for others, which is no help to the pod."""
        if placed is not None:
            was_victim = placed.uid in self._evictions
            waited = self._evictions.seen(placed.uid)
            self._open(waited)
            gone = Happening(Pod, Action.DELETE, placed, None)
            self.queue.happened(gone, now, functools.partial(_is_another, placed))
            if was_victim:
                self._go_on(waited, now)

    def _broke(self, queued: QueuedPod, error: Exception, now: float) -> list[Effect]:
        """A decision failed."""
        message, shown = foreign.tell(error)
        if issubclass(type(error), MooringError):
            cause = shown.__cause__ if shown is error else shown
            log.error("%s", message, exc_info=cause, extra=failure_of(error))
        else:
            log.error("the decision for %s failed inside mooring", queued.key, exc_info=shown)
            message = f"mooring failed: {message}"
        return self._failed(queued, SCHEDULER_ERROR, message, set(), now, promise="")

    def _refused(self, queued: QueuedPod, refusal: Refusal, now: float) -> list[Effect]:
        if refusal.verdict.error:
            reasons = ", ".join(refusal.verdict.reasons)
            return self._failed(queued, SCHEDULER_ERROR, reasons, set(), now, promise="")
        counted = ", ".join(sorted(f"1 {reason}" for reason in refusal.verdict.reasons))
        message = f"0/1 nodes are available: {counted}."
        return self._failed(queued, UNSCHEDULABLE, message, {refusal.plugin}, now, promise="")

    def _no_node(self, queued: QueuedPod, found: NoNode, now: float) -> list[Effect]:
        pod = queued.pod
        if found.evict is None:
            if found.deferred:
                self._deferred[pod.uid] = pod
            promise = None if found.keep_promise else ""
            return self._failed(
                queued, UNSCHEDULABLE, found.message, found.plugins, now, promise=promise
            )
        target = found.evict
        effects: list[Effect] = []
        for plugin in self._evictors(pod):
            plugin.evicting.add(pod.uid)
        going = [one.uid for one in target.victims if not one.deleting]
        self._evictions.start(pod, target.node, going)
        # Promises to less important pods on that node are taken back: they may fit elsewhere.
        for other in self.cluster.nominations.on(target.node):
            if other.priority < pod.priority and other.key != pod.key:
                self.cluster.nominations.remove(other.key)
                effects.append(PatchStatus(other, nominated_node=""))
        victims = []
        for victim in target.victims:
            waiting = self.waiting.get(victim.key)
            if waiting is not None:
                waiting.refuse("DefaultPreemption", "preempted")
            else:
                victims.append(victim)
        effects.append(Evict(tuple(victims), pod, target.node, pod.scheduler_name))
        effects += self._failed(
            queued, UNSCHEDULABLE, found.message, found.plugins, now, promise=target.node
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
        promise: str | None,
        flown: bool = False,
    ) -> list[Effect]:
        """Put the pod back and tell why; `promise` is its new promised node, None keeps the old."""
        # parity v1.36.4: schedule_one.go handleSchedulingFailure
        tried = queued.pod
        pod = self.cluster.pod(tried.namespace, tried.name)
        if pod is None or pod.uid != tried.uid or pod.node_name:
            if not flown:
                self.queue.done(queued)
            return []
        if promise:
            self.cluster.nominations.put(pod, promise)
        elif promise == "":
            self.cluster.nominations.remove(pod.key)
        self.queue.requeue(
            queued, plugins, now, error=reason == SCHEDULER_ERROR, pod=pod, flown=flown
        )
        told = Tell(
            pod, "FailedScheduling", "Scheduling", _cut(message, _NOTE), warning=True,
            reporter=pod.scheduler_name,
        )  # fmt: skip
        return [told, PatchStatus(pod, reason, _cut(message, _MESSAGE), promise)]

    def _evictors(self, pod: Pod) -> list[Evictor]:
        runtime = self._runtimes[pod.scheduler_name]
        found = [one for _, one in runtime.post_filters if isinstance(one, Evictor)]
        return [one for one in found if type(one.evicting) is set]


def _cut(text: str, most: int) -> str:
    """A text of at most so many bytes."""
    # Half a surrogate pair, which a plugin may write, is no text for the API server.
    data = text.encode(errors="replace")
    if len(data) > most:
        return data[: most - 4].decode(errors="ignore") + " ..."
    return text if len(data) == len(text) else data.decode()


def _is_another(pod: Pod, other: Pod) -> bool:
    return pod.uid != other.uid
