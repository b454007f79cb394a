"""The goals of decisions, checked against a run; called by `__main__`."""

from collections.abc import Iterator

from benchmarks.core.growth import Growth
from benchmarks.core.speed import Speed
from benchmarks.core.workloads import WORKLOADS
from benchmarks.reporting import Goal, times

#: The goals are about clusters of this size.
GOAL_NODES = 5000
#: The cost with the most pods on the cluster, at most so many times that with the fewest.
MAX_RATIO = 1.3
#: Pods a second on one core, at least; a workload that is not here has no such goal.
LEAST_PODS_PER_SECOND = {
    "plain": 2000,
    "node-affinity": 1000,
    "anti-affinity": 1000,
    "affinity": 1000,
    "preferred-affinity": 1000,
    "spread": 1000,
    "preferred-spread": 1000,
}


def goals(speeds: list[Speed], growths: list[Growth]) -> list[Goal]:
    """The goals about what was measured."""
    return [*_speed_goals(speeds), *_growth_goals(growths)]


def _speed_goals(speeds: list[Speed]) -> Iterator[Goal]:
    for speed in speeds:
        least = LEAST_PODS_PER_SECOND.get(speed.workload)
        if speed.nodes == GOAL_NODES and least is not None:
            yield Goal(
                goal=f"{_title(speed.workload)}, {speed.nodes:,} nodes: "
                f"at least {least:,} pods a second",
                measured=f"{speed.pods_per_second:,.0f}",
                met=speed.pods_per_second >= least,
            )


def _growth_goals(growths: list[Growth]) -> Iterator[Goal]:
    for growth in growths:
        if growth.nodes == GOAL_NODES:
            yield Goal(
                goal=f"{_title(growth.workload)}, {growth.nodes:,} nodes: the cost with "
                f"{growth.pods[-1]:,} pods at most {MAX_RATIO} times that with {growth.pods[0]:,}",
                measured=f"{times(growth.ratio)} times",
                met=growth.ratio <= MAX_RATIO,
            )


def _title(workload: str) -> str:
    return WORKLOADS[workload].title
