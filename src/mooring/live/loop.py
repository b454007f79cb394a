"""The loop on a live cluster: changes in, decisions, effects out.

    informers ──on_changes──> changes ─┐
                                       v
    reports <── tasks <── core.handle, core.tick, core.schedule_one    one turn after the other
                                                                        on the event loop's thread

Decisions never wait for the API server; what they ask for is carried out by tasks. What waits for
plans or plugins is no work; only when many writes wait for the API server, no more decisions are
made until it has caught up. A loop that cannot go on rests. While extenders are asked in the middle
of a decision, changes and reports wait. Events cost the API server as much as bindings do, so they
are held back while pods wait to be bound, and while they keep coming.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, cast

from mooring.errors import InputError
from mooring.framework.decisions.decision import AskExtenders
from mooring.framework.runtime import Runtime
from mooring.kube.events import EventRecorder
from mooring.live.async_hooks import AsyncHooks
from mooring.live.attempt_log import AttemptLog
from mooring.live.binder import Binder, changes_status
from mooring.live.change_intake import ChangeMetrics, count_change
from mooring.live.client import LiveClient
from mooring.live.options import HookLimits
from mooring.live.plans.plan_executor import PlanExecutor
from mooring.live.sync_hooks import SyncHooks
from mooring.live.waiting_bindings import WaitingBindings
from mooring.model.change import Change, Put
from mooring.model.pod import Pod
from mooring.process.deadline import Deadline
from mooring.process.wake_up import WakeUp
from mooring.scheduler.core import Core, SchedulingCycle
from mooring.scheduler.effects import (
    Bind,
    BindFailed,
    Bound,
    CleanUp,
    Effect,
    PatchStatus,
    PreemptVictims,
    RecordEvent,
    Report,
    VictimsPreempted,
)

if TYPE_CHECKING:
    from mooring.extender.client import ExtenderClients

log = logging.getLogger("mooring.live")

#: So long decisions are made before the network gets its turn.
_SLICE_SECONDS = 0.004
#: With so many writes under way no further decisions are made.
_MOST_WRITES = 512
#: With so many writes under way the API server is busy: it needs neither events nor haste.
_BUSY_WRITES = 16
#: After so long without a busy moment, events are written again.
_CALM_SECONDS = 0.5
#: Meanwhile the loop's turns are so far apart: a turn for each answer would cost half a decision.
_BUSY_PAUSE_SECONDS = 0.002
#: A rest that is shorter is none: the loop spins.
_REST_SECONDS = 0.001
#: A binding that takes longer than so many hooks may take is forgotten somewhere.
_OVERDUE = 3
#: After a plugin took long, the network and the renewal of the Lease have as long, but at most
_MOST_YIELD_SECONDS = 0.2
#: What is shorter is not long.
_LONG_SECONDS = 0.05
#: Nobody rests longer, in case something was missed.
_MOST_REST_SECONDS = 1.0
#: So many other schedulers are named in the log; anybody can make up names.
_MOST_FOREIGN = 50


class LoopMetrics(ChangeMetrics, Protocol):
    """Counts what the loop does."""

    def attempt(self, profile: str, result: str, seconds: float) -> None:
        """A pod was tried: ``scheduled``, ``unschedulable`` or ``error``."""

    def algorithm(self, seconds: float) -> None:
        """A decision took so long."""

    def bound(self, profile: str, attempts: int, seconds: float) -> None:
        """A pod was bound, so long after it was first tried."""

    def preempted(self, victims: int) -> None:
        """Victims are to be preempted for a pod."""

    def foreign_bind(self, scheduler_name: str) -> None:
        """Another scheduler bound a pod."""


class LiveScheduler:
    """Schedules the pods of a live cluster.

    Args:
        core: decides.
        client: the API server.
        recorder: records Kubernetes events.
        runtimes: the plugins by scheduler name.
        metrics: counts.
        extenders: the configuration's extenders.
        clock: seconds that only grow.
        deadline: for plugins; in force as long as there is work for them.
        binding_seconds: how long a whole hook around a binding may take.
        attempt_log: logs what comes of attempts; None makes one.

    Attributes:
        last_progress: the clock's time when the loop last did something or rested; one that hangs
            or spins falls behind.
    """

    def __init__(
        self,
        core: Core,
        client: LiveClient,
        recorder: EventRecorder,
        runtimes: Mapping[str, Runtime],
        *,
        metrics: LoopMetrics,
        extenders: "ExtenderClients | None" = None,
        clock: Callable[[], float] = time.monotonic,
        deadline: Deadline,
        binding_seconds: float = HookLimits().binding_seconds,
        attempt_log: AttemptLog | None = None,
    ) -> None:
        self.core = core
        self.metrics = metrics
        self._extenders = extenders
        self._runtimes = runtimes
        self._clock = clock
        self._client = client
        self._recorder = recorder
        self._pods_wait = False
        self._calm_at = 0.0
        self._sync_hooks = SyncHooks(deadline)
        self._change_hooks = SyncHooks(deadline, "the change")
        self._waiting_bindings = waits = WaitingBindings()
        plan_hooks = SyncHooks(deadline, "a function of a plan")
        self._plans = PlanExecutor(client, runtimes, plan_hooks, waits, self._report)
        self._hooks = AsyncHooks(deadline, binding_seconds, waits)
        self._binder = Binder(client, recorder, self._plans, self._hooks, extenders=extenders)
        self._changes: deque[list[Change[Any]]] = deque()
        self._reports: deque[Report] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._bindings: dict[str, asyncio.Task[None]] = {}
        self._overdue_seconds = _OVERDUE * binding_seconds
        # The last patch under way of each pod's status, by unique id: what follows waits for it.
        self._patches: dict[str, asyncio.Task[None]] = {}
        self._wake_up = WakeUp()
        self._stopped = False
        self._halted = False
        self._started = False
        self._foreign: set[str] = set()
        self._attempt_log = attempt_log if attempt_log is not None else AttemptLog(clock)
        self._between: Callable[[], None] | None = None
        self.last_progress = clock()

    def on_changes(self, changes: list[Change[Any]]) -> None:
        """Keep what informers saw; it is applied before the next decision."""
        self._changes.append(changes)
        self._wake_up.notify()

    def between_decisions(self, work: Callable[[], None]) -> None:
        """Do this before the next decision; it replaces what was to be done and was not yet."""
        self._between = work
        self._wake_up.notify()

    async def run(self) -> None:
        """Schedule until stopped."""
        self._apply()
        self._started = True
        while not self._stopped:
            self._wake_up.clear()
            began = self._clock()
            worked = self._apply()
            if self._between is not None:
                work, self._between = self._between, None
                work()
                worked = True
            worked |= self._tick()
            if not self._changes:
                worked |= await self._decide()
            busy = self._client.writes >= _BUSY_WRITES
            if busy or self._pods_wait:
                self._calm_at = began + _CALM_SECONDS
            self._recorder.hold_back(while_=began < self._calm_at)
            left = busy or self._pods_wait or self._changes or self._reports or self._between
            if worked:
                self.last_progress = self._clock()
            if worked and (left or self.last_progress - began > _LONG_SECONDS):
                await self._yield_to_network(self.last_progress - began, busy=busy)
            else:
                await self._rest()
        self._recorder.hold_back(while_=False)

    def _tick(self) -> bool:
        """Let time pass; whether that had effects, or plugins took long over it."""
        now = self._clock()
        try:
            with self._sync_hooks:
                effects = self.core.tick(now, lambda: self._clock() > now + _SLICE_SECONDS)
        except Exception:
            log.exception("internal error in a periodic task")
            return False
        self._dispatch(effects)
        return bool(effects) or self._clock() - now > _LONG_SECONDS

    async def _yield_to_network(self, seconds: float, *, busy: bool = False) -> None:
        """Let the network have its turn: a longer one after a plugin held everything up.

        Args:
            seconds: how long nobody else had a turn.
            busy: the API server has so much to do that what it answers can wait a little.
        """
        pause = _BUSY_PAUSE_SECONDS if busy else 0.0
        await asyncio.sleep(min(seconds, _MOST_YIELD_SECONDS) if seconds > _LONG_SECONDS else pause)

    def stop(self) -> None:
        """Take no more pods; what is under way goes on."""
        self._stopped = True
        self._wake_up.notify()

    def halt(self) -> None:
        """Write nothing any more: somebody else may lead by now."""
        self.stop()
        self._halted = True
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        """Break off what is still under way, and wait until it is."""
        self.halt()
        self._wake_up.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._hooks.wait_cancelled()

    async def drain(self, seconds: float) -> None:
        """Wait for what is under way; bindings that only wait are broken off."""
        self._waiting_bindings.cancel_all()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._tasks or self._reports:
                    if not self._reports:
                        await asyncio.wait(self._tasks)
                    began = self._clock()
                    self._apply()
                    await self._yield_to_network(self._clock() - began)

    @property
    def left_behind(self) -> int:
        """How many hooks have not ended although they were cancelled."""
        return self._hooks.left_behind

    def overdue(self) -> list[str]:
        """The pods, by key, whose binding nobody works on, or that takes far too long."""
        now = self._clock()
        reported = {one.pod.uid for one in self._reports if isinstance(one, Bound | BindFailed)}
        return [
            one.queued.key
            for one in self.core.binding
            if (uid := one.queued.pod.uid) not in reported
            and (
                uid not in self._bindings
                or now - one.since > self._overdue_seconds + one.plan_seconds
            )
        ]

    async def _rest(self) -> None:
        """Wait until something happens or time makes a difference."""
        start = self._clock()
        until = self.core.next_time()
        seconds = _MOST_REST_SECONDS if until is None else until - start
        if start < self._calm_at:
            seconds = min(seconds, self._calm_at - start)  # then held events are written
        await self._wake_up.wait(min(seconds, _MOST_REST_SECONDS))
        now = self._clock()
        if now - start >= _REST_SECONDS:
            self.last_progress = now

    def _apply(self) -> bool:
        """Apply changes and reports to the state for a short while; whether there were any."""
        worked = bool(self._changes or self._reports)
        until = self._clock() + _SLICE_SECONDS
        while self._changes and self._clock() <= until:
            changes = self._changes.popleft()
            with self._change_hooks:
                applied = self._apply_changes(changes, until)
            if applied < len(changes):
                self._plans.on_changes(changes[:applied])
                self._changes.appendleft(changes[applied:])
                return True
            self._plans.on_changes(changes)
        until = self._clock() + _SLICE_SECONDS
        while self._reports and self._clock() <= until:  # plugins may hang over these as well
            self._apply_report(self._reports.popleft())
        return worked

    def _apply_report(self, report: Report) -> None:
        try:
            with self._sync_hooks:
                effects = self.core.report(report, self._clock())
            self._dispatch(effects)
        except Exception:
            log.exception("internal error on %r", report)

    def _apply_changes(self, changes: list[Change[Any]], until: float) -> int:
        """Apply changes for a short while; how many."""
        now = self._clock()
        for number, change in enumerate(changes, 1):
            if self._started:
                self._count_foreign_bind(change)
            try:
                self._change_hooks.begin()
                self.core.handle((change,), now)
            except InputError as error:  # one object that cannot be used holds up no other
                log.warning("skipped %r: %s", change.object, error)
            except Exception:
                log.exception("skipped %r: internal error", change.object)
            now = count_change(change, now, self._clock(), self.metrics)
            # Plugins may hang over each of them: the network and the Lease must not.
            if now > until:
                return number
        return len(changes)

    async def _decide(self) -> bool:
        """Make decisions for a short while; whether there were any."""
        start = now = self._clock()
        worked = False
        self._pods_wait = not self._stopped
        while now - start < _SLICE_SECONDS and not self._stopped:
            if self._client.writes >= _MOST_WRITES:
                break
            effects = None
            with self._sync_hooks:  # pods whose backoff is over come into the order of a plugin
                cycle = self.core.schedule_one(now)
                if cycle is not None and self._extenders is None:
                    self._sync_hooks.begin()
                    effects = _run_through(cycle)
            if cycle is None:
                self._pods_wait = False
                break
            worked = True
            if effects is None:
                effects = await self._drive(cycle)
            done = self._clock()
            self.metrics.algorithm(done - now)
            self._count(effects, done - now)
            self._dispatch(effects)
            now = done
        return worked

    async def _drive(self, cycle: SchedulingCycle) -> list[Effect]:
        """Run one decision to its end, asking extenders where it wants to."""
        try:
            with self._sync_hooks:
                ask = next(cycle)
            while True:
                try:
                    answer = await self._ask(ask)
                except Exception as error:  # noqa: BLE001 - the decision fails, and says so
                    with self._sync_hooks:
                        ask = cycle.throw(error)
                else:
                    with self._sync_hooks:
                        ask = cycle.send(answer)
        except StopIteration as stop:
            effects: list[Effect] = stop.value
            return effects

    async def _ask(self, ask: AskExtenders) -> Any:
        assert self._extenders is not None  # noqa: S101 - the core asks only if there are some
        nodes = self.core.cluster.nodes
        if ask.verb == "filter":
            return await self._extenders.filter(ask.pod, [nodes[name] for name in ask.nodes])
        if ask.verb == "prioritize":
            return await self._extenders.prioritize(ask.pod, [nodes[name] for name in ask.nodes])
        return await self._extenders.preempt(ask.pod, ask.victims, nodes)

    def _count(self, effects: list[Effect], seconds: float) -> None:
        for effect in effects:
            if isinstance(effect, PatchStatus) and effect.reason:
                result = "unschedulable" if effect.reason == "Unschedulable" else "error"
                self.metrics.attempt(effect.pod.scheduler_name, result, seconds)
            elif isinstance(effect, PreemptVictims):
                self.metrics.preempted(len(effect.victims))

    def _dispatch(self, effects: list[Effect]) -> None:
        for effect in effects:
            if self._halted or (self._stopped and _is_failure(effect)):
                continue  # who schedules next will see for itself
            if isinstance(effect, RecordEvent):
                self._binder.record_event(effect)
            elif isinstance(effect, Bind):
                uid = effect.pod.uid
                self._bindings[uid] = self._start(self._bind(effect, self._patches.get(uid)))
            elif isinstance(effect, PatchStatus):
                if effect.reason:
                    self._attempt_log.failed(effect)
                if changes_status(effect):
                    uid = effect.pod.uid
                    self._patches[uid] = self._start(self._patch(effect, self._patches.get(uid)))
            elif isinstance(effect, CleanUp):
                self._start(self._binder.clean_up(effect))
            else:
                self._start(self._preempt(effect))

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._wake_up.notify()
        if not task.cancelled() and task.exception() is not None:
            log.error("an effect failed", exc_info=task.exception())

    async def _bind(self, effect: Bind, before: asyncio.Task[None] | None) -> None:
        start = self._clock()
        report: Bound | BindFailed
        report = BindFailed(effect.pod, effect.binding.node_name, "the binding was interrupted")
        try:
            report = await self._binder.bind(effect, before)
        finally:
            # Without a report the pod would keep its place for ever.
            self._report(report)
            if self._bindings.get(effect.pod.uid) is asyncio.current_task():
                del self._bindings[effect.pod.uid]
        if isinstance(report, Bound):
            now = self._clock()
            self.metrics.attempt(effect.profile, "scheduled", now - start)
            self.metrics.bound(effect.profile, effect.attempt, now - effect.first_tried)
            self._attempt_log.bound(effect)
            if effect.hooks.post_binds:
                await self._binder.post_bind(effect)

    def _report(self, report: Report) -> None:
        self._reports.append(report)
        self._wake_up.notify()

    async def _patch(self, effect: PatchStatus, before: asyncio.Task[None] | None) -> None:
        try:
            if before is not None:
                await asyncio.wait({before})
            await self._binder.patch(effect)
        finally:
            if self._patches.get(effect.pod.uid) is asyncio.current_task():
                del self._patches[effect.pod.uid]

    async def _preempt(self, effect: PreemptVictims) -> None:
        report = VictimsPreempted(effect.preemptor, "the preemption was interrupted")
        try:
            report = await self._binder.preempt(effect)
        finally:
            # Without a report the pod would be held back for ever.
            self._report(report)

    def _count_foreign_bind(self, change: Change[Any]) -> None:
        """Count a pod that somebody else bound."""
        pod = change.object
        if not (isinstance(change, Put) and isinstance(pod, Pod) and pod.node_name):
            return
        known = self.core.cluster.pod(pod.namespace, pod.name)
        if known is not None and known.uid == pod.uid and known.node_name:
            return
        name = pod.scheduler_name
        if known is None and name in self._runtimes:
            return  # created with its node, such as a static pod
        self.metrics.foreign_bind(name)
        if name not in self._foreign and len(self._foreign) < _MOST_FOREIGN:
            self._foreign.add(name)
            log.warning(
                "scheduler %s binds pods to the same nodes, such as %s to %s",
                name, pod.key, pod.node_name,
            )  # fmt: skip


def _run_through(cycle: SchedulingCycle) -> list[Effect]:
    """Run one decision in which nobody is asked."""
    try:
        next(cycle)
    except StopIteration as stop:
        return cast("list[Effect]", stop.value)
    raise AssertionError("there are no extenders to ask")


def _is_failure(effect: Effect) -> bool:
    """Whether it only says that a pod could not be scheduled."""
    return isinstance(effect, PatchStatus) or (isinstance(effect, RecordEvent) and effect.warning)
