"""Binding cycles: what happens to a pod between the choice of its node and the end of its binding.

              reserve, permit, pre_bind_check
    node chosen ──────────────> may it go now? ── yes ──> BINDING ──Bound──────> out
        │                            │ not yet              ^  │
        │ rejected, failed           v              allowed │  │ BindFailed
        │                      WAITING ON PERMIT ───────────┘  │
        │                            │ rejected, too late,     │ rejected, failed, preempted
        v                            v preempted               v
    back to the queue <──────────────┴─────────────────────────┘  everything is given back before

`Core` calls it. From BINDING on, the pod is in flight no more: whoever comes back from there is
tried again after its backoff, and events of the cluster are not kept for it. Every `Bind` effect
ends in exactly one report.
"""

# parity v1.36.4: schedule_one.go bindingCycle, handleBindingCycleError

from collections.abc import Callable, Set
from typing import Final

from msgspec.structs import replace

from mooring.framework.binding_hooks import BindingHooks, Waits
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.observer import NOBODY, PERMIT, RESERVE, Observer
from mooring.framework.filtering import Candidate, Rejection
from mooring.framework.fit_error import fit_error
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.scheduler.decider import Decider
from mooring.scheduler.effects import (
    BindFailed,
    Bound,
    Effect,
    PatchStatus,
    PreemptVictims,
)
from mooring.scheduler.events import preempted, scheduled
from mooring.scheduler.failed_attempts import (
    SCHEDULER_ERROR,
    UNSCHEDULABLE,
    FailedAttempts,
)
from mooring.scheduler.placement import BindingCycle, Placement
from mooring.scheduler.queue import Queue
from mooring.scheduler.queued_pod import QueuedPod
from mooring.scheduler.waiting_pods import WaitingPod, WaitingPods
from mooring.state.cluster import Cluster

_NO_WAITS: Final[Waits] = {}
#: Told of a pod whose placement was undone, as it was counted: its room is free.
PlacementUndone = Callable[[Pod, float], None]


