"""How full each node is at some times, for the timeline of a report.

Bounded: of many nodes, evenly chosen ones are shown, and of many samples, evenly chosen times.
"""

from collections.abc import Sequence
from typing import Any, Final, TypeVar

import numpy as np

from mooring.simulator.result import NodeSpan, SimulationResult

_Thing = TypeVar("_Thing")

MOST_NODES: Final = 400
MOST_FRAMES: Final = 120
_MOST_RESOURCES: Final = 4
#: Stands for a node that is not there.
_ABSENT: Final = -1


def node_fill(result: SimulationResult) -> dict[str, Any]:
    """Times, nodes, resources, and for each resource and time the percentage of every node."""
    times = np.array(_evenly(result.series.times, MOST_FRAMES))
    nodes = _evenly(result.nodes, MOST_NODES)
    names = [name for name, shares in result.series.utilization.items() if any(shares)]
    names = names[:_MOST_RESOURCES]
    change = np.zeros((len(names), len(times) + 1, len(nodes)))
    amounts = [[shape.requests.get(name, 0) for name in names] for shape in result.shapes]
    spans: dict[str, list[int]] = {}
    for place, node in enumerate(nodes):
        spans.setdefault(node.name, []).append(place)
    for pod in result.pods:
        if pod.bound is None:
            continue
        column = _column(nodes, spans.get(pod.node, ()), pod.bound)
        if column is None:
            continue
        begin = int(np.searchsorted(times, pod.bound - 1e-6))
        end = len(times)
        if pod.ended is not None:
            end = int(np.searchsorted(times, pod.ended - 1e-6))
        for number, amount in enumerate(amounts[pod.shape]):
            change[number, begin, column] += amount
            change[number, end, column] -= amount
    used = change.cumsum(axis=1)[:, :-1, :]
    whole = np.array([[node.allocatable.get(name, 0) for node in nodes] for name in names])
    whole = whole.reshape(len(names), 1, len(nodes))
    percent = np.rint(100 * used / np.maximum(whole, 1)).astype(int)
    percent = np.where(whole > 0, percent, 0)
    here = np.array([[_there(node, time) for node in nodes] for time in times.tolist()], dtype=bool)
    percent = np.where(here.reshape(1, len(times), len(nodes)), percent, _ABSENT)
    return {
        "times": times.tolist(),
        "resources": names,
        "nodes": [[node.name, node.group, node.zone, node.failed] for node in nodes],
        "allNodes": len(result.nodes),
        "percent": percent.tolist(),
    }


def _evenly(things: Sequence[_Thing], most: int) -> list[_Thing]:
    """At most so many, the first and the last among them."""
    if len(things) <= most:
        return list(things)
    step = (len(things) - 1) / (most - 1)
    return [things[round(number * step)] for number in range(most)]


def _column(nodes: Sequence[NodeSpan], places: Sequence[int], bound: float) -> int | None:
    """Which of the nodes with a name a pod was bound to."""
    for place in reversed(places):
        if nodes[place].added <= bound + 1e-6:
            return place
    return None


def _there(node: NodeSpan, time: float) -> bool:
    return node.added <= time + 1e-6 and (node.removed is None or node.removed > time + 1e-6)
