"""The goals of decisions, checked against a run; called by `__main__`."""

from collections.abc import Iterator, Sequence

from benchmarks.core.confirming import Confirming
from benchmarks.core.findings import Findings
from benchmarks.core.growth import Growth
from benchmarks.core.pauses import Pauses
from benchmarks.core.sizes import Sizes
from benchmarks.core.speed import Speed
from benchmarks.core.waking import Waking
from benchmarks.core.workloads import WORKLOADS
from benchmarks.reporting import Goal, times

#: The goals are about clusters of this size.
GOAL_NODES = 5000
#: The cost with the most pods on the cluster, at most so many times that with the fewest.
MAX_RATIO = 1.3
#: Pods a second on one core, at least; a workload that is not here has no such goal.
LEAST_PODS_PER_SECOND = {
    "plain": 25_000,
    "node-affinity": 25_000,
    "anti-affinity": 12_000,
    "affinity": 12_000,
    "spread": 12_000,
    "preferred-affinity": 10_000,
    "preferred-spread": 10_000,
    "deployment": 10_000,
    "stateful-set": 10_000,
    "indexed-job": 10_000,
    "templates": 8_000,
}
#: The cost on three times the nodes, at most so many times that on them.
MAX_PLAIN_SIZES, MAX_SIZES = 1.4, 2.0
#: Microseconds to confirm a pod, and how many times as long decisions may take with that.
MAX_CONFIRMED, MAX_SLOWDOWN = 8.0, 1.05
#: Seconds until a new pod is placed behind 20,000 that were woken.
MAX_WAKING_SECONDS = 0.5
#: The longest pause of the garbage collector.
MAX_PAUSE_MS = 5.0


def goals(found: Findings) -> list[Goal]:
    """The goals about what was measured."""
    return [
        *_speed_goals(found.speed),
        *_growth_goals(found.growth),
        *_sizes_goals(found.sizes),
        *_confirming_goals(found.confirming),
        *_waking_goals(found.waking),
        *_pauses_goals(found.pauses),
    ]


def most_for_sizes(workload: str) -> float:
    """How many times the cost on 5,000 nodes a decision on 15,000 may cost."""
    return MAX_PLAIN_SIZES if workload == "plain" else MAX_SIZES


def _speed_goals(speeds: Sequence[Speed]) -> Iterator[Goal]:
    for speed in speeds:
        least = LEAST_PODS_PER_SECOND.get(speed.workload)
        if speed.nodes == GOAL_NODES and least is not None:
            yield Goal(
                goal=f"{_title(speed.workload)}, {speed.nodes:,} nodes: "
                f"at least {least:,} pods a second",
                measured=f"{speed.pods_per_second:,.0f}",
                met=speed.pods_per_second >= least,
            )


def _growth_goals(growths: Sequence[Growth]) -> Iterator[Goal]:
    for growth in growths:
        if growth.nodes == GOAL_NODES:
            yield Goal(
                goal=f"{_title(growth.workload)}, {growth.nodes:,} nodes: the cost with "
                f"{growth.pods[-1]:,} pods at most {MAX_RATIO} times that with {growth.pods[0]:,}",
                measured=f"{times(growth.ratio)} times",
                met=growth.ratio <= MAX_RATIO,
            )


def _sizes_goals(sizes: Sequence[Sizes]) -> Iterator[Goal]:
    for one in sizes:
        if one.nodes[0] == GOAL_NODES:
            most = most_for_sizes(one.workload)
            yield Goal(
                goal=f"{_title(one.workload)}: the cost on {one.nodes[-1]:,} nodes at most {most} "
                f"times that on {one.nodes[0]:,}",
                measured=f"{times(one.ratio)} times",
                met=one.ratio <= most,
            )


def _confirming_goals(found: Sequence[Confirming]) -> Iterator[Goal]:
    for one in found:
        if one.nodes != GOAL_NODES:
            continue
        where = f"{_title(one.workload)}, {one.nodes:,} nodes"
        yield Goal(
            goal=f"{where}: confirming an assumed pod takes at most {MAX_CONFIRMED:.0f} µs",
            measured=f"{one.confirmed:.1f} µs",
            met=one.confirmed <= MAX_CONFIRMED,
        )
        yield Goal(
            goal=f"{where}: confirming makes a decision take at most {MAX_SLOWDOWN} times as long",
            measured=f"{times(one.slowdown)} times",
            met=one.slowdown <= MAX_SLOWDOWN,
        )


def _waking_goals(found: Sequence[Waking]) -> Iterator[Goal]:
    for one in found:
        if one.nodes == GOAL_NODES:
            yield Goal(
                goal=f"a new pod behind {one.pods:,} that one deleted pod wakes: "
                f"placed after at most {MAX_WAKING_SECONDS} s",
                measured=f"{one.seconds:.2f} s",
                met=one.seconds <= MAX_WAKING_SECONDS,
            )


def _pauses_goals(found: Sequence[Pauses]) -> Iterator[Goal]:
    for one in found:
        if one.nodes == GOAL_NODES:
            yield Goal(
                goal=f"garbage collection with {one.pods:,} pods: pauses of at most "
                f"{MAX_PAUSE_MS:g} ms",
                measured=f"{one.longest_ms:.1f} ms",
                met=one.longest_ms <= MAX_PAUSE_MS,
            )


def _title(workload: str) -> str:
    return WORKLOADS[workload].title
