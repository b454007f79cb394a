"""What a whole run found, as it is written to JSON; called by `__main__`, `report` and `plot`."""

import msgspec

from benchmarks.environment import Environment
from benchmarks.reporting import Goal
from benchmarks.scheduler.contenders import KUBE_SCHEDULER, MOORING
from benchmarks.scheduler.limits import Limit
from benchmarks.scheduler.measuring import Run


class Result(msgspec.Struct):
    """One workload on so many nodes, with each scheduler.

    Attributes:
        workload: its name in scheduler_perf.
        nodes: how many nodes.
        init_pods: how many pods were there at the start.
        pods: how many were measured.
        official_pods: how many scheduler_perf measures, where that is another number; 0 if it
            does not have the workload at this size.
        runs: what was measured of each scheduler.
        ratio: pods a second of mooring by those of kube-scheduler.
    """

    workload: str
    nodes: int
    init_pods: int
    pods: int
    official_pods: int | None
    runs: list[Run]
    ratio: float | None = None

    def __post_init__(self) -> None:
        mooring, other = self.run(MOORING), self.run(KUBE_SCHEDULER)
        if mooring is not None and other is not None:
            self.ratio = mooring.pods_per_second / other.pods_per_second

    def run(self, scheduler: str) -> Run | None:
        """What was measured of one scheduler, if it took part."""
        return next((run for run in self.runs if run.scheduler == scheduler), None)

    def complete(self, run: Run) -> bool:
        """Whether all pods were bound."""
        return run.bound >= self.pods


class Report(msgspec.Struct):
    """Everything a run found.

    Attributes:
        other_load: the share of the machine's CPU time that other programs used meanwhile.
        limits: what the API server can do without a scheduler.
        failures: what went wrong, one sentence each.
    """

    environment: Environment
    quick: bool
    other_load: float
    limits: list[Limit]
    results: list[Result]
    goals: list[Goal]
    failures: list[str]
