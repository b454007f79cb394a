"""The numbers of a result that can be compared, by name.

The names are those of `SimulationResult`; what has parts is named with a dot: ``waiting.p99``.
"""

from enum import Enum
from typing import Final, NamedTuple

from mooring.simulator.result import SimulationResult


class MetricUnit(Enum):
    """How people read a number."""

    COUNT = "count"
    SECONDS = "seconds"
    SHARE = "share"
    COST = "cost"


class ResultMetric(NamedTuple):
    """A number of a result.

    Attributes:
        unit: how it is read.
        better: 1 if more is better, -1 if less is, 0 if that depends.
    """

    unit: MetricUnit = MetricUnit.COUNT
    better: int = 0


_LESS: Final = ResultMetric(better=-1)
_WAITING: Final = ResultMetric(MetricUnit.SECONDS, -1)
METRICS: Final[dict[str, ResultMetric]] = {
    "created": ResultMetric(),
    "placed": ResultMetric(better=1),
    "completed": ResultMetric(better=1),
    "running": ResultMetric(),
    "pending": _LESS,
    "waiting.mean": _WAITING,
    "waiting.p50": _WAITING,
    "waiting.p90": _WAITING,
    "waiting.p99": _WAITING,
    "waiting.max": _WAITING,
    "preemptions": _LESS,
    "evictions": _LESS,
    "bind_failures": _LESS,
    "decisions": ResultMetric(),
    "most_nodes": ResultMetric(),
    "skew": _LESS,
    "cost": ResultMetric(MetricUnit.COST, -1),
}
#: Numbers of which there is one for each resource, by what stands before its name.
BY_RESOURCE: Final[dict[str, ResultMetric]] = {
    "utilization.": ResultMetric(MetricUnit.SHARE),
    "fragmentation.": ResultMetric(MetricUnit.SHARE, -1),
}


def metric_named(name: str) -> ResultMetric | None:
    """What a number is like; None if there is none of this name."""
    found = METRICS.get(name)
    if found is None:
        for prefix, metric in BY_RESOURCE.items():
            if name.startswith(prefix) and name != prefix:
                return metric
    return found


def metrics_of(result: SimulationResult) -> dict[str, float]:
    """All numbers of a result; the cost only if a node group has a price."""
    waiting = result.waiting
    found: dict[str, float] = {
        "created": result.created,
        "placed": result.placed,
        "completed": result.completed,
        "running": result.running,
        "pending": result.pending,
        "waiting.mean": waiting.mean,
        "waiting.p50": waiting.p50,
        "waiting.p90": waiting.p90,
        "waiting.p99": waiting.p99,
        "waiting.max": waiting.max,
        "preemptions": result.preemptions,
        "evictions": result.evictions,
        "bind_failures": result.bind_failures,
        "decisions": result.decisions,
        "most_nodes": result.most_nodes,
        "skew": result.spread.skew,
    }
    if result.cost is not None:
        found["cost"] = result.cost
    found.update({f"utilization.{name}": one for name, one in result.utilization.items()})
    found.update({f"fragmentation.{name}": one for name, one in result.fragmentation.items()})
    return found
