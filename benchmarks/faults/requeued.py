"""Many pods that fit nowhere are requeued by one event, and one comes that fits.

Both schedulers have the same pods, and the event is the same: a pod leaves its node, which is worth
another try for everybody who found too little room. Each try fails; the new pod stands behind them
in the queue. Called by `__main__`.
"""

import re
import time
from typing import Final

import msgspec

from benchmarks.faults import contenders, objects, placing
from benchmarks.process import cpu_ms
from benchmarks.scheduler.contenders import Scheduler
from mooring.testing.child_process import wait_for
from mooring.testing.real_kubernetes import ControlPlane

_ATTEMPTS: Final = re.compile(
    r'^scheduler_schedule_attempts_total\{.*result="unschedulable".*\} (\S+)$', re.MULTILINE
)
_PENDING: Final = re.compile(
    r'^scheduler_pending_pods\{queue="(active|backoff)"\} (\S+)$', re.MULTILINE
)
_LONGEST_SECONDS: Final = 600.0
#: The longest backoff of a pod has passed then, so that the event alone decides.
_BACKOFF_SECONDS: Final = 11.0


class Requeued(msgspec.Struct):
    """What it costs to requeue many pods.

    Attributes:
        scheduler: its name.
        pods: how many were requeued.
        seconds: from the event until the new pod was bound.
        cpu_seconds: CPU time of the scheduler until all of them were tried.
        tried: how many attempts there were that found no node.
        cpu_ms_per_try: CPU time by attempts.
    """

    scheduler: str
    pods: int
    seconds: float
    cpu_seconds: float
    tried: int
    cpu_ms_per_try: float


def prepare(plane: ControlPlane, pods: int) -> None:
    """Create the pods that fit nowhere."""
    placing.create(plane, objects.hopeless_pods(pods, placing.new_namespace(plane, "hopeless")))


def measure(plane: ControlPlane, name: str, pods: int) -> Requeued:
    """Let one scheduler requeue all pods."""
    where = placing.new_namespace(plane, "requeued", name)
    with contenders.make(plane, name) as scheduler:
        placing.place(plane, scheduler, list(objects.ordinary_pods(range(1), where)), where)
        wait_for(
            lambda: _tried(scheduler) >= pods and _idle(scheduler),
            f"{name} to have tried {pods} pods",
            _LONGEST_SECONDS,
        )
        time.sleep(_BACKOFF_SECONDS)
        placing.settle(scheduler.pid)
        tried, before = _tried(scheduler), cpu_ms(scheduler.pid)
        begin = time.perf_counter()
        plane.delete("Pod", "pod-0", where)
        wait_for(
            lambda: not _idle(scheduler) or _tried(scheduler) > tried,
            f"{name} to requeue the pods",
            _LONGEST_SECONDS,
        )
        placing.create(plane, objects.ordinary_pods(range(1, 2), where))
        wait_for(
            lambda: "nodeName" in plane.get("Pod", "pod-1", where)["spec"],
            f"{name} to bind the new pod",
            _LONGEST_SECONDS,
        )
        seconds = time.perf_counter() - begin
        wait_for(
            lambda: _tried(scheduler) >= tried + pods and _idle(scheduler),
            f"{name} to have tried {pods} pods again",
            _LONGEST_SECONDS,
        )
        placing.settle(scheduler.pid)
        used = cpu_ms(scheduler.pid) - before
        again = _tried(scheduler) - tried
    placing.clear(plane, where)
    return Requeued(
        scheduler=name,
        pods=pods,
        seconds=seconds,
        cpu_seconds=used / 1e3,
        tried=again,
        cpu_ms_per_try=used / max(1, again),
    )


def _tried(scheduler: Scheduler) -> int:
    return round(sum(map(float, _ATTEMPTS.findall(scheduler.metrics()))))


def _idle(scheduler: Scheduler) -> bool:
    return not sum(float(value) for _, value in _PENDING.findall(scheduler.metrics()))
