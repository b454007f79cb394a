"""What the API server itself can do, without any scheduler; called by `__main__`.

The same connections that create pods in a run also bind them, to nodes in turn. Nothing is
decided, and no events are written.
"""

import asyncio
import time

import msgspec
import uvloop

from benchmarks.command import BenchError
from benchmarks.scheduler import kinds
from benchmarks.scheduler.clients import Clients, bind_pod, create_pod
from benchmarks.scheduler.watch import watching
from mooring.testing.real_kubernetes import ControlPlane

_PATIENCE_SECONDS = 30.0


class Limit(msgspec.Struct):
    """What the API server can do at most.

    Attributes:
        nodes: how many nodes there were.
        pods: how many pods each figure is from.
        creates_per_second: pods created, and nothing else done.
        binds_per_second: pods bound, and nothing else done.
        both_per_second: pods created and bound, each at once: what no scheduler can exceed here.
    """

    nodes: int
    pods: int
    creates_per_second: float
    binds_per_second: float
    both_per_second: float


def measure(plane: ControlPlane, nodes: int, pods: int, namespace: str) -> Limit:
    """Measure on a control plane where no scheduler runs; the namespace must be empty."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_measure(plane, nodes, pods, namespace))


async def _measure(plane: ControlPlane, nodes: int, pods: int, namespace: str) -> Limit:
    numbers = range(2 * pods)
    creates = [create_pod(kinds.PLAIN.manifest(number, namespace)) for number in numbers]
    binds = [
        bind_pod(namespace, kinds.PLAIN.name(number), kinds.node_name(number % nodes))
        for number in numbers
    ]
    async with Clients(plane) as clients, watching(clients, namespace) as watch:
        begin = time.perf_counter()
        await clients.send_all(creates[:pods])
        created = time.perf_counter()
        await clients.send_all(binds[:pods])
        bound = time.perf_counter()
        await clients.send_chains(zip(creates[pods:], binds[pods:], strict=True))
        end = time.perf_counter()
        if not await watch.wait(2 * pods, patience=_PATIENCE_SECONDS, seconds=_PATIENCE_SECONDS):
            raise BenchError(f"only {len(watch.bound)} of {2 * pods} pods were seen bound.")
    return Limit(
        nodes=nodes,
        pods=pods,
        creates_per_second=pods / (created - begin),
        binds_per_second=pods / (bound - created),
        both_per_second=pods / (end - bound),
    )
