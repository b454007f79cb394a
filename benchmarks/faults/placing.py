"""Creating pods and seeing them bound: what all scenarios do; called by each of them."""

import asyncio
import time
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, Final, TypeVar

import msgspec
import uvloop

from benchmarks.faults import objects
from benchmarks.process import cpu_ms
from benchmarks.scheduler.clients import Clients, Request
from benchmarks.scheduler.contenders import Scheduler
from benchmarks.scheduler.watch import watching
from mooring.testing.real_kubernetes import ControlPlane

T = TypeVar("T")

_SETTLED_SHARE: Final = 0.15
_SETTLING_SECONDS: Final = 1.0
_SETTLED_LONGEST_SECONDS: Final = 60.0


class PlacedPods(msgspec.Struct):
    """What became of some pods.

    Attributes:
        pods: how many were created.
        bound: how many were seen bound.
        seconds: from the first request to create one until the last was seen bound, or until
            nobody waited any longer.
        cpu_seconds: CPU time of the scheduler meanwhile.
    """

    pods: int
    bound: int
    seconds: float
    cpu_seconds: float

    @property
    def per_second(self) -> float:
        """Pods bound a second."""
        return self.bound / self.seconds


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def create(plane: ControlPlane, *requests: Iterable[Request]) -> None:
    """Create objects with many clients, one kind after the other."""

    async def send() -> None:
        async with Clients(plane) as clients:
            for some in requests:
                await clients.send_all(some)

    run(send())


def place(
    plane: ControlPlane,
    scheduler: Scheduler,
    pods: Sequence[Request],
    where: str,
    *,
    seconds: float = 120.0,
) -> PlacedPods:
    """Create pods in a namespace where no other is bound meanwhile, and see them bound.

    Args:
        plane: the cluster.
        scheduler: whose CPU time is taken.
        pods: the pods.
        where: their namespace.
        seconds: they are given up after this time.
    """

    async def work() -> PlacedPods:
        async with Clients(plane) as clients, watching(clients, where) as watch:
            before, begin = cpu_ms(scheduler.pid), time.perf_counter()
            creating = asyncio.create_task(clients.send_all(pods))
            whole = await watch.wait(len(pods), patience=seconds, seconds=seconds)
            used = cpu_ms(scheduler.pid) - before
            end = max(watch.bound.values()) if whole else time.perf_counter()
            await creating
            return PlacedPods(len(pods), len(watch.bound), end - begin, used / 1e3)

    return run(work())


def new_namespace(plane: ControlPlane, *words: object) -> str:
    """Create a namespace named by these words."""
    name = "-".join(map(str, words))
    plane.create(objects.namespace(name))
    return name


def clear(plane: ControlPlane, where: str) -> None:
    """Delete the pods and claims of a namespace."""
    for kind in ("Pod", "PersistentVolumeClaim"):
        plane.delete_all(kind, where)


def settle(*pids: int) -> None:
    """Wait until programs have done what there was to do."""
    for _ in range(round(_SETTLED_LONGEST_SECONDS / _SETTLING_SECONDS)):
        before = sum(map(cpu_ms, pids))
        time.sleep(_SETTLING_SECONDS)
        if sum(map(cpu_ms, pids)) - before < _SETTLED_SHARE * _SETTLING_SECONDS * 1e3:
            return
