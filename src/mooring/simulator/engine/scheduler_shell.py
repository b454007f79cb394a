"""The scheduler in virtual time: the core of `moor run`, whose effects are carried out here.

    changes ──> core.handle          core.schedule_one ──> effects ──> pods, plans
                                            ^                              │ after a latency
                                            └──────── core.report <────────┘

The counterpart of `mooring.live.loop`. A decision takes the same virtual time whatever it costs the
computer, so the result does not depend on the machine.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from mooring.errors import MooringError
from mooring.framework.decisions.decision_cycle import without_extenders
from mooring.framework.filtering import Rejection
from mooring.model.change import Change
from mooring.scheduler.core import Core
from mooring.scheduler.effects import (
    Bind,
    BindFailed,
    Bound,
    CleanUp,
    Effect,
    PatchStatus,
    PreemptVictims,
    VictimsPreempted,
)
from mooring.simulator.engine.binding_hooks_driver import BindingHooksDriver
from mooring.simulator.engine.event_heap import EventHeap
from mooring.simulator.engine.plan_execution import PlanExecution
from mooring.simulator.engine.pods import Pods
from mooring.simulator.engine.recorder import Recorder

log = logging.getLogger("mooring.simulator")


class Latencies(msgspec.Struct, frozen=True, kw_only=True):
    """How long things take, in virtual seconds.

    Attributes:
        decision: one decision; the next one begins after it.
        binding: from a decision until the pod is bound.
        preemption: from a decision until the victims are told to go.
        pod_start: from being bound to running.
        pod_stop: from being deleted to being gone.
        node_monitor_grace_period: from a node's silence until its condition says so.
    """

    decision: float = 0.001
    binding: float = 0.01
    preemption: float = 0.01
    pod_start: float = 1.0
    pod_stop: float = 1.0
    node_monitor_grace_period: float = 50.0


class SchedulerShell:
    """Runs the scheduler.

    Args:
        core: decides.
        heap: virtual time.
        pods: where bindings and deletions go.
        plans: carries out plans.
        recorder: told of decisions.
        latencies: how long things take.
    """

    def __init__(
        self,
        core: Core,
        heap: EventHeap,
        pods: Pods,
        plans: PlanExecution,
        recorder: Recorder,
        latencies: Latencies,
    ) -> None:
        self.core = core
        self._heap = heap
        self._pods = pods
        self._plans = plans
        self._recorder = recorder
        self._latencies = latencies
        self._hooks = BindingHooksDriver()
        self._before_decision: Callable[[], object] | None = None
        self._deciding = False
        self._background_at: float | None = None

    def call_before_decisions(self, action: Callable[[], object]) -> None:
        """Have something done before each decision, such as beginning a plugin's time limit."""
        self._before_decision = action

    def handle(self, changes: list[Change[Any]]) -> None:
        """Show changes to the scheduler."""
        self.core.handle(changes, self._heap.now)
        self._plans.on_changes(changes)
        self.wake()

    def wake(self) -> None:
        """Something may be decided."""
        if not self._deciding:
            self._deciding = True
            self._heap.at(self._heap.now, self._decide)

    def _decide(self) -> None:
        """Make one decision; the next one follows when it is over."""
        heap, core = self._heap, self.core
        now = heap.now
        if self._before_decision is not None:
            self._before_decision()
        effects = core.tick(now)
        if effects:
            self._dispatch(effects)
        cycle = core.schedule_one(now)
        if cycle is None:
            self._deciding = False
            self._wait_for_time(now)
            return
        self._recorder.decisions += 1
        self._dispatch(without_extenders(cycle))
        heap.at(now + self._latencies.decision, self._decide)

    def _wait_for_time(self, now: float) -> None:
        """Go on when a backoff is over, or a pod has waited long enough for permission."""
        time = self.core.next_time()
        if time is None:
            return
        # Trying pods again keeps no simulation going: that may be fruitless for ever.
        background = not len(self.core.waiting)
        if background and self._background_at == time:
            return
        if background:
            self._background_at = time
        # Backoffs end with the second in which their time is.
        self._heap.at(max(time, now + 0.001), self.wake, background=background)

    def _dispatch(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Bind):
                self._recorder.tried(effect.pod.uid)
                self._bind(effect)
            elif isinstance(effect, PatchStatus):
                if effect.reason:
                    self._recorder.tried(effect.pod.uid)
                pod, node = effect.pod, effect.nominated_node
                self._pods.set_status(pod, effect.reason, effect.message, node)
            elif isinstance(effect, PreemptVictims):
                self._heap.after(self._latencies.preemption, partial(self._preempt, effect))
            elif isinstance(effect, CleanUp):
                self._heap.after(
                    self._latencies.binding, partial(self._plans.clean_up, effect.plans)
                )

    # -- bindings

    def _bind(self, effect: Bind) -> None:
        if effect.plans:
            self._plans.carry_out(effect, partial(self._planned, effect))
        else:
            self._heap.after(self._latencies.binding, partial(self._create_binding, effect))

    def _planned(self, effect: Bind, failed: BindFailed | None) -> None:
        if failed is not None:
            # Not at once: this may be in the middle of a change.
            self._heap.after(0.0, partial(self._not_bound, effect, failed))
        else:
            self._heap.after(self._latencies.binding, partial(self._create_binding, effect))

    def _create_binding(self, effect: Bind) -> None:
        pod, node = effect.pod, effect.binding.node_name
        try:
            binding = self._hooks.before(effect)
        except MooringError as error:
            self._not_bound(effect, BindFailed(pod, node, str(error)))
            return
        if isinstance(binding, Rejection):
            reasons = ", ".join(binding.verdict.reasons)
            rejected = not binding.verdict.error
            self._not_bound(effect, BindFailed(pod, node, reasons, rejected=rejected))
            return
        problem = self._pods.bind(pod, binding.node_name, binding.annotations)
        if problem:
            self._not_bound(effect, BindFailed(pod, node, problem))
            return
        self._plans.bound(effect)
        self._report(Bound(pod, node))
        if effect.hooks.post_binds:
            try:
                self._hooks.after(effect)
            except MooringError as error:
                log.warning("%s", error)

    def _not_bound(self, effect: Bind, report: BindFailed) -> None:
        """Take back what was written for a pod, and let it be tried again."""
        self._plans.undo(effect)
        self._report(report)

    def _report(self, report: Bound | BindFailed | VictimsPreempted) -> None:
        if isinstance(report, BindFailed):
            self._recorder.bind_failures += 1
        self._dispatch(self.core.report(report, self._heap.now))
        if not isinstance(report, Bound):
            self.wake()

    # -- victims

    def _preempt(self, effect: PreemptVictims) -> None:
        for victim in effect.victims:
            if victim.deleting:
                continue
            if not self._plans.cancel(victim.uid, f"preempted by {effect.plugin}"):
                self._pods.delete(victim, "preempted")
        self._report(VictimsPreempted(effect.preemptor))
