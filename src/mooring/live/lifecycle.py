"""The lifecycle of one scheduler process, from its first list to its last binding.

    start ──> informers ──synced──> waiting for the Lease ──> scheduling ──signal──> stopping ──> 0
                                                                  │
                                                                  └── Lease lost ──> halted ──> 1

SIGTERM and SIGINT end it in order, a second one at once (`stop_signals`); SIGUSR2 compares the
state with the cluster. A process that may not lead any more writes nothing and ends. `run` calls
it. A scheduler that is only a part of its process leaves signals alone and ends when `stop` is
called.
"""

import asyncio
import contextlib
import gc
import logging
import signal
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Final

from mooring.errors import KubeError
from mooring.live.announcement import announce
from mooring.live.assembly import SchedulerComponents
from mooring.live.first_contact import wait_for_api_server, wait_synced
from mooring.live.housekeeping import Housekeeping
from mooring.live.readiness_log import ReadinessLog
from mooring.live.state_comparison import check_state, log_comparison
from mooring.live.stop_signals import StopSignals
from mooring.log_kinds import report_left_out
from mooring.process.exiting import exit_now
from mooring.process.garbage_collection import few_collections
from mooring.process.memory import trim_memory
from mooring.wording import counted

log = logging.getLogger("mooring.live")

#: Events are written for so long after the last binding has ended; as long as that gets on, also in
#: what is left of the time for bindings.
_FLUSH_SECONDS: Final = 5.0
#: A process that lost the Lease is gone after this time, whatever holds it up.
_GONE_SECONDS: Final = 3.0


