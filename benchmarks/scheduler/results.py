"""What a whole run found, as it is written to JSON; called by `__main__`, `report` and `plot`."""

from collections.abc import Iterable

import msgspec

from benchmarks.environment import Environment
from benchmarks.reporting import Goal
from benchmarks.scheduler.claim_workloads import CLAIM_WORKLOADS
from benchmarks.scheduler.contenders import KUBE_SCHEDULER, MOORING
from benchmarks.scheduler.footprint import Footprint
from benchmarks.scheduler.limits import Limit
from benchmarks.scheduler.run import Run
from benchmarks.scheduler.ways import STEADY, STEADY_SECONDS


class Result(msgspec.Struct):
    """One workload on so many nodes in one way, with each scheduler.

    Attributes:
        workload: its name in scheduler_perf.
        nodes: how many nodes.
        way: how the pods came.
        init_pods: how many pods were there at the start.
        pods: how many were measured.
        official_pods: how many scheduler_perf measures, where that is another number; 0 if it
            does not have the workload at this size.
        runs: what was measured of each scheduler.
        ratio: pods a second of mooring by those of kube-scheduler.
    """

    workload: str
    nodes: int
    way: str
    init_pods: int
    pods: int
    official_pods: int | None
    runs: list[Run]
    ratio: float | None = None

    def __post_init__(self) -> None:
        mooring, other = self.run(MOORING), self.run(KUBE_SCHEDULER)
        if mooring is not None and other is not None:
            self.ratio = mooring.pods_per_second / other.pods_per_second

    @property
    def claims(self) -> bool:
        """Whether its pods need devices."""
        return self.workload in CLAIM_WORKLOADS

    @property
    def key(self) -> tuple[str, int, str]:
        """What it is about."""
        return (self.workload, self.nodes, self.way)

    def run(self, scheduler: str) -> Run | None:
        """What was measured of one scheduler, if it took part."""
        return next((run for run in self.runs if run.scheduler == scheduler), None)

    def complete(self, run: Run) -> bool:
        """Whether all pods were bound, or all that there was time for."""
        in_time = self.way == STEADY and run.seconds >= 0.9 * STEADY_SECONDS
        return in_time or run.bound >= self.pods


class Found(msgspec.Struct):
    """What was measured so far.

    Attributes:
        limits: what the API server can do without a scheduler.
        results: what the schedulers do.
        footprints: the memory of replicas.
        failures: what went wrong, one sentence each.
    """

    limits: list[Limit] = []
    results: list[Result] = []
    footprints: list[Footprint] = []
    failures: list[str] = []

    def result(self, workload: str, nodes: int, way: str) -> Result | None:
        """What was measured of one workload in one way."""
        key = (workload, nodes, way)
        return next((result for result in self.results if result.key == key), None)

    def limit(self, workload: str, nodes: int) -> Limit | None:
        """What the API server can do on the cluster of a workload."""
        of = (limit for limit in self.limits if (limit.workload, limit.nodes) == (workload, nodes))
        return next(of, None)

    def most(self, result: Result) -> float | None:
        """How many pods a second a loop binds that makes the same writes, and decides nothing."""
        limit = self.limit(result.workload, result.nodes)
        if limit is None:
            return None
        return limit.steady_per_second if result.way == STEADY else limit.binds_per_second

    def most_other_load(self) -> float:
        """The largest share of the machine that other programs used during a run."""
        return max((run.other_load for one in self.results for run in one.runs), default=0.0)

    def ways(self) -> list[str]:
        """The ways that were measured."""
        return list(dict.fromkeys(result.way for result in self.results))

    def add(self, older: "Found") -> None:
        """Take over what an earlier run measured and this one did not."""
        here = {(one.workload, one.nodes) for one in self.limits}
        self.limits[:0] = [one for one in older.limits if (one.workload, one.nodes) not in here]
        footprints = {one.scheduler for one in self.footprints}
        self.footprints[:0] = [one for one in older.footprints if one.scheduler not in footprints]
        own = {result.key: result for result in self.results}
        merged = [_merged(result, own.pop(result.key, None)) for result in older.results]
        self.results[:] = [*merged, *own.values()]


def _merged(older: Result, newer: Result | None) -> Result:
    if newer is None or newer.pods != older.pods:
        return older if newer is None else newer
    return msgspec.structs.replace(newer, runs=_runs([*newer.runs, *older.runs]))


def _runs(runs: Iterable[Run]) -> list[Run]:
    """The first run of each scheduler."""
    found: dict[str, Run] = {}
    for run in runs:
        found.setdefault(run.scheduler, run)
    return list(found.values())


class Report(Found, kw_only=True):
    """Everything a run found.

    Attributes:
        gomaxprocs: how many threads of kube-scheduler work at once.
        quick: whether it was a short run.
        other_load: the largest share of the machine that other programs used during a run.
    """

    environment: Environment
    gomaxprocs: int
    quick: bool
    other_load: float
    goals: list[Goal]
