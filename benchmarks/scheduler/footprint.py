"""Part `memory`: a leader and a follower on a full cluster; called by `__main__`.

Two replicas of one scheduler with leader election; the leader places pods, the follower only keeps
up. The workload of part `memory` is not one of the others: it has 50,000 pods on 5,000 nodes.
"""

import asyncio
from contextlib import ExitStack

import msgspec
import uvloop

from benchmarks.command import BenchError
from benchmarks.process import memory_mb, peak_memory_mb
from benchmarks.scheduler import kinds
from benchmarks.scheduler.clients import Clients, create_pod
from benchmarks.scheduler.contenders import REPLICAS
from benchmarks.scheduler.quiet import quiet
from benchmarks.scheduler.task import Task
from benchmarks.scheduler.watch import watching
from benchmarks.scheduler.workloads import Size, Workload
from mooring.testing.real_kubernetes import ControlPlane

WORKLOAD = Workload(
    "FullCluster",
    kinds.PLAIN,
    small=Size(5000, 500, official=0),
    large=Size(50000, 1000, official=0),
    official=False,
)
_PATIENCE_SECONDS = 60.0


class Footprint(msgspec.Struct):
    """Resident memory of two replicas of one scheduler in MB.

    Attributes:
        leader_mb: of the one that has placed pods, when it is quiet again.
        leader_peak_mb: the most it ever had.
        follower_mb: of the one that waits.
        follower_peak_mb: the most that had.
    """

    scheduler: str
    nodes: int
    pods: int
    leader_mb: float
    leader_peak_mb: float
    follower_mb: float
    follower_peak_mb: float


def measure(plane: ControlPlane, name: str, task: Task) -> Footprint:
    """Start two replicas on a control plane that is prepared for the task."""
    with ExitStack() as stack:
        leader = stack.enter_context(REPLICAS[name](plane))
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            # One pod shows that the first replica leads before the second comes.
            runner.run(_place(plane, name, task, range(1)))
            follower = stack.enter_context(REPLICAS[name](plane))
            runner.run(_place(plane, name, task, range(1, task.size.pods)))
            runner.run(quiet([leader.pid, follower.pid, *plane.pids.values()]))
        return _footprint(name, task, leader.pid, follower.pid)


def _footprint(name: str, task: Task, leader: int, follower: int) -> Footprint:
    return Footprint(
        scheduler=name,
        nodes=task.nodes,
        pods=task.placed + task.size.pods,
        leader_mb=memory_mb(leader),
        leader_peak_mb=peak_memory_mb(leader),
        follower_mb=memory_mb(follower),
        follower_peak_mb=peak_memory_mb(follower),
    )


async def _place(plane: ControlPlane, name: str, task: Task, numbers: range) -> None:
    namespace = task.workload.namespaces[1]
    pods = [create_pod(task.workload.pods.manifest(number, namespace)) for number in numbers]
    async with Clients(plane) as clients, watching(clients, namespace) as watch:
        await clients.send_all(pods)
        if not await watch.wait(
            len(pods), patience=_PATIENCE_SECONDS, seconds=5 * _PATIENCE_SECONDS
        ):
            raise BenchError(f"{name} bound only {len(watch.bound)} of {len(pods)} pods.")
