"""A slow API server: every write is late by one to four seconds. Called by `__main__`."""

from typing import Final

import msgspec

from benchmarks.faults import contenders, objects, placing
from mooring.testing import Fault, FaultyProxy, Requests
from mooring.testing.real_kubernetes import ControlPlane

_SEED: Final = 10
_LATE_SECONDS: Final = (1.0, 4.0)
_USER: Final = "system:kube-scheduler"


class Slow(msgspec.Struct):
    """What a scheduler does when writes are slow.

    Attributes:
        scheduler: its name.
        pods: how many pods waited.
        bound: how many were bound before the time was over.
        seconds: until the last of them was bound, or the time was over.
        per_minute: bound pods a minute.
        cpu_seconds: CPU time of the scheduler meanwhile.
        cpu_percent: that, in percent of one core.
    """

    scheduler: str
    pods: int
    bound: int
    seconds: float
    per_minute: float
    cpu_seconds: float
    cpu_percent: float


def measure(plane: ControlPlane, name: str, pods: int, seconds: float) -> Slow:
    """Let one scheduler place pods through a proxy that delays its writes."""
    where = placing.new_namespace(plane, "slow", name)
    with FaultyProxy(_SEED) as proxy:
        direct = plane.kubeconfig_for(_USER, name=f"slow-{name}")
        kubeconfig = proxy.through(direct, client=name)
        with contenders.make(plane, name, kubeconfig=kubeconfig) as scheduler:
            warm_up = list(objects.ordinary_pods(range(pods, pods + 50), where))
            placing.place(plane, scheduler, warm_up, where)
            placing.settle(scheduler.pid)
            proxy.set(
                *(
                    Fault.delay(*_LATE_SECONDS, on=Requests(method=method))
                    for method in ("POST", "PATCH", "PUT", "DELETE")
                )
            )
            created = list(objects.ordinary_pods(range(pods), where))
            placed = placing.place(plane, scheduler, created, where, seconds=seconds)
            proxy.clear()
            placing.settle(scheduler.pid)  # what is held back arrives before it ends
    placing.clear(plane, where)
    return Slow(
        scheduler=name,
        pods=placed.pods,
        bound=placed.bound,
        seconds=placed.seconds,
        per_minute=60 * placed.per_second,
        cpu_seconds=placed.cpu_seconds,
        cpu_percent=100 * placed.cpu_seconds / placed.seconds,
    )