class SchedulerLifecycle:
    """The lifecycle of one scheduler.

    Args:
        components: what it consists of.
        background: tasks that should not end before it does.
        drain: how long bindings under way are waited for, in seconds.
        exit_now: ends the process at once.
        whole_process: whether the process is there for the scheduler alone, so that signals are
            meant for it.
    """

    def __init__(
        self,
        components: SchedulerComponents,
        background: list[asyncio.Task[None]],
        *,
        drain: float = 20.0,
        exit_now: Callable[[int], object] = exit_now,
        whole_process: bool = True,
    ) -> None:
        self._components = components
        self._elector = components.elector
        self._background = list(background)
        self._own: list[asyncio.Task[Any]] = []
        self._drain = drain
        self._exit_now = exit_now
        self._whole_process = whole_process
        self._stop = asyncio.Event()
        self._stopped_at: float | None = None
        self._comparing: asyncio.Task[None] | None = None

    async def run(self) -> int:
        """Schedule until stopped, or until the Lease is lost; the process's exit code."""
        with self._signals() if self._whole_process else contextlib.nullcontext():
            try:
                announce(self._components.settings, self._components.live.core.runtimes)
                if self._whole_process:
                    self._start(ReadinessLog(self._components.health).run())
                if self._components.settings.reload:
                    reloads = self._components.policy_reload
                    self._start(reloads.run(self._components.live.between_decisions))
                if await self._prepare():
                    return await self._schedule()
                return self._halt() if self._is_lost else await self._end()
            finally:
                gc.unfreeze()
                await self._clean_up()
                self._leave_behind()

    def _leave_behind(self) -> None:
        """Wait for no hook that does not end: the event loop would."""
        left = self._components.live.left_behind
        if left and self._whole_process:
            hooks = counted(left, "cancelled hook")
            log.warning("%s did not end: exiting without waiting for it", hooks)
            asyncio.get_running_loop().call_later(_GONE_SECONDS, self._exit_now, 1)

    def stop(self) -> None:
        """End in order, as the first SIGTERM does; `run` then returns."""
        self._stop.set()

    async def _prepare(self) -> bool:
        """Know the cluster and lead; false if the process is to stop before."""
        delayed = self._components.settings.configuration.delay_cache_until_active
        steps = [self._synchronize, self._acquire]
        for step in reversed(steps) if delayed else steps:
            if not await self._unless_stopped(step()):
                return False
        return True

    async def _synchronize(self) -> None:
        components = self._components
        await wait_for_api_server(components.client, components.health)
        with few_collections():
            self._background += [self._start(one.run()) for one in components.informers.values()]
            await wait_synced(components.informers)
        if components.intake.incomplete:
            return  # a part of it is known, and nobody will schedule with that
        components.health.handlers_synced = True
        cluster = components.live.core.cluster
        nodes, pods = counted(len(cluster.nodes), "node"), counted(cluster.pods, "pod")
        log.info("the cluster is synced: %s, %s", nodes, pods)

    async def _acquire(self) -> None:
        elector = self._components.elector
        if elector is not None:
            await elector.acquire()
            self._components.health.started_leading(lambda: elector.leading)

    async def _unless_stopped(self, work: Coroutine[Any, Any, None]) -> bool:
        """Do something; false if the process is to stop before it is done."""
        task, stop = self._start(work), self._start(self._stop.wait())
        lost = self._lost()
        await asyncio.wait(
            {task, stop, lost, *self._background}, return_when=asyncio.FIRST_COMPLETED
        )
        if task.done():
            task.result()
            return not self._components.intake.incomplete
        self._check_background()
        task.cancel()
        return False

    async def _schedule(self) -> int:
        """Schedule; the process's exit code."""
        components, live = self._components, self._components.live
        components.intake.forward_to(live.on_changes)
        components.health.started_scheduling(lambda: live.last_progress)
        self._start(components.kubelet_rejections.run())
        housekeeping = Housekeeping(
            live.core.cluster,
            components.recorder,
            components.attempt_log,
            trim_memory if self._whole_process else None,
        )
        self._start(housekeeping.run())
        loop, stop, lost = self._start(live.run()), self._start(self._stop.wait()), self._lost()
        log.info("scheduling")
        await asyncio.wait(
            {loop, stop, lost, *self._background}, return_when=asyncio.FIRST_COMPLETED
        )
        if lost.done():
            return self._halt()
        failed = next((one for one in (loop, *self._background) if one.done()), None)
        if failed is not None:
            log.critical("the scheduler failed and exits", exc_info=_error(failed))
        components.health.stopping = True
        live.stop()
        self._stopped_at = asyncio.get_running_loop().time()
        log.info("stopping: no new pods are scheduled, writes in progress are finished")
        finished = self._start(self._finish(loop))
        await asyncio.wait({finished, lost}, return_when=asyncio.FIRST_COMPLETED)
        if lost.done():
            return self._halt()
        code = await self._end()
        return 1 if failed is not None else code

    async def _clean_up(self) -> None:
        """Leave nothing running, however it ended."""
        if self._whole_process:
            # What connections say that are cut off in the middle of a handshake is nobody's
            # business.
            asyncio.get_running_loop().set_exception_handler(
                lambda _, context: log.debug("%s", context.get("message"))
            )
        for task in self._own:
            task.cancel()
        await asyncio.gather(*self._own, return_exceptions=True)
        # The client is closed next: nothing may need it any more.
        await self._components.live.close()
        if not self._is_lost:
            await self._release()

    async def _release(self) -> None:
        """Give up the Lease, if there is one to give up."""
        elector, self._elector = self._elector, None
        if elector is not None:
            await elector.release()

    async def _finish(self, loop: asyncio.Task[Any]) -> None:
        """Wait for the turn under way and for bindings."""
        await asyncio.wait({loop}, timeout=self._drain)
        await self._components.live.drain(self._drain)

    async def _end(self) -> int:
        """Say what is left to say, and then give up the Lease: events are writes, too."""
        self._components.health.stopping = True
        await self._flush_events()
        await self._release()
        report_left_out(everything=True)
        log.info("stopped")
        return 0

    async def _flush_events(self) -> None:
        """Write the events that wait; after a burst there are many."""
        recorder, clock = self._components.recorder, asyncio.get_running_loop().time
        last = (self._stopped_at or clock()) + self._drain
        written = recorder.counters.written
        while not await recorder.flush(_FLUSH_SECONDS):
            if recorder.counters.written == written or clock() > last:
                log.warning("stopping with events that could not be written in time")
                return
            written = recorder.counters.written

    def _halt(self) -> int:
        """The Lease is lost: end at once, another process may be at work already."""
        self._components.live.halt()
        log.error("this process is no longer the leader: it stops writing and exits")
        asyncio.get_running_loop().call_later(_GONE_SECONDS, self._exit_now, 1)
        return 1

    @property
    def _is_lost(self) -> bool:
        elector = self._components.elector
        return elector is not None and elector.lost.is_set()

    def _lost(self) -> asyncio.Task[Any]:
        elector = self._components.elector
        return self._start(elector.lost.wait() if elector is not None else _never())

    def _start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._own.append(task)
        return task

    def _check_background(self) -> None:
        for task in self._background:
            if task.done():
                raise _error(task) or RuntimeError("a part of the scheduler ended unexpectedly")

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR2, self._compare)
        try:
            with StopSignals(self.stop, self._exit_now, self._components.intake.stop):
                yield
        finally:
            loop.remove_signal_handler(signal.SIGUSR2)

    def _compare(self) -> None:
        if not self._components.health.handlers_synced:
            log.warning("the cluster is not synced yet; there is nothing to compare")
        elif self._comparing is None or self._comparing.done():
            self._comparing = self._start(self._compare_state())

    async def _compare_state(self) -> None:
        components = self._components
        try:
            found = await check_state(
                components.client,
                components.live.core,
                components.settings.profiles,
                overdue=components.live.overdue,
            )
        except KubeError as error:
            log.warning("the state could not be compared with the cluster: %s", error)
            return
        components.metrics.state_differences.set(len(found.differences))
        log_comparison(found)


async def _never() -> None:
    await asyncio.get_running_loop().create_future()


def _error(task: asyncio.Task[Any]) -> BaseException | None:
    return None if task.cancelled() else task.exception()
