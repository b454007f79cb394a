"""Part `by_plugin`: where the time of a decision goes; called by `__main__`.

It is the time of a decision for which every plugin is asked, as for the first pod of its kind; what
is kept for others makes those cheaper. An observer with a clock watches some slices, in turns with
slices without. The clock's own time is taken off each part; the framework's part, which is also the
queue's, is what remains of a decision without clocks. Medians of CPU time.
"""

import statistics
import time
from collections import defaultdict

import msgspec

from benchmarks.core.bench import Bench
from benchmarks.core.plugin_clock import ASSUME, PluginClock
from benchmarks.core.speed import WARM_UPS, Effort, slice_microseconds, slice_size
from mooring.model.pod import Pod

__all__ = ["ASSUME", "FRAMEWORK", "SHAPE", "Costs", "measure"]

#: Parts of a decision that are no plugin's, beside `ASSUME`.
SHAPE = "(shape of the pod)"
FRAMEWORK = "(framework)"


class Costs(msgspec.Struct):
    """The parts of a decision's time.

    Attributes:
        microseconds: the whole decision, every plugin asked, without clocks; the sum of the parts.
        parts: by plugin, and what is no plugin's; what is nobody else's is the framework's.
        overhead: the share by which the clocks make a decision slower.
    """

    workload: str
    nodes: int
    microseconds: float
    parts: dict[str, float]
    overhead: float


def measure(bench: Bench, effort: Effort) -> Costs:
    """Measure slices with clocks and slices without, in turns."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    without_clocks: list[float] = []
    overheads: list[float] = []
    for _ in range(effort.rounds):
        with bench.clock.asking_all():
            without_clocks.append(slice_microseconds(bench))
        microseconds, spent = _slice(bench)
        overheads.append(microseconds / without_clocks[-1] - 1)
        for name, nanoseconds in spent.items():
            found[name].append(nanoseconds / slice_size(bench.nodes) / 1000)
    whole = statistics.median(without_clocks)
    parts = {name: statistics.median(slices) for name, slices in found.items()}
    return Costs(
        workload=bench.workload.name,
        nodes=bench.nodes,
        microseconds=whole,
        parts={**parts, FRAMEWORK: whole - sum(parts.values())},
        overhead=statistics.median(overheads),
    )


def _slice(bench: Bench) -> tuple[float, dict[str, int]]:
    """The CPU time of a decision with clocks in one slice, and the nanoseconds of each part."""
    size = slice_size(bench.nodes)
    pods = bench.new_pods(WARM_UPS + size)
    bench.place(pods[:WARM_UPS])
    with bench.clock as clock:
        begin = time.process_time_ns()
        _place(bench, pods[WARM_UPS:], clock)
        end = time.process_time_ns()
    bench.take_back(pods)
    return (end - begin) / size / 1000, dict(clock.spent)


def _place(bench: Bench, pods: list[Pod], clock: PluginClock) -> None:
    for pod in pods:
        clock.asking(SHAPE)
        bench.cluster.shape_of(pod)  # what the decision would do first
        clock.answered()
        bench.place([pod])
