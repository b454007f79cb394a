"""The loop on a live cluster: changes in, decisions, effects out.

    informers ──take──> changes ─┐
                                 v
    reports <── tasks <── core.handle, core.turn, core.tick     one turn after the other
                                                                 on the event loop's thread

Decisions never wait for the API server; what they ask for is carried out by tasks. What waits for
volumes or plugins is no work; only when many writes wait for the API server, no more decisions are
made until it has caught up. A loop that cannot go on rests. While extenders are asked in the middle
of a decision, changes and reports wait.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Protocol

from mooring.errors import InputError
from mooring.extender.client import ExtenderClients
from mooring.framework.runtime import Runtime
from mooring.kube.events import Recorder
from mooring.live.bind_hooks import BindHooks
from mooring.live.binder import Binder
from mooring.live.client import LiveClient
from mooring.live.options import HookLimits
from mooring.live.pauses import Pauses
from mooring.live.plugin_work import PluginWork
from mooring.live.volumes import VolumeWriter
from mooring.model.change import Change, Put
from mooring.model.pod import Pod
from mooring.scheduler.core import Core, Turn
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
from mooring.serving.deadline import Deadline

log = logging.getLogger("mooring.live")

#: So long decisions are made before the network gets its turn.
_SLICE_SECONDS = 0.004
#: With so many writes under way no further decisions are made.
_MOST_WRITES = 512
#: A rest that is shorter is none: the loop spins.
_REST_SECONDS = 0.001
#: A binding that takes longer than so many hooks may take is forgotten somewhere.
_OVERDUE = 3
#: After a plugin took long, the network and the renewal of the Lease have as long, but at most
_BREATH_SECONDS = 0.2
#: What is shorter is not long.
_LONG_SECONDS = 0.05
#: Nobody rests longer, in case something was missed.
_MOST_REST_SECONDS = 1.0
#: So many other schedulers are told of in the log; anybody can make up names.
_FOREIGN = 50


class Observer(Protocol):
    """Who counts what the loop does."""

    def attempt(self, profile: str, result: str, seconds: float) -> None:
        """A pod was tried: ``scheduled``, ``unschedulable`` or ``error``."""

    def algorithm(self, seconds: float) -> None:
        """A decision took so long."""

    def bound(self, profile: str, attempts: int, seconds: float) -> None:
        """A pod was bound, so long after it was first tried."""

    def preempted(self, victims: int) -> None:
        """Victims are to be evicted for a pod."""

    def foreign_bind(self, scheduler_name: str) -> None:
        """Another scheduler bound a pod."""


class LiveScheduler:
    """Schedules the pods of a live cluster.

    Args:
        core: decides.
        client: the API server.
        recorder: takes Kubernetes events.
        runtimes: the plugins by scheduler name.
        metrics: counts.
        extenders: the configuration's extenders.
        clock: seconds that only grow.
        deadline: for plugins; in force as long as there is work for them.
        binding_seconds: how long a whole hook around a binding may take.

    Attributes:
        last_progress: the clock's time when the loop last did something or rested; one that hangs
            or spins falls behind.
    """

    def __init__(
        self,
        core: Core,
        client: LiveClient,
        recorder: Recorder,
        runtimes: Mapping[str, Runtime],
        *,
        metrics: Observer,
        extenders: ExtenderClients | None = None,
        clock: Callable[[], float] = time.monotonic,
        deadline: Deadline,
        binding_seconds: float = HookLimits().binding_seconds,
    ) -> None:
        self.core = core
        self.metrics = metrics
        self._extenders = extenders
        self._runtimes = runtimes
        self._clock = clock
        self._client = client
        self._plugins = PluginWork(deadline)
        self._pauses = Pauses()
        self._volumes = VolumeWriter(client, runtimes, self._pauses)
        self._hooks = BindHooks(deadline, binding_seconds, self._pauses)
        self._binder = Binder(
            client, recorder, runtimes, self._volumes, self._hooks, extenders=extenders
        )
        self._changes: deque[list[Change[Any]]] = deque()
        self._reports: deque[Report] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._bindings: dict[str, asyncio.Task[None]] = {}
        self._overdue_seconds = _OVERDUE * binding_seconds
        # The last patch under way of each pod's status, by unique id: what follows waits for it.
        self._patches: dict[str, asyncio.Task[None]] = {}
        self._wake = asyncio.Event()
        self._stopped = False
        self._halted = False
        self._started = False
        self._foreign: set[str] = set()
        self.last_progress = clock()

    def take(self, changes: list[Change[Any]]) -> None:
        """Take what informers saw; it is applied before the next decision."""
        self._changes.append(changes)
        self._wake.set()

    async def run(self) -> None:
        """Schedule until stopped."""
        self._apply()
        self._started = True
        while not self._stopped:
            self._wake.clear()
            began = self._clock()
            worked = self._apply()
            worked |= self._tick()
            if not self._changes:
                worked |= await self._decide()
            if worked:
                self.last_progress = now = self._clock()
                await self._breathe(now - began)
            else:
                await self._rest()

    def _tick(self) -> bool:
        """Let time pass; whether that had effects."""
        try:
            with self._plugins:
                effects = self.core.tick(self._clock())
        except Exception:
            log.exception("mooring failed as time passed")
            return False
        self._dispatch(effects)
        return bool(effects)

    async def _breathe(self, seconds: float) -> None:
        """Let the network have its turn: a longer one after a plugin held everything up.

        Args:
            seconds: how long nobody else had a turn.
        """
        await asyncio.sleep(min(seconds, _BREATH_SECONDS) if seconds > _LONG_SECONDS else 0.0)

    def stop(self) -> None:
        """Take no more pods; what is under way goes on."""
        self._stopped = True
        self._wake.set()

    def halt(self) -> None:
        """Write nothing any more: somebody else may lead by now."""
        self.stop()
        self._halted = True
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        """Break off what is still under way, and wait until it is."""
        self.halt()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._hooks.wait_cancelled()

    async def drain(self, seconds: float) -> None:
        """Wait for what is under way; bindings that only wait are broken off."""
        self._pauses.break_off()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._tasks:
                    await asyncio.wait(self._tasks)
                    self._apply()

    @property
    def left_behind(self) -> int:
        """How many hooks have not ended although they were cancelled."""
        return self._hooks.left_behind

    def overdue(self) -> list[str]:
        """The pods, by key, whose binding nobody works on, or that takes far too long."""
        now = self._clock()
        reported = {one.pod.uid for one in self._reports if not isinstance(one, Evicted)}
        return [
            one.queued.key
            for one in self.core.binding
            if (uid := one.queued.pod.uid) not in reported
            and (uid not in self._bindings or now - one.since > self._overdue_seconds)
        ]

    async def _rest(self) -> None:
        """Wait until something happens or time makes a difference."""
        start = self._clock()
        until = self.core.next_time()
        seconds = _MOST_REST_SECONDS if until is None else until - start
        with suppress(TimeoutError):
            async with asyncio.timeout(min(max(seconds, 0.0), _MOST_REST_SECONDS)):
                await self._wake.wait()
        now = self._clock()
        if now - start >= _REST_SECONDS:
            self.last_progress = now

    def _apply(self) -> bool:
        """Take changes and reports into the state for a short while; whether there were any."""
        worked = bool(self._changes or self._reports)
        until = self._clock() + _SLICE_SECONDS
        while self._changes and self._clock() <= until:
            changes = self._changes.popleft()
            for number, change in enumerate(changes, 1):
                self._take_change(change)
                if self._clock() > until and number < len(changes):
                    # Plugins may hang over each of them: the network and the Lease must not.
                    self._volumes.take(changes[:number])
                    self._changes.appendleft(changes[number:])
                    return True
            self._volumes.take(changes)
        while self._reports:
            report = self._reports.popleft()
            try:
                with self._plugins:
                    effects = self.core.report(report, self._clock())
                self._dispatch(effects)
            except Exception:
                log.exception("mooring failed on %r", report)
        return worked

    def _take_change(self, change: Change[Any]) -> None:
        if self._started:
            self._look_for_others(change)
        try:
            with self._plugins:
                effects = self.core.handle((change,), self._clock())
            self._dispatch(effects)
        except InputError as error:  # one object that cannot be used holds up no other
            log.warning("skipped %r: %s", change.object, error)
        except Exception:
            log.exception("skipped %r: mooring failed on it", change.object)

    async def _decide(self) -> bool:
        """Make decisions for a short while; whether there were any."""
        start = now = self._clock()
        worked = False
        while now - start < _SLICE_SECONDS and not self._stopped:
            if self._client.writes >= _MOST_WRITES:
                break
            turn = self.core.turn(now)
            if turn is None:
                break
            worked = True
            effects = await self._drive(turn)
            done = self._clock()
            self.metrics.algorithm(done - now)
            self._count(effects, done - now)
            self._dispatch(effects)
            now = done
        return worked

    async def _drive(self, turn: Turn) -> list[Effect]:
        """Run one decision to its end, asking extenders where it wants to."""
        try:
            with self._plugins:
                ask = next(turn)
            while True:
                try:
                    answer = await self._ask(ask)
                except Exception as error:  # noqa: BLE001 - the decision fails, and says so
                    with self._plugins:
                        ask = turn.throw(error)
                else:
                    with self._plugins:
                        ask = turn.send(answer)
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
            elif isinstance(effect, Evict):
                self.metrics.preempted(len(effect.victims))

    def _dispatch(self, effects: list[Effect]) -> None:
        for effect in effects:
            if self._halted or (self._stopped and _is_failure(effect)):
                continue  # who schedules next will see for itself
            if isinstance(effect, Tell):
                self._binder.tell(effect)
            elif isinstance(effect, Bind):
                uid = effect.pod.uid
                self._bindings[uid] = self._start(self._bind(effect, self._patches.get(uid)))
            elif isinstance(effect, PatchStatus):
                uid = effect.pod.uid
                self._patches[uid] = self._start(self._patch(effect, self._patches.get(uid)))
            else:
                self._start(self._evict(effect))

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._wake.set()
        if not task.cancelled() and task.exception() is not None:
            log.error("an effect failed", exc_info=task.exception())

    async def _bind(self, effect: Bind, before: asyncio.Task[None] | None) -> None:
        start = self._clock()
        report: Bound | BindFailed
        report = BindFailed(effect.pod, effect.binding.node_name, "the binding broke off")
        try:
            if before is not None:
                # A patch that comes late would tell a bound pod that it is not scheduled.
                await asyncio.wait({before})
            report = await self._binder.bind(effect)
        finally:
            # Without a report the pod would keep its place for ever.
            self._report(report)
            if self._bindings.get(effect.pod.uid) is asyncio.current_task():
                del self._bindings[effect.pod.uid]
        if isinstance(report, Bound):
            now = self._clock()
            self.metrics.attempt(effect.profile, "scheduled", now - start)
            self.metrics.bound(effect.profile, effect.attempt, now - effect.first_tried)
            await self._binder.bound(effect)

    def _report(self, report: Report) -> None:
        self._reports.append(report)
        self._wake.set()

    async def _patch(self, effect: PatchStatus, before: asyncio.Task[None] | None) -> None:
        try:
            if before is not None:
                await asyncio.wait({before})
            await self._binder.patch(effect)
        finally:
            if self._patches.get(effect.pod.uid) is asyncio.current_task():
                del self._patches[effect.pod.uid]

    async def _evict(self, effect: Evict) -> None:
        report = Evicted(effect.preemptor, "the eviction broke off")
        try:
            report = await self._binder.evict(effect)
        finally:
            # Without a report the pod would be held back for ever.
            self._report(report)

    def _look_for_others(self, change: Change[Any]) -> None:
        """Notice a pod that somebody else bound."""
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
        if name not in self._foreign and len(self._foreign) < _FOREIGN:
            self._foreign.add(name)
            log.warning(
                "scheduler %s binds pods to the same nodes, such as %s to %s",
                name, pod.key, pod.node_name,
            )  # fmt: skip


def _is_failure(effect: Effect) -> bool:
    """Whether it only says that a pod could not be scheduled."""
    return isinstance(effect, PatchStatus) or (isinstance(effect, Tell) and effect.warning)
