"""The goals of `moor run`, checked against a run; called by `__main__`."""

from collections.abc import Iterator, Sequence

from benchmarks.reporting import Goal, times
from benchmarks.scheduler.contenders import MOORING
from benchmarks.scheduler.results import Result
from benchmarks.scheduler.workloads import LARGE, QUICK


def goals(results: Sequence[Result]) -> list[Goal]:
    """The goals about what was measured."""
    return list(_goals(results))


def _goals(results: Sequence[Result]) -> Iterator[Goal]:
    for result in results:
        if result.nodes != LARGE or result.workload not in QUICK or result.ratio is None:
            continue
        run = result.run(MOORING)
        whole = run is not None and result.complete(run)
        yield Goal(
            goal=f"{result.workload}, {LARGE:,} nodes: more pods a second than kube-scheduler",
            measured=f"{times(result.ratio)} times" if whole else "not all pods were bound",
            met=whole and result.ratio > 1,
        )
