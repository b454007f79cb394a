"""One run: one scheduler, one workload, one way, one fresh control plane; called by `__main__`."""

import asyncio
import time
from contextlib import suppress
from itertools import islice, takewhile

import uvloop

from benchmarks.command import BenchError
from benchmarks.process import cpu_ms, peak_memory_mb
from benchmarks.scheduler.clients import Chain, Clients
from benchmarks.scheduler.contenders import Scheduler
from benchmarks.scheduler.ending import end
from benchmarks.scheduler.event_count import wait_for_events
from benchmarks.scheduler.quiet import quiet
from benchmarks.scheduler.run import Cpu, Run, latency, must_be_bound, throughput
from benchmarks.scheduler.task import Task
from benchmarks.scheduler.updates import updating
from benchmarks.scheduler.watch import BindWatch, PodNotBoundError, watching
from benchmarks.scheduler.ways import DRAIN, STEADY, STEADY_PODS, STEADY_SECONDS, rate_of
from mooring.testing.real_kubernetes import ControlPlane

#: A run is ended after so long, or when so long nothing was bound.
_LONGEST_SECONDS = 300.0
_PATIENCE_SECONDS = 45.0
#: Pods come for so long when they come at a fixed rate.
_RATE_SECONDS = 30


def pods_of(way: str, pods: int) -> int:
    """How many of a workload's pods are measured in a way."""
    rate = rate_of(way)
    return pods if rate is None else min(pods, rate * _RATE_SECONDS)


def measure(plane: ControlPlane, name: str, scheduler: Scheduler, task: Task, way: str) -> Run:
    """Let a scheduler place the pods of a task, on a control plane prepared for it.

    Args:
        plane: the control plane.
        name: the scheduler's name.
        scheduler: not started yet; it is stopped by the caller.
        task: the workload on so many nodes.
        way: how the pods come.
    """
    measuring = Measuring(plane, name, scheduler, task)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        if way == DRAIN:
            return runner.run(measuring.drain())
        scheduler.start()
        if way == STEADY:
            return runner.run(measuring.steady())
        return runner.run(measuring.create(way))


class Measuring:
    """A run of one scheduler."""

    def __init__(self, plane: ControlPlane, name: str, scheduler: Scheduler, task: Task) -> None:
        self._plane = plane
        self._name = name
        self._scheduler = scheduler
        self._task = task
        self._namespace = task.workload.namespaces[1]

    def _pods(self, way: str) -> list[Chain]:
        return list(islice(self._task.measured_chains(), pods_of(way, self._task.size.pods)))

    async def create(self, way: str) -> Run:
        """Create pods while the scheduler works, at a rate or as fast as possible."""
        pods, rate = self._pods(way), rate_of(way)
        pid, sent = self._scheduler.pid, dict[str, float]()
        async with Clients(self._plane) as clients:
            await self._warm_up(clients)
            await quiet([pid, *self._plane.pids.values()])
            async with (
                watching(clients, self._namespace) as watch,
                updating(self._plane, self._task),
            ):
                before = cpu_ms(pid)
                if rate is None:
                    sending = clients.send_chains(pods, sent)
                else:
                    sending = clients.send_at_rate(pods, rate, sent)
                creating = asyncio.create_task(sending)
                try:
                    await self._all_bound(watch, len(pods))
                finally:
                    await end(creating)
                run = await self._summary(watch, min(sent.values()), 0, before)
            run.latency = latency(sent, watch.bound)
        return run

    async def drain(self) -> Run:
        """Start the scheduler when all pods wait."""
        pods = self._pods(DRAIN)
        async with Clients(self._plane) as clients:
            await clients.send_chains(pods)
            await quiet(list(self._plane.pids.values()))
            async with (
                watching(clients, self._namespace) as watch,
                updating(self._plane, self._task),
            ):
                begin = time.perf_counter()
                starting = asyncio.create_task(asyncio.to_thread(self._scheduler.start))
                await self._all_bound(watch, 1)
                await starting
                # What was bound until here counts as start-up.
                first, before = len(watch.bound), cpu_ms(self._scheduler.pid)
                await self._all_bound(watch, len(pods))
                must_be_bound(self._name, watch.bound)
                since = min(watch.bound.values())
                run = await self._summary(watch, since, first, before)
            run.first_seconds = since - begin
        return run

    async def steady(self) -> Run:
        """Remove each pod with its claim as soon as it is bound, and create another one."""
        task, pid = self._task, self._scheduler.pid
        bare = list(task.bare_pods(range(task.size.pods)))
        names = [task.workload.pods.name(number) for number in range(task.size.pods)]
        async with Clients(self._plane, STEADY_PODS) as clients:
            await quiet([pid, *self._plane.pids.values()])
            async with watching(clients, self._namespace) as watch:
                before, begin = cpu_ms(pid), time.perf_counter()
                in_time = takewhile(lambda _: time.perf_counter() < begin + STEADY_SECONDS, bare)
                # What was bound until then counts, and it shows that it was not all.
                with suppress(PodNotBoundError):
                    await clients.take_turns(
                        ((one.create, one.remove) for one in in_time),
                        lambda number: watch.wait_for(names[number], _PATIENCE_SECONDS),
                    )
                return await self._summary(watch, begin, 0, before)

    async def _all_bound(self, watch: BindWatch, count: int) -> None:
        await watch.wait(count, patience=_PATIENCE_SECONDS, seconds=_LONGEST_SECONDS)

    async def _summary(self, watch: BindWatch, since: float, first: int, before: float) -> Run:
        """What follows from when pods were seen bound, when all events are there.

        Args:
            watch: has seen the pods.
            since: when the run began.
            first: so many pods do not count for the CPU time,
            before: which was this then.
        """
        must_be_bound(self._name, watch.bound)
        bound = watch.bound
        events = await wait_for_events(self._plane, self._namespace, len(bound), since)
        used = cpu_ms(self._scheduler.pid)
        last = max(bound.values())
        return Run(
            scheduler=self._name,
            bound=len(bound),
            seconds=last - since,
            # The first of pods that waited begins the time and is not in it.
            pods_per_second=(len(bound) - bool(first)) / max(last - since, 1e-3),
            throughput=throughput(bound.values()),
            cpu=Cpu((used - before) / max(1, len(bound) - first), used / len(bound)),
            peak_memory_mb=peak_memory_mb(self._scheduler.pid),
            events=events,
        )

    async def _warm_up(self, clients: Clients) -> None:
        pods = list(self._task.warm_up_chains())
        async with watching(clients, self._task.workload.namespaces[0]) as watch:
            await clients.send_chains(pods)
            await self._all_bound(watch, len(pods))
            if len(watch.bound) < len(pods):
                raise BenchError(f"{self._name} bound only {len(watch.bound)} of {len(pods)} pods.")
