"""What the API server itself can do, without any scheduler; called by `__main__`.

A bare loop sends prebuilt requests over kept connections, while a watch on pods is open. Nothing
is decided. The pods are those of the workload, and what is updated while it is measured is updated
here, too.
"""

import asyncio
import time

import msgspec
import uvloop

from benchmarks.command import BenchError
from benchmarks.scheduler.clients import Clients
from benchmarks.scheduler.task import Task
from benchmarks.scheduler.updates import updating
from benchmarks.scheduler.watch import watching
from benchmarks.scheduler.ways import STEADY_PODS
from mooring.testing.real_kubernetes import ControlPlane

_CONNECTIONS = 32
_PATIENCE_SECONDS = 30.0


class Limit(msgspec.Struct):
    """What the API server can do at most.

    Attributes:
        workload: whose cluster it was.
        nodes: how many nodes there were.
        pods: how many pods each figure is from.
        creates_per_second: pods created, and nothing else done.
        binds_per_second: pods bound, and nothing else done: what no drain can exceed here.
        both_per_second: pods created and bound, each at once: what nobody can exceed who gets
            pods while they are created.
        events_per_second: pods bound, with an event after each.
        steady_per_second: pods created, bound and removed, ten at a time; only where a workload
            does so.

    Where pods have claims, these are created with them, and all that a scheduler writes into them
    before a binding is a part of it.
    """

    workload: str
    nodes: int
    pods: int
    creates_per_second: float
    binds_per_second: float
    both_per_second: float
    events_per_second: float | None = None
    steady_per_second: float | None = None


def measure(plane: ControlPlane, task: Task, pods: int) -> Limit:
    """Measure on a control plane that is prepared for a task and has no scheduler."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_measure(plane, task, pods))


async def _measure(plane: ControlPlane, task: Task, pods: int) -> Limit:
    namespace = task.workload.namespaces[1]
    bare = list(task.bare_pods(range(3 * pods)))
    first, second, third = bare[:pods], bare[pods : 2 * pods], bare[2 * pods :]
    async with (
        Clients(plane, _CONNECTIONS) as clients,
        watching(clients, namespace) as watch,
        updating(plane, task),
    ):
        begin = time.perf_counter()
        await clients.send_chains(one.create for one in (*first, *second))
        created = time.perf_counter()
        await clients.send_chains(one.bind for one in first)
        bound = time.perf_counter()
        await clients.send_chains((*one.bind, one.event) for one in second)
        written = time.perf_counter()
        await clients.send_chains((*one.create, *one.bind) for one in third)
        end = time.perf_counter()
        if not await watch.wait(3 * pods, patience=_PATIENCE_SECONDS, seconds=_PATIENCE_SECONDS):
            raise BenchError(f"only {len(watch.bound)} of {3 * pods} pods were seen bound.")
    return Limit(
        workload=task.workload.name,
        nodes=task.nodes,
        pods=pods,
        creates_per_second=2 * pods / (created - begin),
        binds_per_second=pods / (bound - created),
        events_per_second=pods / (written - bound),
        both_per_second=pods / (end - written),
    )


def measure_steady(plane: ControlPlane, task: Task, pods: int) -> Limit:
    """Measure few pods at a time, each removed and replaced as soon as it is bound."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        seconds = runner.run(_steady(plane, task, pods))
    rate = pods / seconds
    return Limit(task.workload.name, task.nodes, pods, rate, rate, rate, steady_per_second=rate)


async def _steady(plane: ControlPlane, task: Task, pods: int) -> float:
    bare = list(task.bare_pods(range(pods)))
    async with (
        Clients(plane, STEADY_PODS) as clients,
        watching(clients, task.workload.namespaces[1]),
    ):
        begin = time.perf_counter()
        await clients.send_chains((*one.create, *one.bind, *one.remove) for one in bare)
        return time.perf_counter() - begin
