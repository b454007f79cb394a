"""The scheduling queue: every pod that waits for a node, and when it is worth another try.

    add ──> gate ──> ACTIVE ──pop──> IN FLIGHT ──done──> out
                       ^                 │ requeue
                       │                 ├── refused ──> UNSCHEDULABLE
               backoff │                 │                     │ a change helps its refusers,
               is over │                 │ refused, but        │ or 5 minutes
                       │                 │ helped meanwhile    │
                       ├── BACKOFF <─────┼─────── gate <───────┘
                       │                 │ failed
                       └── ERROR BACKOFF <─────── gate

    gate ── pre_enqueue refuses ──> GATED ── its plugin is told something, or 5 minutes ──> gate

- Who passes the gate and has no backoff left is ACTIVE.
- The backoff doubles with every attempt that plugins refused, and separately with every error in a
  row. When nothing is ACTIVE, `pop` takes pods from BACKOFF before their time, as there is nothing
  better to do; never from ERROR BACKOFF, to spare the API server.
- What happens while a pod is in flight is kept and shown to it when it comes back (`inflight`).
- Which changes help is the word of the plugins that refused (`waking`).

`Core` calls it, with the time; it does no I/O. No operation but `happened` looks at more pods than
it is about, and `happened` only at those whose refusers want to know. Behind `order` and
`pre_enqueue` are plugins; who builds the queue turns their failures into answers.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from mooring.framework.happenings import Happening
from mooring.framework.hook import Action, Wake
from mooring.model.pod import Pod
from mooring.scheduler.backoff import QueueSettings
from mooring.scheduler.inflight import InFlight
from mooring.scheduler.parts import Order, Parts, PreEnqueue
from mooring.scheduler.queued_pod import Part, QueuedPod
from mooring.scheduler.waking import HintFailed, Strategy, Wakes, own_change

__all__ = ["Queue", "QueueSettings"]

# parity v1.36.4: framework/events.go: what metrics call these reasons for a move
_ADDED: Final = "UnschedulablePodAdd"
_FAILED: Final = "ScheduleAttemptFailure"
_ACTIVATED: Final = "ForceActivate"


class Queue:
    """The pods that wait for a node.

    Args:
        order: a pod's place among the pods that are ready, from when it was queued; the smallest
            first (`QueueSort`).
        wakes: what the plugins want to be told, by scheduler name and plugin name
            (`happenings.wakes_of`). A refuser that is not named is told everything.
        pre_enqueue: the plugin that holds a pod back; None if none does.
        settings: how long pods wait.
        hint_failed: told when a plugin cannot say whether a change helps; it counts as helping.

    Attributes:
        incoming: how often pods came to a part and why (``queue_incoming_pods_total``).
        refused: how many waiting pods each plugin of a profile refused (``unschedulable_pods``).
        flights: the pods that are being decided.
    """

    def __init__(
        self,
        order: Order,
        wakes: Mapping[str, Mapping[str, Sequence[Wake]]],
        pre_enqueue: PreEnqueue,
        settings: QueueSettings,
        hint_failed: HintFailed | None = None,
    ) -> None:
        self._settings = settings
        self._wakes = Wakes(wakes, hint_failed)
        self._parts = Parts(order, pre_enqueue, settings)
        self.flights = InFlight()
        self._pods: dict[str, QueuedPod] = {}
        self.incoming = self._parts.incoming
        self.refused = self._parts.refused

    # -- pods come, change and go

    def add(self, pod: Pod, now: float) -> None:
        """A pod that waits for a node was seen; another one of its name is gone then."""
        known = self._pods.get(pod.key)
        if known is not None:
            if known.is_for(pod):
                self.update(known.pod, pod, now)
                return
            self._leave(known)
        queued = self._pods[pod.key] = QueuedPod(pod, now)
        self._parts.admit(queued, _ADDED, now)

    def update(self, old: Pod | None, new: Pod, now: float) -> None:
        """A waiting pod changed; one that is not known yet is added.

        A held pod is woken if its refusers say that this helps, as when its last gate is removed.
        """
        # parity v1.36.4: backend/queue/scheduling_queue.go Update
        queued = self._pods.get(new.key)
        if queued is None or not queued.is_for(new):
            self.add(new, now)
            return
        old = queued.pod if old is None else old
        queued.pod = new
        self._parts.reorder(queued)
        flies = queued.part is Part.IN_FLIGHT
        change = own_change(old, new) if flies or queued.held else None
        if change is not None and flies:
            self.flights.record(change, only=queued)
        elif change is not None:
            self._wake(queued, change, now)

    def remove(self, pod: Pod) -> None:
        """A pod is gone or bound, and will not come back; another one of the same name stays."""
        queued = self._pods.get(pod.key)
        if queued is not None and queued.is_for(pod):
            self._leave(queued)

    def _leave(self, queued: QueuedPod) -> None:
        del self._pods[queued.key]
        if queued.part is Part.IN_FLIGHT:
            queued.part = Part.OUT
        else:
            self._parts.drop(queued)

    # -- attempts

    def pop(self, now: float) -> QueuedPod | None:
        """Take the next pod, None if none is ready; it is in flight until `done` or `requeue`."""
        self._parts.flush(now)
        queued = self._parts.take()
        if queued is not None:
            queued.part = Part.IN_FLIGHT
            queued.attempts += 1
            self.flights.start(queued)
        return queued

    def done(self, queued: QueuedPod) -> None:
        """A pod in flight will not be refused any more: it is being bound, or it is gone."""
        if self.flights.finish(queued) and queued.part is Part.IN_FLIGHT:
            self._leave(queued)

    def requeue(
        self,
        queued: QueuedPod,
        plugins: Collection[str],
        now: float,
        *,
        pending: Collection[str] = (),
        error: bool = False,
        pod: Pod | None = None,
        flown: bool = False,
    ) -> Part:
        """Put a pod back whose attempt failed; says where it is now.

        Nothing is done if it is not in flight any more: it is gone, or was put back before.

        Args:
            queued: what `pop` gave.
            plugins: who refused.
            now: the time.
            pending: who said that the pod waits for something of theirs; that ends the backoff.
            error: something went wrong and nobody refused; `plugins` do not matter then.
            pod: the pod as it is known now, if the queue was not told.
            flown: it was `done` before, and binding failed; the caller knows that it still waits.
        """
        # parity v1.36.4: backend/queue/scheduling_queue.go AddUnschedulableIfNotPresent
        if flown and queued.part is Part.OUT and queued.key not in self._pods:
            self._pods[queued.key] = queued
        elif flown or queued.part is not Part.IN_FLIGHT:
            self.flights.finish(queued)
            return queued.part
        if pod is not None:
            queued.pod = pod
        queued.fail(() if error else plugins, () if error else pending, now)
        queued.backoff_until = self._settings.backoff_end(queued)
        # Nobody kept what happened while a pod was being bound: it must be tried again.
        helped = flown or self.flights.helped(queued)
        strategy = self._wakes.meanwhile(queued, self.flights.since(queued), helped=helped)
        self.flights.finish(queued)
        self._parts.refused.update((plugin, queued.profile) for plugin in queued.refusers)
        self._parts.retry(queued, strategy, _FAILED, now)
        return queued.part

    # -- what wakes pods

    def happened(
        self, happening: Happening, now: float, among: Callable[[Pod], bool] | None = None
    ) -> None:
        """Something changed in the cluster: wake the pods it may help.

        With `among`, only those of which it is true; pods in flight are told anyway.
        """
        # parity v1.36.4: backend/queue/scheduling_queue.go movePodsToActiveOrBackoffQueue
        for queued in self._parts.concerned(self._wakes, happening):
            if among is None or among(queued.pod):
                self._wake(queued, happening, now)
        self.flights.record(happening)

    def happened_to_promise(self, pod: Pod, now: float) -> None:
        """A waiting pod gave up its promised node; pods of no higher priority have room there."""
        # parity v1.36.4: scheduler/eventhandlers.go getLEPriorityPreCheck
        gone = Happening(Pod, Action.DELETE, pod, None)
        self.happened(
            gone, now, lambda other: other.priority <= pod.priority and other.uid != pod.uid
        )

    def activate(self, pods: Iterable[Pod], now: float) -> None:
        """Try these pods again without waiting, as a plugin asks."""
        # parity v1.36.4: backend/queue/scheduling_queue.go Activate
        for pod in pods:
            queued = self._pods.get(pod.key)
            if queued is None or not queued.is_for(pod):
                continue
            if queued.part is Part.IN_FLIGHT:
                self.flights.help(queued)
            elif queued.held:
                self._parts.admit(queued, _ACTIVATED, now)
            elif queued.part is not Part.ACTIVE:
                self._parts.make_ready(queued, _ACTIVATED, now)

    def _wake(self, queued: QueuedPod, happening: Happening, now: float) -> None:
        strategy = self._wakes.strategy(queued, happening)
        if strategy is not Strategy.SKIP:
            self._parts.retry(queued, strategy, happening.label(), now)

    def flush(self, now: float) -> None:
        """Time passed: backoffs are over, pods were held too long."""
        self._parts.flush(now)

    def next_time(self) -> float | None:
        """When `flush` has something to do; None if never."""
        return self._parts.next_time()

    # -- what is known

    def pending(self, key: str) -> QueuedPod | None:
        """The pod of this namespace and name that waits or is being decided."""
        return self._pods.get(key)

    def counts(self) -> dict[str, int]:
        """How many pods wait in each part, as in kube-scheduler's metric ``pending_pods``."""
        return self._parts.counts()

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(list(self._pods.values()))

    def __len__(self) -> int:
        return len(self._pods)
