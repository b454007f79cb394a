"""One run: one scheduler, one workload, one fresh control plane; called by `__main__`."""

import asyncio
import statistics
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import count

import msgspec
import uvloop

from benchmarks.command import BenchError
from benchmarks.process import cpu_ms, peak_memory_mb
from benchmarks.reporting import percentile
from benchmarks.scheduler.clients import Clients, create_pod
from benchmarks.scheduler.contenders import Scheduler
from benchmarks.scheduler.kinds import PodKind
from benchmarks.scheduler.task import CHURN_NAMESPACE, Task
from benchmarks.scheduler.watch import watching
from mooring.testing.real_kubernetes import ControlPlane

_CHURN_SECONDS = 0.2
#: A run is ended after so long, or when so long nothing was bound.
_LONGEST_SECONDS = 300.0
_PATIENCE_SECONDS = 45.0
#: Programs are quiet when they use less than this share of a CPU for so long.
_QUIET_SHARE = 0.1
_QUIET_SECONDS = 0.3
_QUIET_LONGEST_SECONDS = 15.0


class Run(msgspec.Struct):
    """What was measured of one scheduler.

    Attributes:
        scheduler: its name.
        bound: how many of the pods were bound before the run was ended; usually all.
        seconds: from the first request to create a pod until the last was seen bound.
        pods_per_second: pods bound in that time.
        cpu_ms_per_pod: CPU time of the scheduler's process in that time, by pods bound.
        peak_memory_mb: its highest resident memory since its start.
        p50_ms: median time from the request to create a pod until it was seen bound.
        p99_ms: what 99 % of the pods did not exceed of that.
    """

    scheduler: str
    bound: int
    seconds: float
    pods_per_second: float
    cpu_ms_per_pod: float
    peak_memory_mb: float
    p50_ms: float
    p99_ms: float


def measure(plane: ControlPlane, name: str, scheduler: Scheduler, task: Task) -> Run:
    """Let a scheduler that runs place the pods of a task, on a control plane prepared for it."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_measure(plane, name, scheduler, task))


async def _measure(plane: ControlPlane, name: str, scheduler: Scheduler, task: Task) -> Run:
    pods = [create_pod(pod) for pod in task.measured_pods()]
    async with Clients(plane) as clients:
        await _warm_up(clients, name, task)
        await _quiet([scheduler.pid, *plane.pids.values()])
        namespace = task.workload.namespaces[1]
        sent: dict[str, float] = {}
        async with watching(clients, namespace) as watch, _churning(plane, task.workload.churn):
            before = cpu_ms(scheduler.pid)
            creating = asyncio.create_task(clients.send_all(pods, sent))
            try:
                await watch.wait(len(pods), patience=_PATIENCE_SECONDS, seconds=_LONGEST_SECONDS)
                used = cpu_ms(scheduler.pid) - before
            finally:
                await _end(creating)
        return summary(name, sent, watch.bound, used, peak_memory_mb(scheduler.pid))


async def _warm_up(clients: Clients, name: str, task: Task) -> None:
    pods = [create_pod(pod) for pod in task.warm_up_pods()]
    async with watching(clients, task.workload.namespaces[0]) as watch:
        await clients.send_all(pods)
        if not await watch.wait(len(pods), patience=_PATIENCE_SECONDS, seconds=_LONGEST_SECONDS):
            raise BenchError(f"{name} bound only {len(watch.bound)} of {len(pods)} pods.")


def summary(
    scheduler: str,
    sent: dict[str, float],
    bound: dict[str, float],
    used_cpu_ms: float,
    memory_mb: float,
) -> Run:
    """What follows from when pods were sent and seen bound."""
    if not bound:
        raise BenchError(f"{scheduler} bound no pod at all.")
    seconds = max(bound.values()) - min(sent.values())
    latencies = [(when - sent[pod]) * 1e3 for pod, when in bound.items()]
    return Run(
        scheduler=scheduler,
        bound=len(bound),
        seconds=seconds,
        pods_per_second=len(bound) / seconds,
        cpu_ms_per_pod=used_cpu_ms / len(bound),
        peak_memory_mb=memory_mb,
        p50_ms=statistics.median(latencies),
        p99_ms=percentile(latencies, 0.99),
    )


@asynccontextmanager
async def _churning(plane: ControlPlane, kind: PodKind | None) -> AsyncIterator[None]:
    """Create a pod of a kind every 200 ms."""
    if kind is None:
        yield
        return

    async def churn(clients: Clients) -> None:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        for number in count():
            await asyncio.sleep(begin + (number + 1) * _CHURN_SECONDS - loop.time())
            await clients.send_all([create_pod(kind.manifest(number, CHURN_NAMESPACE))])

    async with Clients(plane, 1) as clients:
        churning = asyncio.create_task(churn(clients))
        try:
            yield
        finally:
            await _end(churning)


async def _end(task: asyncio.Task[None]) -> None:
    """End a task; what it failed with is raised."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _quiet(pids: list[int]) -> None:
    """Wait until programs have done what they do when they start."""
    for _ in range(round(_QUIET_LONGEST_SECONDS / _QUIET_SECONDS)):
        before = sum(map(cpu_ms, pids))
        await asyncio.sleep(_QUIET_SECONDS)
        if sum(map(cpu_ms, pids)) - before < _QUIET_SHARE * _QUIET_SECONDS * 1e3:
            return
