"""Part `growth`: a decision's cost on clusters that differ only in the pods on them.

All clusters are alive at once and take turns, slice by slice, so that noise hits them alike; the
ratio is the median of the ratios within a turn. Called by `__main__`.
"""

import statistics
from collections.abc import Sequence

import msgspec

from benchmarks.core.bench import Bench
from benchmarks.core.speed import Effort, slice_microseconds

#: Pods for each node: 1,000, 5,000 and 20,000 pods on 5,000 nodes.
_PODS_PER_NODE = (0.2, 1.0, 4.0)


class Growth(msgspec.Struct):
    """How the cost of a decision grows with the pods on the cluster.

    Attributes:
        pods: how many pods were on each cluster.
        microseconds: CPU time of a decision there, medians.
        ratio: how many times the cost on the first cluster is that on the last.
    """

    workload: str
    nodes: int
    pods: list[int]
    microseconds: list[float]
    ratio: float


def pod_counts(nodes: int) -> list[int]:
    """How many pods to have on so many nodes; the first is what all other parts have."""
    return [int(nodes * share) for share in _PODS_PER_NODE]


def measure(benches: Sequence[Bench], effort: Effort) -> Growth:
    """Compare clusters of one workload and one number of nodes, fewest pods first."""
    for bench in benches:
        slice_microseconds(bench)
    turns = [_turn(benches, backwards=bool(number % 2)) for number in range(effort.rounds)]
    return Growth(
        workload=benches[0].workload.name,
        nodes=benches[0].nodes,
        pods=[bench.pods for bench in benches],
        microseconds=[statistics.median(slices) for slices in zip(*turns, strict=True)],
        ratio=statistics.median(turn[-1] / turn[0] for turn in turns),
    )


def _turn(benches: Sequence[Bench], *, backwards: bool) -> list[float]:
    """One slice on each cluster, in the order given or the other way around."""
    found = dict.fromkeys(range(len(benches)), 0.0)
    for place in sorted(found, reverse=backwards):
        found[place] = slice_microseconds(benches[place])
    return list(found.values())
