"""Part `by_plugin`: where the time of a decision goes; called by `__main__`.

The hooks of all plugins are wrapped with a clock for some slices, in turns with slices without. A
clock's own time is taken off each part; the framework's part is what remains of a decision without
clocks. Medians of CPU time.
"""

import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

import msgspec

from benchmarks.core.bench import Bench
from benchmarks.core.speed import WARM_UPS, Effort, slice_microseconds, slice_size
from mooring.framework.hook import Hook
from mooring.framework.runtime import Runtime
from mooring.model.pod import Pod

#: Parts of a decision that are no plugin's.
SHAPE = "(shape of the pod)"
ASSUME = "(assume)"
FRAMEWORK = "(framework)"
_EMPTY_CALLS = 1000
_METHODS = (
    "pre_filter", "filter", "filter_nodes", "pre_score", "score", "score_nodes", "normalize",
)  # fmt: skip

P = ParamSpec("P")
R = TypeVar("R")


class Costs(msgspec.Struct):
    """The parts of a decision's time.

    Attributes:
        microseconds: the whole decision, without clocks; the sum of the parts.
        parts: by plugin, and what is no plugin's; what is nobody else's is the framework's.
        overhead: the share by which the clocks make a decision slower.
    """

    workload: str
    nodes: int
    microseconds: float
    parts: dict[str, float]
    overhead: float


class Stopwatch:
    """Clocks on the hooks of a runtime's plugins; a context manager.

    Hooks do not call one another as long as every pod finds room.

    Attributes:
        spent: nanoseconds by plugin and part.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.spent: defaultdict[str, int] = defaultdict(int)
        self._runtime = runtime
        self._wrapped: list[tuple[Hook, str]] = []
        self._own = 0
        nothing = self.timed("", lambda: None)
        for _ in range(_EMPTY_CALLS):
            nothing()
        self._own = self.spent.pop("") // _EMPTY_CALLS

    def __enter__(self) -> Self:
        placed = (one for point in self._runtime.points.values() for one in point)
        plugins = {one.name: one.plugin for one in placed}
        for name, plugin in plugins.items():
            for method in _METHODS:
                function = getattr(plugin, method, None)
                if function is not None:
                    setattr(plugin, method, self.timed(name, function))
                    self._wrapped.append((plugin, method))
        self._runtime.install(self._runtime.name, self._runtime.points)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        while self._wrapped:
            delattr(*self._wrapped.pop())
        self._runtime.install(self._runtime.name, self._runtime.points)

    def timed(self, name: str, function: Callable[P, R]) -> Callable[P, R]:
        """The same function with a clock, whose own time is not counted."""
        spent = self.spent
        clock = time.process_time_ns
        own = self._own

        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            begin = clock()
            try:
                return function(*args, **kwargs)
            finally:
                spent[name] += clock() - begin - own

        return call


def measure(bench: Bench, effort: Effort) -> Costs:
    """Measure slices with clocks and slices without, in turns."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    without_clocks: list[float] = []
    overheads: list[float] = []
    for _ in range(effort.rounds):
        without_clocks.append(slice_microseconds(bench))
        with Stopwatch(bench.runtime) as watch:
            microseconds = _slice(bench, watch)
        overheads.append(microseconds / without_clocks[-1] - 1)
        for name, spent in watch.spent.items():
            found[name].append(spent / slice_size(bench.nodes) / 1000)
    whole = statistics.median(without_clocks)
    parts = {name: statistics.median(slices) for name, slices in found.items()}
    return Costs(
        workload=bench.workload.name,
        nodes=bench.nodes,
        microseconds=whole,
        parts={**parts, FRAMEWORK: whole - sum(parts.values())},
        overhead=statistics.median(overheads),
    )


def _slice(bench: Bench, watch: Stopwatch) -> float:
    """The CPU time of a decision with clocks, in one slice."""
    size = slice_size(bench.nodes)
    pods = bench.new_pods(WARM_UPS + size)
    bench.place(pods[:WARM_UPS])
    watch.spent.clear()
    begin = time.process_time_ns()
    _place(bench, pods[WARM_UPS:], watch)
    end = time.process_time_ns()
    bench.take_back(pods)
    return (end - begin) / size / 1000


def _place(bench: Bench, pods: list[Pod], watch: Stopwatch) -> None:
    shape = watch.timed(SHAPE, bench.cluster.shape_of)
    assume = watch.timed(ASSUME, bench.cluster.assume)
    for pod in pods:
        shape(pod)  # what the decision would do first
        assume(pod, bench.choose(pod))
