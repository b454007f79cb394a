"""A process that measures decisions of one source tree when asked; started by `workers`.

Requests and answers are lines of JSON on stdin and stdout. The source tree is whatever is first on
the path. Nothing is collected while a clock runs, and what a case is made of is never looked at
again by the garbage collector.
"""

import gc
import sys
import time
from typing import Protocol

import msgspec

from benchmarks.check.cases import Case
from benchmarks.core.bench import Bench
from benchmarks.core.speed import WARM_UPS, slice_size


class Ask(msgspec.Struct, omit_defaults=True):
    """A request.

    Attributes:
        case: make the cluster of this case; the one before is forgotten.
        milliseconds: else measure decisions for so much CPU time, at least.
    """

    case: str = ""
    milliseconds: float = 0.0


class Answer(msgspec.Struct):
    """What was measured: CPU time of a decision; nothing if a case was made."""

    microseconds: float = 0.0
    decisions: int = 0


class Window(Protocol):
    """What is told where measuring begins and ends."""

    def begin(self) -> None: ...
    def end(self) -> None: ...


class CpuTime:
    """A window that adds up CPU time."""

    def __init__(self) -> None:
        self.nanoseconds = 0
        self._since = 0

    def begin(self) -> None:
        """The clock runs."""
        self._since = time.process_time_ns()

    def end(self) -> None:
        """The clock stops."""
        self.nanoseconds += time.process_time_ns() - self._since


def ready(case: Case) -> Bench:
    """The cluster of a case after a first slice, which fills what is remembered."""
    gc.unfreeze()
    bench = case.bench()
    measure_slice(bench, CpuTime())
    gc.collect()
    gc.freeze()
    gc.disable()
    return bench


def measure_slice(bench: Bench, window: Window) -> int:
    """Decide about so many pods in the window, and take them back outside of it; how many."""
    size = slice_size(bench.nodes)
    pods = bench.new_pods(WARM_UPS + size)
    bench.place(pods[:WARM_UPS])
    measured = pods[WARM_UPS:]
    window.begin()
    bench.place(measured)
    window.end()
    bench.take_back(pods)
    gc.collect()
    return size


def measure(bench: Bench, milliseconds: float) -> Answer:
    """Measure slices for so much CPU time."""
    clock = CpuTime()
    decisions = 0
    while clock.nanoseconds < milliseconds * 1e6:
        decisions += measure_slice(bench, clock)
    return Answer(clock.nanoseconds / decisions / 1e3, decisions)


def main() -> None:
    """Answer requests until there are no more."""
    bench: Bench | None = None
    for line in sys.stdin.buffer:
        ask = msgspec.json.decode(line, type=Ask)
        answer = Answer()
        if ask.case:
            bench = None
            bench = ready(Case.parse(ask.case))
        elif bench is not None:
            answer = measure(bench, ask.milliseconds)
        sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
