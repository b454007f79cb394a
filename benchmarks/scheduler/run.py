"""What is measured of one scheduler in one run; made by `measuring`, written to JSON."""

import statistics
from collections import Counter
from collections.abc import Collection

import msgspec

from benchmarks.command import BenchError
from benchmarks.reporting import percentile
from benchmarks.scheduler.quality import Quality


class Throughput(msgspec.Struct):
    """Pods bound in each second of a run, as scheduler_perf summarises them."""

    average: float
    perc50: float
    perc90: float
    perc95: float
    perc99: float


class Latency(msgspec.Struct):
    """Milliseconds from the request to create a pod until it was seen bound."""

    p50_ms: float
    p99_ms: float
    max_ms: float


class Cpu(msgspec.Struct):
    """CPU time of the scheduler's process in milliseconds, by pods bound.

    Attributes:
        per_pod: from the first pod seen bound, or created, until all events were written.
        per_pod_with_start: since the process began.
    """

    per_pod: float
    per_pod_with_start: float | None = None


class Events(msgspec.Struct):
    """The events that say where pods were placed.

    Attributes:
        written: how many were there when no more came.
        seconds: from where the run's seconds begin until all were there; None if some never came.
    """

    written: int
    seconds: float | None


class Run(msgspec.Struct):
    """What was measured of one scheduler.

    Attributes:
        scheduler: its name.
        bound: how many of the pods were bound before the run was ended; usually all.
        seconds: from the first request to create a pod, or the first pod seen bound if all waited,
            until the last was seen bound.
        pods_per_second: pods bound in that time.
        throughput: the same second by second.
        cpu: CPU time of the scheduler.
        peak_memory_mb: its highest resident memory since its start.
        events: the events written.
        latency: of each pod; None if all waited.
        first_seconds: from the start of the process until the first pod was seen bound; None
            unless all waited.
        quality: where the pods are.
        other_load: the share of the machine's CPU time that other programs used meanwhile.
    """

    scheduler: str
    bound: int
    seconds: float
    pods_per_second: float
    cpu: Cpu
    peak_memory_mb: float
    throughput: Throughput | None = None
    events: Events | None = None
    latency: Latency | None = None
    first_seconds: float | None = None
    quality: Quality | None = None
    other_load: float = 0.0


def throughput(bound: Collection[float]) -> Throughput:
    """Second by second, from the first pod to the last; what is less than a second is left out."""
    begin = min(bound)
    whole = max(1, int(max(bound) - begin))
    counts = Counter(int(when - begin) for when in bound)
    samples = [counts[second] for second in range(whole)]
    return Throughput(
        average=statistics.fmean(samples),
        perc50=float(percentile(samples, 0.5)),
        perc90=float(percentile(samples, 0.9)),
        perc95=float(percentile(samples, 0.95)),
        perc99=float(percentile(samples, 0.99)),
    )


def latency(sent: dict[str, float], bound: dict[str, float]) -> Latency:
    """From when pods were sent, or due, and seen bound."""
    found = [(when - sent[pod]) * 1e3 for pod, when in bound.items()]
    return Latency(statistics.median(found), percentile(found, 0.99), max(found))


def must_be_bound(scheduler: str, bound: Collection[str]) -> None:
    """Complain of a scheduler that has done nothing."""
    if not bound:
        raise BenchError(f"{scheduler} bound no pod at all.")
