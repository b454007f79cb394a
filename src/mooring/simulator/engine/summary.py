"""From what was recorded to a result. Called once, at the end of a simulation."""

import math
from collections import Counter
from collections.abc import Sequence

from mooring.simulator.engine.recorder import NodeRecord, PodRecord, Recorder
from mooring.simulator.result import (
    GroupCost,
    NodeSpan,
    PendingReason,
    PodPlacement,
    PodShape,
    Series,
    SimulationResult,
    Spread,
    WaitingTimes,
)

_MOST_REASONS = 50
_HOUR = 3600.0
_DIGITS = 6


def summarize(recorder: Recorder, series: Series, end: float) -> SimulationResult:
    """The result, as far as it follows from the records."""
    records = list(recorder.pods.values())
    pending = [one for one in records if one.bound is None and not one.finished]
    pods = [_placement(one) for one in records]
    waited = sorted(one.waited for one in pods if one.waited is not None)
    costs = _costs(recorder.nodes, end)
    priced = any(one.span.price for one in recorder.nodes)
    ends = Counter(one.end for one in records)
    return SimulationResult(
        end=round(end, _DIGITS),
        created=len(records),
        placed=sum(1 for one in records if one.bound is not None),
        completed=ends["completed"],
        running=recorder.running,
        pending=len(pending),
        pending_reasons=_reasons(pending),
        waiting=_waiting(waited),
        utilization=_utilization(recorder, series, end),
        fragmentation={name: _mean(series.times, v) for name, v in series.fragmentation.items()},
        spread=_spread(recorder),
        preemptions=ends["preempted"],
        evictions=ends["evicted"] + ends["node-removed"],
        bind_failures=recorder.bind_failures,
        most_nodes=_most(recorder.nodes),
        cost=round(sum(one.cost for one in costs), _DIGITS) if priced else None,
        costs=costs,
        decisions=recorder.decisions,
        series=series,
        events=list(recorder.events),
        shapes=[
            PodShape(requests=dict(key), pods=recorder.shape_pods[number])
            for key, number in recorder.shapes.items()
        ],
        pods=pods,
        nodes=[_span(one) for one in recorder.nodes],
    )


def _placement(one: PodRecord) -> PodPlacement:
    return PodPlacement(
        pod=one.key,
        workload=one.workload,
        node=one.node,
        shape=one.shape,
        priority=one.priority,
        created=round(one.created, _DIGITS),
        bound=round(one.bound, _DIGITS) if one.bound is not None else None,
        ended=round(one.ended, _DIGITS) if one.ended is not None else None,
        end=one.end,
        attempts=one.attempts,
        reason=one.reason if one.bound is None and not one.finished else "",
    )


def _span(one: NodeRecord) -> NodeSpan:
    span = one.span
    return NodeSpan(
        name=span.name,
        group=span.group,
        zone=span.zone,
        allocatable=span.allocatable,
        price=span.price,
        added=round(span.added, _DIGITS),
        removed=round(one.until, _DIGITS) if one.until is not None else None,
        failed=round(one.failed, _DIGITS) if one.failed is not None else None,
    )


def _waiting(waited: Sequence[float]) -> WaitingTimes:
    if not waited:
        return WaitingTimes()
    return WaitingTimes(
        mean=round(math.fsum(waited) / len(waited), _DIGITS),
        p50=_percentile(waited, 50),
        p90=_percentile(waited, 90),
        p99=_percentile(waited, 99),
        max=round(waited[-1], _DIGITS),
    )


def _percentile(ordered: Sequence[float], percent: int) -> float:
    """The smallest value that so many percent of the values do not exceed."""
    place = math.ceil(len(ordered) * percent / 100) - 1
    return round(ordered[max(place, 0)], _DIGITS)


def _reasons(pending: Sequence[PodRecord]) -> list[PendingReason]:
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for one in pending:
        reason = one.reason or "the scheduler has not tried it yet"
        counts[reason] += 1
        examples.setdefault(reason, one.key)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_MOST_REASONS]
    return [
        PendingReason(message=message, pods=number, example=examples[message])
        for message, number in ordered
    ]


def _utilization(recorder: Recorder, series: Series, end: float) -> dict[str, float]:
    """By resource, what pods requested as a share of what nodes had, each times its duration."""
    seconds = [0.0] * len(recorder.shapes)
    for pod in recorder.pods.values():
        if pod.bound is not None:
            seconds[pod.shape] += (end if pod.ended is None else pod.ended) - pod.bound
    there = [(_hours(one, end) * _HOUR, one.span.allocatable) for one in recorder.nodes]
    found = {}
    for name, shares in series.utilization.items():
        used = math.fsum(
            dict(shape).get(name, 0) * seconds[number] for shape, number in recorder.shapes.items()
        )
        whole = math.fsum(time * amounts.get(name, 0) for time, amounts in there)
        # Nothing lasted: what is there is all there was.
        found[name] = round(used / whole, _DIGITS) if whole else shares[-1]
    return found


def _mean(times: Sequence[float], values: Sequence[float]) -> float:
    """The mean over time; each value holds until the next one."""
    length = times[-1] - times[0] if times else 0.0
    if length <= 0:
        return values[-1] if values else 0.0
    steps = zip(times[1:], times, values, strict=False)
    return round(math.fsum((after - before) * value for after, before, value in steps) / length, 6)


def _spread(recorder: Recorder) -> Spread:
    zones = {one.span.name: one.span.zone for one in recorder.nodes}
    here = {one.span.zone: 0 for one in recorder.nodes if one.until is None}
    for pod in recorder.pods.values():
        if pod.bound is not None and not pod.finished:
            zone = zones.get(pod.node, "")
            here[zone] = here.get(zone, 0) + 1
    found = dict(sorted(here.items()))
    return Spread(pods=found, skew=max(found.values()) - min(found.values()) if found else 0)


def _costs(nodes: Sequence[NodeRecord], end: float) -> list[GroupCost]:
    groups: dict[str, list[NodeRecord]] = {}
    for one in nodes:
        groups.setdefault(one.span.group, []).append(one)
    return [
        GroupCost(
            group=name,
            node_hours=round(math.fsum(_hours(one, end) for one in group), _DIGITS),
            cost=round(math.fsum(_hours(one, end) * one.span.price for one in group), _DIGITS),
            most_nodes=_most(group),
        )
        for name, group in groups.items()
    ]


def _hours(one: NodeRecord, end: float) -> float:
    return ((end if one.until is None else one.until) - one.span.added) / _HOUR


def _most(nodes: Sequence[NodeRecord]) -> int:
    """How many of these nodes were there at the same time."""
    steps = [(one.span.added, 1) for one in nodes]
    steps += [(one.until, -1) for one in nodes if one.until is not None]
    most = here = 0
    for _, step in sorted(steps):
        here += step
        most = max(most, here)
    return most
