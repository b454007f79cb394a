"""How good the places are: what a fast scheduler must not pay with; called by `__main__`.

Looks at where all pods are after a run. Which figure matters depends on the workload: plain pods
should be even over the nodes, pods that like each other's company packed, spread pods even over
the zones.
"""

import statistics
from collections import Counter
from collections.abc import Iterable

import msgspec

from benchmarks.scheduler.kinds import Object
from benchmarks.scheduler.rules import NODE_CPU_MILLI, cpu_milli
from benchmarks.scheduler.task import Task


class Quality(msgspec.Struct):
    """Where the pods are.

    Attributes:
        cpu_deviation: the standard deviation, over the nodes, of the share of the CPU that is
            requested, by all pods.
        cpu_most: the highest share.
        nodes_used: how many nodes have measured pods.
        zone_difference: measured pods in the zone with most of them, less those in the zone with
            fewest; None if nodes have no zones, or one.
    """

    cpu_deviation: float
    cpu_most: float
    nodes_used: int
    zone_difference: int | None = None


def quality(task: Task, pods: Iterable[Object]) -> Quality:
    """Look at the pods of a task that have a node."""
    zones = task.zones
    cpu = dict.fromkeys(zones, 0)
    measured: Counter[str] = Counter()
    for pod in pods:
        node = pod["spec"].get("nodeName", "")
        if node not in cpu:
            continue
        cpu[node] += cpu_milli(pod)
        if pod["metadata"]["namespace"] == task.workload.namespaces[1]:
            measured[node] += 1
    shares = [milli / NODE_CPU_MILLI for milli in cpu.values()]
    in_zones = Counter(dict.fromkeys(zones.values(), 0))
    for node, count in measured.items():
        in_zones[zones[node]] += count
    return Quality(
        cpu_deviation=statistics.pstdev(shares),
        cpu_most=max(shares),
        nodes_used=len(measured),
        zone_difference=(
            max(in_zones.values()) - min(in_zones.values()) if len(in_zones) > 1 else None
        ),
    )
