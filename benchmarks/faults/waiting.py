"""Waiting claims: pods whose volumes nobody makes hold their places, and others come.

The bindings of such pods are under way for ten minutes. Called by `__main__`.
"""

import signal
import statistics
import time
from typing import Final

import msgspec

from benchmarks.command import BenchError
from benchmarks.faults import contenders, objects, placing
from benchmarks.faults.placing import PlacedPods
from benchmarks.process import cpu_ms
from benchmarks.scheduler.contenders import Scheduler
from mooring.testing.child_process import wait_for
from mooring.testing.real_kubernetes import ControlPlane

#: So many other pods come at once, so often; the median counts.
OTHERS: Final = 200
_ROUNDS: Final = 3
_IDLE_SECONDS: Final = 20.0
_PATIENCE_SECONDS: Final = 180.0
_END_SECONDS: Final = 60.0


class Waiting(msgspec.Struct):
    """What waiting claims do to a scheduler.

    Attributes:
        scheduler: its name.
        claims: how many pods wait for their claims.
        others: how many other pods came afterwards.
        bound: how many of those were bound.
        per_second: of those, bound a second; the median of the rounds.
        per_second_before: the same without waiting claims.
        cpu_ms_per_pod: CPU time for each of them, with waiting claims.
        cpu_ms_per_pod_before: without.
        idle_percent: CPU time when nothing happens, in percent of one core.
        idle_percent_before: the same without waiting claims.
        stop_seconds: from SIGTERM to the end of the process.
    """

    scheduler: str
    claims: int
    others: int
    bound: int
    per_second: float
    per_second_before: float
    cpu_ms_per_pod: float
    cpu_ms_per_pod_before: float
    idle_percent: float
    idle_percent_before: float
    stop_seconds: float

    @property
    def ratio(self) -> float:
        """The speed with waiting claims by that without."""
        return self.per_second / self.per_second_before


def measure(plane: ControlPlane, claims: int, name: str, *, rounds: int = _ROUNDS) -> Waiting:
    """Let one scheduler have so many waiting claims."""
    waiting = placing.new_namespace(plane, "waiting", name, claims)
    others = placing.new_namespace(plane, "others", name, claims)
    scheduler = contenders.make(plane, name)
    with scheduler:
        placing.place(plane, scheduler, list(objects.ordinary_pods(range(50), waiting)), waiting)
        placing.settle(scheduler.pid)
        before = _rounds(plane, scheduler, others, 0, rounds)
        placing.settle(scheduler.pid)
        idle_before = _idle_percent(scheduler)
        placing.create(
            plane, objects.claims(claims, waiting), objects.claiming_pods(claims, waiting)
        )
        wait_for(
            lambda: _with_node(plane, waiting) == claims,
            f"all {claims} claims to be told their node by {name}",
            _PATIENCE_SECONDS,
        )
        placing.settle(scheduler.pid)
        loaded = _rounds(plane, scheduler, others, rounds, rounds)
        placing.settle(scheduler.pid)
        idle = _idle_percent(scheduler)
        if _bound(plane, waiting) > 50:
            raise BenchError("pods were bound although their claims are not.")
        begin = time.perf_counter()
        scheduler.send(signal.SIGTERM)
        scheduler.wait_ended(_END_SECONDS)
        stopped = time.perf_counter() - begin
    for where in (waiting, others):
        placing.clear(plane, where)
    return Waiting(
        scheduler=name,
        claims=claims,
        others=sum(one.pods for one in loaded),
        bound=sum(one.bound for one in loaded),
        per_second=_median(loaded),
        per_second_before=_median(before),
        cpu_ms_per_pod=_cpu_ms(loaded),
        cpu_ms_per_pod_before=_cpu_ms(before),
        idle_percent=idle,
        idle_percent_before=idle_before,
        stop_seconds=stopped,
    )


def _rounds(
    plane: ControlPlane, scheduler: Scheduler, where: str, first: int, count: int
) -> list[PlacedPods]:
    found = []
    for number in range(first, first + count):
        pods = list(objects.ordinary_pods(range(number * OTHERS, (number + 1) * OTHERS), where))
        found.append(placing.place(plane, scheduler, pods, where))
    return found


def _median(rounds: list[PlacedPods]) -> float:
    return statistics.median(one.per_second for one in rounds)


def _cpu_ms(rounds: list[PlacedPods]) -> float:
    return 1e3 * sum(one.cpu_seconds for one in rounds) / max(1, sum(one.bound for one in rounds))


def _idle_percent(scheduler: Scheduler) -> float:
    before, begin = cpu_ms(scheduler.pid), time.perf_counter()
    time.sleep(_IDLE_SECONDS)
    seconds = time.perf_counter() - begin
    return 100 * (cpu_ms(scheduler.pid) - before) / 1e3 / seconds


def _with_node(plane: ControlPlane, where: str) -> int:
    claims = plane.list_objects("PersistentVolumeClaim", where)
    return sum(
        objects.SELECTED_NODE in (one["metadata"].get("annotations") or {}) for one in claims
    )


def _bound(plane: ControlPlane, where: str) -> int:
    return sum("nodeName" in one["spec"] for one in plane.list_objects("Pod", where))
