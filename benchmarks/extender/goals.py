"""The goals of mooring's extender server, checked against a run; called by `__main__`."""

from collections.abc import Iterator

from benchmarks.extender import scheduler
from benchmarks.extender.scheduler import SchedulerResult
from benchmarks.extender.wire import WireResult
from benchmarks.reporting import Goal, times

_MAX_MEMORY_MB = 600.0
_CACHE_TIMES = 8.0
#: How many times faster than Go with whole nodes, by verb, at 5,000 nodes.
_TIMES_FASTER = {
    "prioritize": 4.0,
    "filter": 3.0,
    "image_score": 2.0,
}
#: CPU time divided by that of Go, with names.
_CPU_RATIO = 0.5


def goals(wire: list[WireResult], scheduled: list[SchedulerResult]) -> list[Goal]:
    """The goals about what was measured."""
    return [*_wire_goals(wire), *_scheduler_goals(scheduled)]


def _wire_goals(results: list[WireResult]) -> Iterator[Goal]:
    largest = [result for result in results if result.nodes == 5000]
    for result in largest:
        if not result.whole:
            continue
        least = _TIMES_FASTER[result.verb]
        yield Goal(
            goal=f"{result.case}, {result.verb}: at least {least:g} times faster than Go (p50)",
            measured=f"{times(result.times_faster)} times",
            met=result.times_faster >= least,
        )
    ratios = {result.verb: result.cpu_ratio for result in largest if not result.whole}
    if ratios:
        measured = ", ".join(f"{verb} {ratio:.2f}" for verb, ratio in ratios.items())
        yield Goal(
            goal="extender, 5,000 names: filter and prioritize ÷ Go at most "
            f"{_CPU_RATIO:g} by CPU time (plain and plural functions)",
            measured=measured,
            met=max(ratios.values()) <= _CPU_RATIO,
        )
    if largest:
        memory = max(result.mooring.peak_memory_mb for result in largest)
        yield Goal(
            goal=f"5,000 nodes: mooring's memory below {_MAX_MEMORY_MB:.0f} MB",
            measured=f"{memory:.0f} MB",
            met=memory < _MAX_MEMORY_MB,
        )


def _scheduler_goals(results: list[SchedulerResult]) -> Iterator[Goal]:
    rates = {result.setup: result.pods_per_second for result in results if result.nodes == 5000}
    if rates:
        ratio = rates[scheduler.MOORING_CACHE] / rates[scheduler.GO_WHOLE]
        yield Goal(
            goal=f"5,000 nodes, kube-scheduler: the node cache binds at least {_CACHE_TIMES:g} "
            "times the pods of the Go extender",
            measured=f"{times(ratio)} times",
            met=ratio >= _CACHE_TIMES,
        )
