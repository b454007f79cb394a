"""What a report shows, as plain data: a result, made small enough for a page.

`page` writes it into the file, the page's script draws it. Series are as the result has them, at
most 480 samples; pods become a distribution and tables of the ones that waited longest.
"""

from collections.abc import Sequence
from typing import Any, Final

from mooring.simulator.report.node_fill import node_fill
from mooring.simulator.result import PodPlacement, SimulationResult

_MOST_EVENTS: Final = 300
_MOST_PODS: Final = 50
_MOST_WORKLOADS: Final = 200
_MOST_RESOURCES: Final = 12
#: Upper ends of waiting times, in seconds: 1, 2 and 5 of each power of ten.
_WAITING_ENDS: Final = [
    round(digit * 10.0**power, 3) for power in range(-3, 7) for digit in (1, 2, 5)
]


def report_data(result: SimulationResult) -> dict[str, Any]:
    """Everything that the page shows."""
    series = result.series
    waiting = result.waiting
    return {
        "scenario": result.scenario,
        "configuration": result.configuration,
        "seed": result.seed,
        "interrupted": result.interrupted,
        "end": result.end,
        "numbers": [
            ["pods", result.created],
            ["placed", result.placed],
            ["completed", result.completed],
            ["running at the end", result.running],
            ["pending at the end", result.pending],
            ["preempted", result.preemptions],
            ["evicted", result.evictions],
            ["failed bindings", result.bind_failures],
            ["decisions", result.decisions],
        ],
        "cost": result.cost,
        "waiting": {
            "p50": waiting.p50, "p90": waiting.p90, "p99": waiting.p99, "max": waiting.max,
        },
        "times": series.times,
        "running": series.running,
        "pending": series.pending,
        "nodes": series.nodes,
        "utilization": _first(series.utilization),
        "fragmentation": _first(series.fragmentation),
        "waitingBars": waiting_bars(result.pods),
        "fill": node_fill(result),
        "groups": [
            [one.group, one.most_nodes, one.node_hours, one.cost] for one in result.costs
        ],
        "zones": [[name, number] for name, number in result.spread.pods.items()],
        "events": [[one.time, one.kind, one.message] for one in result.events[:_MOST_EVENTS]],
        "allEvents": len(result.events),
        "reasons": [[one.pods, one.message, one.example] for one in result.pending_reasons],
        "workloads": _workloads(result.pods),
        "longest": _longest(result.pods, result.end),
    }  # fmt: skip


def waiting_bars(pods: Sequence[PodPlacement]) -> list[list[float]]:
    """How many bound pods waited how long: from, to, number; from the first to the last one."""
    counts = [0] * len(_WAITING_ENDS)
    for pod in pods:
        waited = pod.waited
        if waited is not None:
            place = next((n for n, end in enumerate(_WAITING_ENDS) if waited <= end + 1e-6), -1)
            counts[place] += 1
    used = [place for place, number in enumerate(counts) if number]
    if not used:
        return []
    return [
        [_WAITING_ENDS[place - 1] if place else 0.0, _WAITING_ENDS[place], counts[place]]
        for place in range(used[0], used[-1] + 1)
    ]


def _first(by_resource: dict[str, list[float]]) -> dict[str, list[float]]:
    """The resources that are shown: those that anybody uses, and not too many."""
    shown = [(name, values) for name, values in by_resource.items() if any(values)]
    return dict(shown[:_MOST_RESOURCES])


def _workloads(pods: Sequence[PodPlacement]) -> list[list[Any]]:
    """By workload: pods, placed, pending, mean and longest waiting time."""
    found: dict[str, list[PodPlacement]] = {}
    for pod in pods:
        found.setdefault(pod.workload, []).append(pod)
    rows: list[list[Any]] = []
    for name, group in list(found.items())[:_MOST_WORKLOADS]:
        waited = [one.waited for one in group if one.waited is not None]
        placed = sum(1 for one in group if one.bound is not None)
        pending = sum(1 for one in group if one.bound is None and one.ended is None)
        mean = round(sum(waited) / len(waited), 6) if waited else 0.0
        longest = round(max(waited, default=0.0), 6)
        rows.append([name, len(group), placed, pending, mean, longest])
    return rows


def _longest(pods: Sequence[PodPlacement], end: float) -> list[list[Any]]:
    """The pods that waited longest: name, seconds, node, reason."""

    def waited(pod: PodPlacement) -> float:
        until = pod.bound if pod.bound is not None else pod.ended
        return round((end if until is None else until) - pod.created, 6)

    ordered = sorted(pods, key=waited, reverse=True)[:_MOST_PODS]
    return [[one.pod, waited(one), one.node, one.reason] for one in ordered if waited(one) > 0]
