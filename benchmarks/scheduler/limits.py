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
from benchmarks.scheduler import kinds
from benchmarks.scheduler.clients import Clients, bind_pod, create_event, create_pod
from benchmarks.scheduler.task import Task
from benchmarks.scheduler.updates import updating
from benchmarks.scheduler.watch import watching
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
    """

    workload: str
    nodes: int
    pods: int
    creates_per_second: float
    binds_per_second: float
    both_per_second: float
    events_per_second: float | None = None


def measure(plane: ControlPlane, task: Task, pods: int) -> Limit:
    """Measure on a control plane that is prepared for a task and has no scheduler."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_measure(plane, task, pods))


async def _measure(plane: ControlPlane, task: Task, pods: int) -> Limit:
    # The workload's own pods: to create or bind one with an affinity costs more than a plain one.
    namespace, kind = task.workload.namespaces[1], task.workload.pods
    numbers = range(3 * pods)
    names = [kind.name(number) for number in numbers]
    places = [kinds.node_name(number % task.nodes) for number in numbers]
    creates = [create_pod(kind.manifest(number, namespace)) for number in numbers]
    binds = [bind_pod(namespace, *one) for one in zip(names, places, strict=True)]
    events = [create_event(namespace, *one) for one in zip(names, places, strict=True)]
    async with (
        Clients(plane, _CONNECTIONS) as clients,
        watching(clients, namespace) as watch,
        updating(plane, task),
    ):
        begin = time.perf_counter()
        await clients.send_all(creates[: 2 * pods])
        created = time.perf_counter()
        await clients.send_all(binds[:pods])
        bound = time.perf_counter()
        some = slice(pods, 2 * pods)
        await clients.send_chains(zip(binds[some], events[some], strict=True))
        written = time.perf_counter()
        await clients.send_chains(zip(creates[2 * pods :], binds[2 * pods :], strict=True))
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
