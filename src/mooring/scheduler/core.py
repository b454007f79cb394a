"""The scheduler's heart: changes and reports in, effects out.

    informers ──changes──> handle ─┐
                                   ├──> queue ──> schedule_one ──> effects
    shell ────reports────> report ─┘

`Core` owns which pod is where: waiting in the queue, being decided, in its binding cycle (see
`binding_cycles`). The cluster's state is its own; every method is called by one thread, and time is
passed in.
"""

import logging
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from mooring.errors import PluginError
from mooring.framework.cluster_events import ClusterEvent, event_between
from mooring.framework.decisions.decision import AskExtenders, Decision
from mooring.framework.hook import Action
from mooring.framework.runtime import Runtime
from mooring.model.change import Gone, Put
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.scheduler.binding_cycles import BindingCycles
from mooring.scheduler.decider import Decider
from mooring.scheduler.effects import (
    BindFailed,
    Bound,
    CleanUp,
    Effect,
    PatchStatus,
    Report,
    VictimsPreempted,
)
from mooring.scheduler.failed_attempts import UNSCHEDULABLE, FailedAttempts
from mooring.scheduler.placement import BindingCycle
from mooring.scheduler.plugin_replacement import NewPlugins, install
from mooring.scheduler.preemptions_in_progress import PreemptionsInProgress
from mooring.scheduler.queue import Queue
from mooring.scheduler.queued_pod import QueuedPod, SubQueue
from mooring.scheduler.waiting_pods import WaitingPods
from mooring.state.cluster import Cluster

log = logging.getLogger("mooring.scheduler")

#: One decision: questions to extenders come out, answers go in, effects are the result.
SchedulingCycle = Generator[AskExtenders, Any, list[Effect]]