class BindingCycles:
    """The pods that have a node and are not bound yet.

    Args:
        decider: has the plugins by scheduler name, and who watches them.
        cluster: the state.
        queue: the pending pods.
        waiting: those that wait for permission.
        failed_attempts: puts pods back.
        placement_undone: told when a pod gives its place back after its decision.
    """

    def __init__(
        self,
        decider: Decider,
        cluster: Cluster,
        queue: Queue,
        waiting: WaitingPods,
        failed_attempts: FailedAttempts,
        placement_undone: PlacementUndone,
    ) -> None:
        self._decider = decider
        self._cluster = cluster
        self._queue = queue
        self._failed_attempts = failed_attempts
        self._placement_undone = placement_undone
        self._waiting = waiting
        # By unique id: a pod may be gone, and another of its name there, before its report comes.
        self._binding: dict[str, BindingCycle] = {}

    @property
    def binding(self) -> list[BindingCycle]:
        """The pods that are being bound; two may have one name, if the first is deleted by now."""
        return list(self._binding.values())

    def __contains__(self, uid: object) -> bool:
        """Whether the pod of this unique id is being bound."""
        return uid in self._binding

    # -- from the decision to the binding

    def place(self, queued: QueuedPod, cycle: Cycle, node: Node, now: float) -> list[Effect]:
        """Give a pod its node in the state, and see whether the plugins agree."""
        pod = queued.pod
        self._cluster.assume(pod, node.name, key=queued.key)
        try:
            # If a plugin forked the state, only the node that is there now shows the pod.
            answer = self._ask_plugins(queued, cycle, self._cluster.nodes[node.name])
        except Exception as error:  # noqa: BLE001 - one pod must not end all scheduling
            self._cluster.forget(pod.key)
            return self._failed_attempts.broke(queued, error, now)
        if isinstance(answer, Rejection):
            self._cluster.forget(pod.key)
            return self._failed_attempts.rejected(queued, answer, now)
        placement, waits = answer
        effects: list[Effect] = []
        if placement.nominated:
            effects.append(PatchStatus(pod, nominated_node=node.name))
        if waits:
            self._waiting.add(WaitingPod(placement, waits, now))
        else:
            effects.append(self._bind(placement, now))
        return effects

    def _ask_plugins(
        self, queued: QueuedPod, cycle: Cycle, node: Node
    ) -> Rejection | tuple[Placement, Waits]:
        """What the plugins say of a pod's node; if it comes to nothing, they know of it no more.

        Raises:
            Exception: a plugin failed, or who watches.
        """
        hooks = self._decider.runtimes[queued.profile].binding_hooks
        observer = self._decider.observers.get(queued.profile, NOBODY)
        if not observer.each_step and hooks.are_idle(cycle):
            return Placement(queued, cycle, node, hooks), _NO_WAITS
        observer.started(RESERVE)
        try:
            plans = hooks.reserve(cycle, node)
        except Exception:
            observer.failed()
            raise
        if isinstance(plans, Rejection):
            observer.reserved(plans)
            return plans
        try:
            observer.reserved(None)
            answer = _permit(hooks, observer, cycle, node)
        except Exception:
            hooks.unreserve(cycle, node)
            raise
        if isinstance(answer, Rejection):
            hooks.unreserve(cycle, node)
            return answer
        waits, pre_binds = answer
        # Others should know where the pod goes: an autoscaler must keep that node.
        nominated = bool(waits or plans or pre_binds)
        return Placement(queued, cycle, node, hooks, plans, pre_binds, nominated), waits

    def _bind(self, placement: Placement, now: float) -> Effect:
        self._queue.done(placement.queued)
        effect = placement.bind()
        self._binding[effect.binding.uid] = BindingCycle(placement, now)
        return effect

    def settle(self, now: float, enough: Callable[[], bool]) -> list[Effect]:
        """Bind the pods that were allowed meanwhile, put those back that were not.

        When that took `enough` time, the other ones are settled by the next call.
        """
        effects: list[Effect] = []
        for waiting in self._waiting.settled(now):
            try:
                self._decider.observer(waiting.pod).waited(waiting.code, now - waiting.since)
                effects += self._settle(waiting, now)
            except Exception as error:  # noqa: BLE001 - it waits no more: it must not be lost
                self._give_back(waiting.placement)
                effects += self._failed_attempts.broke(waiting.queued, error, now)
            if enough():
                break
        return effects

    def _settle(self, waiting: WaitingPod, now: float) -> list[Effect]:
        if not waiting.reason:
            return [self._bind(waiting.placement, now)]
        if waiting.preempted:
            # parity v1.36.4: runtime/waiting_pods_map.go Preempt, runtime/framework.go WaitOnPermit
            reason, plugins = SCHEDULER_ERROR, set[str]()
            message = f"waiting on permit for pod: {waiting.reason}"
        else:
            reason, plugins = UNSCHEDULABLE, {waiting.rejected_by}
            message = fit_error(1, {waiting.reason: 1})
        placed = self._give_back(waiting.placement)
        effects = self._failed_attempts.failed(
            waiting.queued, reason, message, plugins, now, written_node=waiting.node.name
        )
        if placed is not None:
            self._placement_undone(placed, now)
        return effects

    # -- what came of it

    def bound(self, report: Bound) -> list[Effect]:
        """The API server bound a pod."""
        pod = report.pod
        self._binding.pop(pod.uid, None)
        self._cluster.confirm(pod.key, pod.uid)
        self._cluster.assume_cache.bound(pod.uid)
        return [scheduled(pod, report.node)]

    def not_bound(self, report: BindFailed, now: float) -> list[Effect]:
        """A pod was not bound: it gives everything back and is tried again after its backoff."""
        binding_cycle = self._binding.pop(report.pod.uid, None)
        if binding_cycle is None:
            return []
        placement = binding_cycle.placement
        node = placement.node
        placed = self._give_back(placement)
        # parity v1.36.4: requeue hints of whoever rejects after Permit do not count
        effects = self._failed_attempts.failed(
            placement.queued,
            UNSCHEDULABLE if report.rejected else SCHEDULER_ERROR,
            report.message,
            frozenset(),
            now,
            written_node=node.name if placement.nominated else "",
            bind_failed=True,
        )
        if placed is not None:
            self._placement_undone(placed, now)
        return effects

    def _give_back(self, placement: Placement) -> Pod | None:
        """Undo a placement; returns the pod as it was counted, None if that made no room.

        Somebody else may have bound the pod meanwhile: it stays where it is.
        """
        pod = placement.pod
        placed = self._cluster.pod(pod.namespace, pod.name)
        placement.hooks.unreserve(placement.cycle, placement.node)
        self._cluster.forget(pod.key, pod.uid)
        if placed is None or placed.uid != pod.uid:
            return None
        left = self._cluster.pod(pod.namespace, pod.name)
        return None if left is not None and left.node_name else placed

    # -- victims

    def preempt(self, preemptor: Pod, target: Candidate, plugin: str) -> list[Effect]:
        """Have victims leave their node; those that wait for permission only give their place back.

        Args:
            preemptor: whom they make room for.
            target: where, and who.
            plugin: who found them.
        """
        # parity v1.36.4: framework/preemption/executor.go PreemptPod
        effect = PreemptVictims(
            target.victims, preemptor, target.node, preemptor.scheduler_name, plugin
        )
        events: list[Effect] = []
        others: list[Pod] = []
        for victim in target.victims:
            waiting = self._waiting.get(victim.key)
            if waiting is not None and waiting.pod.uid == victim.uid:
                waiting.preempt(plugin)
                events.append(preempted(effect, victim, in_memory=True))
            else:
                others.append(victim)
        return [*events, replace(effect, victims=tuple(others))]


def _permit(
    hooks: BindingHooks, observer: Observer, cycle: Cycle, node: Node
) -> Rejection | tuple[Waits, Set[str]]:
    """How long a pod has to wait for which plugins, and who has work to do before its binding."""
    observer.started(PERMIT)
    try:
        waits = hooks.permit(cycle, node)
    except Exception:
        observer.failed()
        raise
    observer.permitted(waits)
    return waits if isinstance(waits, Rejection) else (waits, hooks.pre_bind_check(cycle, node))
