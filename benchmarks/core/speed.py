"""Part `speed`: the CPU time of a decision; called by `__main__`, and its slices by `growth`.

A slice is a row of decisions on a cluster that is the same before each slice: what a slice placed
is taken back after it. The result is the median of the slices, the range shows the noise.
"""

import statistics
import time
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from benchmarks.core.bench import Bench

#: Decisions before the clock starts, in which the cluster takes in what was taken back.
WARM_UPS = 3
_MIN_DECISIONS = 300
_MAX_SLICE = 100


class Effort(NamedTuple):
    """How long to measure.

    Attributes:
        seconds: how much CPU time to measure for a speed, at least.
        rounds: how often to measure what is compared in turns.
    """

    seconds: float
    rounds: int


class Speed(msgspec.Struct):
    """How fast decisions are in one case.

    Attributes:
        pods: how many pods were on the cluster.
        microseconds: CPU time of a decision, the median of all slices.
        fastest: that of the fastest slice.
        slowest: that of the slowest slice.
    """

    workload: str
    nodes: int
    pods: int
    decisions: int
    microseconds: float
    fastest: float
    slowest: float
    pods_per_second: float


def slice_size(nodes: int) -> int:
    """How many decisions make a slice: on few nodes fewer, so that pods that keep apart fit."""
    return max(1, min(_MAX_SLICE, nodes // 2))


def slice_microseconds(bench: Bench) -> float:
    """The CPU time of a decision in one slice."""
    size = slice_size(bench.nodes)
    pods = bench.new_pods(WARM_UPS + size)
    bench.place(pods[:WARM_UPS])
    measured = pods[WARM_UPS:]
    begin = time.process_time_ns()
    bench.place(measured)
    end = time.process_time_ns()
    bench.take_back(pods)
    return (end - begin) / size / 1000


def measure(bench: Bench, effort: Effort) -> Speed:
    """Measure slices until enough time is spent; a first slice fills what is remembered."""
    size = slice_size(bench.nodes)
    slice_microseconds(bench)
    slices: list[float] = []
    while len(slices) * size < _MIN_DECISIONS or sum(slices) * size < effort.seconds * 1e6:
        slices.append(slice_microseconds(bench))
    return summary(bench, slices)


def summary(bench: Bench, slices: Sequence[float]) -> Speed:
    """What slices say together."""
    microseconds = statistics.median(slices)
    return Speed(
        workload=bench.workload.name,
        nodes=bench.nodes,
        pods=bench.pods,
        decisions=len(slices) * slice_size(bench.nodes),
        microseconds=microseconds,
        fastest=min(slices),
        slowest=max(slices),
        pods_per_second=1e6 / microseconds,
    )
