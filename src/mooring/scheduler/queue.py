"""The scheduling queue: every pending pod, and when it is worth another try.

    add ──> gate ──> ACTIVE ──pop──> IN FLIGHT ──done──> out
                       ^                 │ requeue
                       │                 ├── rejected ──> UNSCHEDULABLE
               backoff │                 │                     │ a cluster event helps the plugins
               is over │                 │ rejected, but       │ that rejected it, or 5 minutes
                       │                 │ helped meanwhile    │
                       ├── BACKOFF <─────┼─────── gate <───────┘
                       │                 │ failed
                       └── ERROR BACKOFF <─────── gate

    gate ── pre_enqueue rejects ──> GATED ── an event for its plugin, or 5 minutes ──> gate

- Who passes the gate and has no backoff left is ACTIVE.
- The backoff doubles with every attempt that plugins rejected, and separately with every error in a
  row. When nothing is ACTIVE, `pop` takes pods from BACKOFF before their time, as there is nothing
  better to do; never from ERROR BACKOFF, to spare the API server.
- Cluster events during a pod's scheduling cycle are kept until it comes back (`in_flight_pods`).
- Which events help is the word of the plugins that rejected the pod (`requeue_hints`).

`Core` calls it, with the time; it does no I/O. No operation but `on_event` looks at more pods than
it is about, and `on_event` only at those whose rejecting plugins want to know. Behind `order` and
`pre_enqueue` are plugins; who builds the queue turns their failures into answers.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from mooring.framework.cluster_events import ClusterEvent
from mooring.framework.hook import Action, RequeueHint
from mooring.model.pod import Pod
from mooring.scheduler.backoff import QueueSettings
from mooring.scheduler.in_flight_pods import InFlightPods
from mooring.scheduler.queued_pod import QueuedPod, SubQueue
from mooring.scheduler.requeue_hints import HintFailed, RequeueHints, own_update
from mooring.scheduler.sub_queues import Order, Patience, PreEnqueue, SubQueues

__all__ = ["Queue", "QueueSettings"]

# parity v1.36.4: framework/events.go: what metrics call these reasons for a move
_ADDED: Final = "UnschedulablePodAdd"
_FAILED: Final = "ScheduleAttemptFailure"
_ACTIVATED: Final = "ForceActivate"
#: Pods here need not be moved to be tried.
_UNDER_WAY: Final = (SubQueue.ACTIVE, SubQueue.IN_FLIGHT, SubQueue.OUT)


class Queue:
    """The pending pods.

    Args:
        order: a pod's place among the pods that are ready, from when it was queued; the smallest
            first (`QueueSort`).
        hints: the plugins' requeue hints, by scheduler name and plugin name
            (`cluster_events.hints_of`). For a plugin that is not named, every event counts.
        pre_enqueue: the plugin that holds a pod back; None if none does.
        settings: how long pods wait.
        hint_failed: called when a hint fails; the event then counts as one that helps.
        patience: whether plugins hang.

    Attributes:
        incoming: how often pods came to a sub-queue and why (``queue_incoming_pods_total``).
        rejected: how many pending pods each plugin of a profile rejected (``unschedulable_pods``).
        in_flight: pods taken from here, and neither put back nor in their binding cycle yet.
    """

    def __init__(
        self,
        order: Order,
        hints: Mapping[str, Mapping[str, Sequence[RequeueHint]]],
        pre_enqueue: PreEnqueue,
        settings: QueueSettings,
        hint_failed: HintFailed | None = None,
        patience: Patience | None = None,
    ) -> None:
        self._patience = patience or Patience()
        self._settings = settings
        self._hints = RequeueHints(hints, hint_failed)
        self._sub_queues = SubQueues(order, pre_enqueue, settings, self._patience)
        self.in_flight = InFlightPods()
        self._pods: dict[str, QueuedPod] = {}
        # The pods whose move waits for the next flush, because plugins hang: whether they need not
        # back off, and why they move.
        self._postponed: OrderedDict[QueuedPod, tuple[bool, str]] = OrderedDict()
        self.incoming = self._sub_queues.incoming
        self.rejected = self._sub_queues.rejected

    # -- pods come, change and go

    def add(self, pod: Pod, now: float) -> None:
        """A pending pod was seen; another one of its name is gone then."""
        known = self._pods.get(pod.key)
        if known is not None:
            if known.is_for(pod):
                self.update(known.pod, pod, now)
                return
            self._remove(known)
        queued = self._pods[pod.key] = QueuedPod(pod, now)
        self._sub_queues.admit(queued, _ADDED, now)

    def update(self, old: Pod | None, new: Pod, now: float) -> None:
        """A pending pod changed; one that is not known yet is added.

        An unschedulable pod is requeued if the plugins that rejected it say that this helps, as
        when its last gate is removed.
        """
        # parity v1.36.4: backend/queue/scheduling_queue.go Update
        queued = self._pods.get(new.key)
        if queued is None or not queued.is_for(new):
            self.add(new, now)
            return
        old = queued.pod if old is None else old
        queued.pod = new
        self._sub_queues.reorder(queued)
        in_flight = queued.sub_queue is SubQueue.IN_FLIGHT
        change = own_update(old, new) if in_flight or queued.waits_for_event else None
        if change is not None and in_flight:
            self.in_flight.record(change, only=queued)
        elif change is not None:
            self._requeue_on(queued, change, change.label(), now)

    def remove(self, pod: Pod) -> None:
        """A pod is gone or bound, and will not come back; another one of the same name stays."""
        queued = self._pods.get(pod.key)
        if queued is not None and queued.is_for(pod):
            self._remove(queued)

    def _remove(self, queued: QueuedPod) -> None:
        del self._pods[queued.key]
        self._postponed.pop(queued, None)
        if queued.sub_queue is SubQueue.IN_FLIGHT:
            queued.sub_queue = SubQueue.OUT
        else:
            self._sub_queues.drop(queued)

    # -- attempts

    def pop(self, now: float) -> QueuedPod | None:
        """Take the next pod, None if none is ready; it is in flight until `done` or `requeue`."""
        sub_queues = self._sub_queues
        if now >= sub_queues.due:
            sub_queues.flush(now)
        queued = sub_queues.pop()
        if queued is not None:
            queued.sub_queue = SubQueue.IN_FLIGHT
            queued.attempts += 1
            self.in_flight.start(queued)
        return queued

    def done(self, queued: QueuedPod) -> None:
        """A pod in flight will not be rejected any more: it is being bound, or it is gone."""
        if self.in_flight.finish(queued) and queued.sub_queue is SubQueue.IN_FLIGHT:
            self._remove(queued)

    def requeue(
        self,
        queued: QueuedPod,
        plugins: Collection[str],
        now: float,
        *,
        error: bool = False,
        pod: Pod | None = None,
        bind_failed: bool = False,
    ) -> SubQueue:
        """Put a pod back whose attempt failed; says where it is now.

        Nothing is done if it is not in flight any more: it is gone, or was put back before.

        Args:
            queued: what `pop` gave.
            plugins: who rejected.
            now: the time.
            error: something went wrong and nobody rejected; `plugins` do not matter then.
            pod: the pod as it is known now, if the queue was not told.
            bind_failed: it was `done` before, and its binding cycle failed; the caller knows that
                it still waits.
        """
        # parity v1.36.4: backend/queue/scheduling_queue.go AddUnschedulableIfNotPresent
        if bind_failed and queued.sub_queue is SubQueue.OUT and queued.key not in self._pods:
            self._pods[queued.key] = queued
        elif bind_failed or queued.sub_queue is not SubQueue.IN_FLIGHT:
            self.in_flight.finish(queued)
            return queued.sub_queue
        if pod is not None:
            queued.pod = pod
        queued.fail(() if error else plugins, now)
        queued.backoff_until = self._settings.backoff_end(queued)
        # Nobody kept what happened while a pod was being bound: it must be tried again.
        helped = bind_failed or self.in_flight.helped(queued)
        again = self._hints.while_in_flight(queued, self.in_flight.since(queued), helped=helped)
        self.in_flight.finish(queued)
        for plugin in queued.unschedulable_plugins:
            self.rejected[plugin, queued.profile] += 1
        if again:
            self._sub_queues.retry(queued, _FAILED, now)
        else:
            self._sub_queues.hold(queued, _FAILED)
        return queued.sub_queue

    # -- cluster events

    @property
    def heeds_events(self) -> bool:
        """Whether there is a pod that a cluster event may help, unschedulable or in flight."""
        return bool(self._sub_queues.unschedulable) or self.in_flight.recording

    def on_event(
        self, event: ClusterEvent, now: float, among: Callable[[Pod], bool] | None = None
    ) -> None:
        """Something changed in the cluster: requeue the pods it may help.

        With `among`, only those of which it is true; pods in flight get the event anyway.
        """
        # parity v1.36.4: backend/queue/scheduling_queue.go movePodsToActiveOrBackoffQueue
        concerned = self._sub_queues.concerned_by(self._hints, event)
        label = event.label() if concerned else ""
        for queued in concerned:
            if among is None or among(queued.pod):
                self._requeue_on(queued, event, label, now)
        self.in_flight.record(event)

    def nomination_removed(self, pod: Pod, now: float) -> None:
        """A pending pod lost its nominated node; pods of no higher priority have room there."""
        # parity v1.36.4: scheduler/eventhandlers.go getLEPriorityPreCheck
        gone = ClusterEvent(Pod, Action.DELETE, pod, None)
        self.on_event(
            gone, now, lambda other: other.priority <= pod.priority and other.uid != pod.uid
        )

    def activate(self, pods: Iterable[Pod], now: float) -> None:
        """Try these pods again without waiting, as a plugin asks."""
        # parity v1.36.4: backend/queue/scheduling_queue.go Activate
        for pod in pods:
            queued = self._pods.get(pod.key)
            if queued is None or not queued.is_for(pod):
                continue
            if queued.sub_queue is SubQueue.IN_FLIGHT:
                self.in_flight.help(queued)
            elif self._patience.lost:
                self._postponed[queued] = True, _ACTIVATED
            elif queued.waits_for_event:
                self._sub_queues.admit(queued, _ACTIVATED, now)
            elif queued.sub_queue is not SubQueue.ACTIVE:
                self._sub_queues.make_ready(queued, _ACTIVATED, now)

    def plugins_replaced(
        self, hints: Mapping[str, Mapping[str, Sequence[RequeueHint]]], now: float
    ) -> None:
        """Other plugins decide from now on, which may take what the old ones rejected.

        All pods are tried again without waiting, also those that are in flight and come back.

        Args:
            hints: those of the new plugins; see the class.
            now: the time.
        """
        self._hints.replace(hints)
        for queued in self:
            self._sub_queues.reorder(queued)
        self.activate([queued.pod for queued in self], now)

    def _requeue_on(self, queued: QueuedPod, event: ClusterEvent, label: str, now: float) -> None:
        if self._patience.lost:
            # Nor are plugins asked whether it helps: it may.
            self._postponed.setdefault(queued, (False, label))
        elif self._hints.worth_requeuing(queued, event):
            self._sub_queues.retry(queued, label, now)

    def flush(self, now: float) -> None:
        """Time passed: backoffs are over, pods were unschedulable for too long.

        Also moves the pods that wait for that because plugins hung over others.
        """
        self._patience.lost = False
        while self._postponed and not self._patience.lost:
            queued, (at_once, event) = self._postponed.popitem(last=False)
            if queued.sub_queue not in _UNDER_WAY:
                move = self._sub_queues.admit if at_once else self._sub_queues.retry
                move(queued, event, now)
        self._sub_queues.flush(now)

    def next_time(self) -> float | None:
        """When `flush` has something to do; long ago if pods wait for it, None if never."""
        if self._postponed:
            return -math.inf
        return self._sub_queues.next_time()

    # -- what is known

    def get(self, key: str) -> QueuedPod | None:
        """The pod of this namespace and name that waits or is being decided."""
        return self._pods.get(key)

    def counts(self) -> dict[str, int]:
        """How many pods each part has, as in kube-scheduler's metric ``pending_pods``."""
        return self._sub_queues.counts()

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(list(self._pods.values()))

    def __len__(self) -> int:
        return len(self._pods)
