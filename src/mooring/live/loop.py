"""The loop on a live cluster: changes in, decisions, effects out.

    informers ──take──> changes ─┐
                                 v
    reports <── tasks <── core.handle, core.turn, core.tick     one turn after the other
                                                                 on the event loop's thread

Decisions never wait for the API server; what they ask for is carried out by tasks, a bounded number
at a time. While extenders are asked in the middle of a decision, changes and reports wait.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Protocol

from mooring.errors import InputError, KubeError
from mooring.extender.client import ExtenderClients
from mooring.framework.runtime import Runtime
from mooring.kube.client import Client
from mooring.kube.events import Recorder
from mooring.live.binder import Binder
from mooring.live.deadline import Deadline
from mooring.live.volumes import VolumeWriter
from mooring.model.change import Change, Put
from mooring.model.pod import Pod
from mooring.scheduler.core import Core, Turn
from mooring.scheduler.effects import (
    AskExtenders,
    Bind,
    Bound,
    Effect,
    Evict,
    Evicted,
    PatchStatus,
    Report,
    Tell,
)

log = logging.getLogger("mooring.live")

#: So long decisions are made before the network gets its turn.
_SLICE_SECONDS = 0.004
#: With so many tasks under way no further decisions are made.
_TASKS = 512
#: So many requests are sent at the same time.
_AT_ONCE = 64


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
        hook_seconds: so long a decision may take before the plugin that is at work is interrupted;
            also one step of a hook around a binding.
    """

    def __init__(
        self,
        core: Core,
        client: Client,
        recorder: Recorder,
        runtimes: Mapping[str, Runtime],
        *,
        metrics: Observer,
        extenders: ExtenderClients | None = None,
        clock: Callable[[], float] = time.monotonic,
        hook_seconds: float = 10.0,
    ) -> None:
        self.core = core
        self.metrics = metrics
        self._extenders = extenders
        self._runtimes = runtimes
        self._clock = clock
        self._volumes = VolumeWriter(client, runtimes)
        self._deadline = Deadline(hook_seconds)
        self._binder = Binder(
            client, recorder, runtimes, self._volumes, extenders, deadline=self._deadline
        )
        self._changes: deque[list[Change[Any]]] = deque()
        self._reports: deque[Report] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        # The last patch under way of each pod's status, by unique id: what follows waits for it.
        self._patches: dict[str, asyncio.Task[None]] = {}
        self._requests = asyncio.Semaphore(_AT_ONCE)
        self._wake = asyncio.Event()
        self._stopped = False
        self._halted = False
        self._started = False
        self._foreign: set[str] = set()
        #: The clock's time of the last turn of the loop; a loop that is stuck falls behind.
        self.last_turn = clock()

    def take(self, changes: list[Change[Any]]) -> None:
        """Take what informers saw; it is applied before the next decision."""
        self._changes.append(changes)
        self._wake.set()

    async def run(self) -> None:
        """Schedule until stopped."""
        self._apply()
        self._started = True
        while not self._stopped:
            self.last_turn = self._clock()
            self._wake.clear()
            self._apply()
            self._dispatch(self.core.tick(self._clock()))
            if await self._decide():
                await asyncio.sleep(0)
            else:
                await self._rest()

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

    async def drain(self, seconds: float) -> None:
        """Wait for what is under way."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._tasks:
                    await asyncio.wait(self._tasks)
                    self._apply()

    async def _rest(self) -> None:
        """Wait until something happens or time makes a difference."""
        until = self.core.next_time()
        seconds = None if until is None else max(0.0, until - self._clock())
        with suppress(TimeoutError):
            async with asyncio.timeout(min(seconds, 1.0) if seconds is not None else 1.0):
                await self._wake.wait()

    def _apply(self) -> None:
        """Take changes and reports into the state."""
        while self._changes:
            changes = self._changes.popleft()
            if self._started:
                self._look_for_others(changes)
            for change in changes:
                try:
                    self._dispatch(self.core.handle((change,), self._clock()))
                except InputError as error:  # one object that cannot be used holds up no other
                    log.warning("skipped %r: %s", change.object, error)
            self._volumes.take(changes)
        while self._reports:
            self._dispatch(self.core.report(self._reports.popleft(), self._clock()))

    async def _decide(self) -> bool:
        """Make decisions for a short while; whether there may be more to do at once."""
        start = now = self._clock()
        while now - start < _SLICE_SECONDS and len(self._tasks) < _TASKS and not self._stopped:
            turn = self.core.turn(now)
            if turn is None:
                return bool(self._changes or self._reports)
            effects = await self._drive(turn)
            done = self._clock()
            self.metrics.algorithm(done - now)
            self._count(effects, done - now)
            self._dispatch(effects)
            now = done
        return True

    async def _drive(self, turn: Turn) -> list[Effect]:
        """Run one decision to its end, asking extenders where it wants to."""
        try:
            with self._deadline:
                ask = next(turn)
            while True:
                try:
                    answer = await self._ask(ask)
                except KubeError as error:
                    with self._deadline:
                        ask = turn.throw(error)
                else:
                    with self._deadline:
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
            if self._halted:
                return
            if isinstance(effect, Tell):
                self._binder.tell(effect)
            elif isinstance(effect, Bind):
                self._start(self._bind(effect, self._patches.get(effect.pod.uid)))
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
        if before is not None:
            # A patch that comes late would tell a bound pod that it is not scheduled.
            await asyncio.wait({before})
        if self._waits(effect):
            report = await self._binder.bind(effect)
        else:
            async with self._requests:
                report = await self._binder.bind(effect)
        self._reports.append(report)
        if isinstance(report, Bound):
            now = self._clock()
            self.metrics.attempt(effect.profile, "scheduled", now - start)
            self.metrics.bound(effect.profile, effect.attempt, now - effect.first_tried)
            await self._binder.bound(effect)

    def _waits(self, effect: Bind) -> bool:
        """Whether the binding waits for something else than the API server."""
        return self._runtimes[effect.profile].placing.waits or self._volumes.wanted(effect)

    async def _patch(self, effect: PatchStatus, before: asyncio.Task[None] | None) -> None:
        try:
            if before is not None:
                await asyncio.wait({before})
            async with self._requests:
                await self._binder.patch(effect)
        finally:
            if self._patches.get(effect.pod.uid) is asyncio.current_task():
                del self._patches[effect.pod.uid]

    async def _evict(self, effect: Evict) -> None:
        report = Evicted(effect.preemptor, "the eviction broke off")
        try:
            async with self._requests:
                report = await self._binder.evict(effect)
        finally:
            # Without a report the pod would be held back for ever.
            self._reports.append(report)

    def _look_for_others(self, changes: list[Change[Any]]) -> None:
        """Notice pods that somebody else bound."""
        for change in changes:
            pod = change.object
            if isinstance(change, Put) and isinstance(pod, Pod) and pod.node_name:
                known = self.core.cluster.pod(pod.namespace, pod.name)
                if known is not None and known.uid == pod.uid and known.node_name:
                    continue
                name = pod.scheduler_name
                if known is None and name in self._runtimes:
                    continue  # created with its node, such as a static pod
                self.metrics.foreign_bind(name)
                if name not in self._foreign:
                    self._foreign.add(name)
                    log.warning(
                        "scheduler %s binds pods to the same nodes, such as %s to %s",
                        name, pod.key, pod.node_name,
                    )  # fmt: skip
