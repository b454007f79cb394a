"""Part `sizes`: a decision's cost on 15,000 nodes by that on 5,000; called by `__main__`.

Both clusters are alive at once and take turns, as in part `growth`.
"""

import msgspec

from benchmarks.core import growth
from benchmarks.core.bench import Bench
from benchmarks.core.collection import collecting_as_moor_run
from benchmarks.core.growth import pod_counts
from benchmarks.core.speed import Effort
from benchmarks.core.workloads import Workload

#: The larger cluster has so many times the nodes.
TIMES = 3


class Sizes(msgspec.Struct):
    """How the cost of a decision grows with the nodes.

    Attributes:
        nodes: how many nodes each cluster had; each had one pod for every five nodes.
        microseconds: CPU time of a decision there, medians.
        ratio: how many times the cost on the first cluster is that on the last.
    """

    workload: str
    nodes: list[int]
    microseconds: list[float]
    ratio: float


def measure(workload: Workload, nodes: int, effort: Effort) -> Sizes:
    """Compare a cluster of so many nodes with one of three times as many."""
    counts = [nodes, TIMES * nodes]
    benches = [Bench(workload, count, pod_counts(count)[0]) for count in counts]
    with collecting_as_moor_run():
        found = growth.measure(benches, effort)
    return Sizes(workload.name, counts, found.microseconds, found.ratio)
