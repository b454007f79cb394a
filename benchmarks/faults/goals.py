"""The goals of `moor run` in trouble, checked against a run; called by `__main__`."""

from collections.abc import Iterator

from benchmarks.faults.results import FaultResults
from benchmarks.reporting import Goal, times
from benchmarks.scheduler.contenders import MOORING

#: Other pods have at least this part of the speed that they have without waiting claims.
_LEAST_RATIO = 0.75
#: On a busy machine speed is chance. CPU time is asked for instead, which varies as well there.
_LEAST_BUSY_RATIO = 0.5
_MOST_IDLE_PERCENT = 5.0
_MOST_STOP_SECONDS = 5.0
_MOST_SLOW_PERCENT = 50.0


def goals(found: FaultResults, *, quiet: bool) -> list[Goal]:
    """The goals about what was measured; `quiet` if nobody else used the machine."""
    return list(_goals(found, quiet=quiet))


def _goals(found: FaultResults, *, quiet: bool) -> Iterator[Goal]:
    for one in found.waiting:
        if one.scheduler != MOORING:
            continue
        ratio = one.ratio if quiet else one.cpu_ms_per_pod_before / one.cpu_ms_per_pod
        what = "the speed" if quiet else "the pods for each second of CPU that there are"
        yield Goal(
            goal=f"{one.claims:,} waiting claims: all other pods are bound, at full speed",
            measured=f"{one.bound:,} of {one.others:,}, {times(ratio)} times {what} without",
            met=one.bound == one.others and ratio >= (_LEAST_RATIO if quiet else _LEAST_BUSY_RATIO),
        )
        yield Goal(
            goal=f"{one.claims:,} waiting claims: idle CPU below {_MOST_IDLE_PERCENT:g} %",
            measured=f"{one.idle_percent:.1f} %",
            met=one.idle_percent < _MOST_IDLE_PERCENT,
        )
        yield Goal(
            goal=f"{one.claims:,} waiting claims: SIGTERM ends it within {_MOST_STOP_SECONDS:g} s",
            measured=f"{one.stop_seconds:.1f} s",
            met=one.stop_seconds < _MOST_STOP_SECONDS,
        )
    for slow in found.slow:
        if slow.scheduler == MOORING:
            yield Goal(
                goal=f"slow API server: less than {_MOST_SLOW_PERCENT:g} % of a core",
                measured=f"{slow.cpu_percent:.0f} %",
                met=slow.cpu_percent < _MOST_SLOW_PERCENT,
            )