class Core:
    """Decides about pods of several profiles on one cluster.

    Args:
        decider: makes decisions.
        cluster: the state.
        queue: the pending pods.
        waiting: the pods that wait for permission; plugins see them through their handles.
        preemptions: the preemptions in progress; decisions respect them.
    """

    def __init__(
        self,
        decider: Decider,
        cluster: Cluster,
        queue: Queue,
        waiting: WaitingPods,
        preemptions: PreemptionsInProgress,
    ) -> None:
        self.cluster = cluster
        self.queue = queue
        self.waiting = waiting
        self._decider = decider
        self._preemptions = preemptions
        self._failed_attempts = FailedAttempts(cluster, queue)
        self._binding_cycles = BindingCycles(
            decider, cluster, queue, waiting, self._failed_attempts, self._placement_undone
        )
        # Pods that will look for victims when it is seen what becomes of those of others.
        self._deferred: dict[str, Pod] = {}

    @property
    def runtimes(self) -> Mapping[str, Runtime]:
        """The plugins by scheduler name."""
        return self._decider.runtimes

    @property
    def binding(self) -> list[BindingCycle]:
        """The pods that are being bound; two may have one name, if the first is deleted by now."""
        return self._binding_cycles.binding

    # -- changes of the cluster

    def handle(self, changes: Iterable[Put[Any] | Gone[Any]], now: float) -> None:
        """Apply what informers saw, in order."""
        for change in changes:
            thing: KubeObject = change.object
            put = isinstance(change, Put)
            if isinstance(thing, Pod):
                self._on_pod(thing, now, put=put)
            elif isinstance(thing, Node):
                old_node = self.cluster.nodes.get(thing.name)
                new_node = self.cluster.put_node(thing) if put else None
                if not put:
                    self.cluster.remove_node(thing.name)
                self._on_event(old_node, new_node, now)
            else:
                old = self.cluster.catalog.get(type(thing), thing.key)
                self.cluster.put(thing) if put else self.cluster.remove(thing)
                self._on_event(old, thing if put else None, now)

    def _on_pod(self, seen: Pod, now: float, *, put: bool) -> None:
        """A pod is there, finished or not, or is not there any more."""
        key = seen.key
        pod = seen if put and not seen.finished else None
        known = self.cluster.pod_by_key(key)
        if known is not None and known.metadata.uid != seen.metadata.uid:
            if not put:
                return  # an older pod of the same name is gone; the new one is not
            self._pod_deleted(known, now)
            known = None
        if pod is None:
            if known is not None:
                self._pod_deleted(known, now)
            self.cluster.remove_pod(key)
        elif pod.spec.node_name:
            self.waiting.reject(key, "another scheduler bound the pod")
            if self.queue.get(key) is not None:
                self.queue.remove(pod)
            # The API server assigns an assumed pod now, whether or not it answered before.
            assigned = self.cluster.assumed_pod(key) is not None
            if assigned or known is None or not known.node_name:
                known = None
            self.cluster.put_pod(pod, key)
            self._on_assigned_pod_event(pod.uid, known, pod, now)
        elif pod.scheduler_name in self.runtimes:
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
            self.waiting.reject(known.key, "the pod was deleted")
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
        if not self.queue.heeds_events:
            return
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
        if pod.metadata.deletion_timestamp is not None:
            self.queue.done(queued)
            return []
        try:
            if self.cluster.nominations.by_pod:
                pod = self._with_nominated_node(pod)
            decision = yield from self._decider.decide(queued, pod)
        except Exception as error:  # noqa: BLE001 - one pod must not end all scheduling
            return self._failed_attempts.broke(queued, error, now)
        node = self._decider.node(decision)
        if node is not None:
            return self._binding_cycles.place(queued, decision.cycle, node, now)
        if decision.error:
            failed = PluginError(decision.error, plugin="", hook="filter", pod=pod.key)
            return self._failed_attempts.broke(queued, failed, now)
        return self._no_node(queued, decision, now)

    def _with_nominated_node(self, pod: Pod) -> Pod:
        """The pod with its nominated node, whether or not the watch has shown that yet."""
        nominated_node = self.cluster.nominations.node_of(pod.key)
        if not nominated_node or nominated_node == pod.status.nominated_node_name:
            return pod
        return replace(pod, status=replace(pod.status, nominated_node_name=nominated_node))

    def tick(self, now: float, enough: Callable[[], bool] = lambda: False) -> list[Effect]:
        """Time passed: pods leave backoff, pods that waited for permission are settled.

        When that took `enough` time, the other ones are settled by the next call.
        """
        self.queue.flush(now)
        effects = self._binding_cycles.settle(now, enough)
        late = self._preemptions.late(now)
        if late:
            self.queue.activate(late, now)
            self._retry_preemptors(late, now)
        return effects

    def next_time(self) -> float | None:
        """When `tick` has something to do."""
        parts = (self.queue, self.waiting, self._preemptions)
        return min((t for one in parts if (t := one.next_time()) is not None), default=None)

    # -- other plugins

    def replace_plugins(self, profiles: Mapping[str, NewPlugins], now: float) -> None:
        """Let other plugins decide from the next decision on, and try all pending pods again.

        Pods that are being bound go on with the plugins that chose their node. So do waiting pods,
        unless a plugin that they wait for is replaced: they give their place back.

        Args:
            profiles: the plugins, as `plugin_replacement` prepares them, by scheduler name.
            now: the time.

        Raises:
            Exception: a plugin cannot be used; the old ones decide as before.
        """
        before = {name: runtime.plugins for name, runtime in self.runtimes.items()}
        install(self.runtimes, profiles)
        self.cluster.forget_remembered()
        for waiting in self.waiting:
            name = waiting.pod.scheduler_name
            old, new = before[name], self.runtimes[name].plugins
            gone = [one for one in waiting.deadlines if new.get(one) is not old.get(one)]
            if gone:
                waiting.reject(
                    gone[0], f"plugin {gone[0]} was replaced while the pod waited for it"
                )
        self.queue.plugins_replaced({name: one.hints for name, one in profiles.items()}, now)

    # -- what came of effects

    def report(self, report: Report, now: float) -> list[Effect]:
        """Note what came of an effect."""
        if isinstance(report, Bound):
            return self._binding_cycles.bound(report)
        if isinstance(report, BindFailed):
            return self._binding_cycles.not_bound(report, now)
        return self._victims_preempted(report, now)

    def _victims_preempted(self, report: VictimsPreempted, now: float) -> list[Effect]:
        pod = report.preemptor
        if self._preemptions.reported(pod, now, failed=bool(report.error)):
            if report.error:
                self.queue.activate([pod], now)
            self._retry_preemptors([pod], now)
        return []

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

    def _placement_undone(self, placed: Pod, now: float) -> None:
        """A placement was undone: its room is free for others, which is no help to the pod."""
        was_victim = placed.uid in self._preemptions
        waited = self._preemptions.seen(placed.uid)
        gone = ClusterEvent(Pod, Action.DELETE, placed, None)
        self.queue.on_event(gone, now, lambda other: other.uid != placed.uid)
        if was_victim:
            self._retry_preemptors(waited, now)

    def _no_node(self, queued: QueuedPod, decision: Decision, now: float) -> list[Effect]:
        pod = queued.pod
        message, plugins = decision.message, decision.filtering.plugins
        result = decision.post_filter_result
        # What is known of a template is that there is none.
        target = None if decision.known_message else self._decider.candidate(decision)
        if target is None:
            if result.deferred:
                self._deferred[pod.uid] = pod
            nominated_node = None if result.keep_nomination else ""
            effects = self._failed_attempts.failed(
                queued, UNSCHEDULABLE, message, plugins, now, nominated_node=nominated_node
            )
            cleanups = tuple(decision.cycle.cleanups)
            return [*effects, CleanUp(pod, queued.profile, cleanups)] if cleanups else effects
        effects = []
        going = [one.uid for one in target.victims if not one.deleting]
        self._preemptions.start(pod, target.node, going)
        # Less important pods lose their nomination to that node: they may fit elsewhere.
        for other in self.cluster.nominations.on(target.node):
            if other.priority < pod.priority and other.key != pod.key:
                self.cluster.nominations.remove(other.key)
                effects.append(PatchStatus(other, nominated_node=""))
        effects += self._binding_cycles.preempt(pod, target, result.plugin)
        effects += self._failed_attempts.failed(
            queued, UNSCHEDULABLE, message, plugins, now, nominated_node=target.node
        )
        return effects
