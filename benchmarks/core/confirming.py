"""Part `confirming`: what the news that a pod was bound costs; called by `__main__`.

After a decision two things come back: the answer to the binding request, and the pod on its node
through the watch, which confirms what was assumed. Slices in which they come after each decision
take turns with slices in which they come at the end, so that it shows by how much they slow
decisions down; decisions alone are timed in both.
"""

import statistics
import time

import msgspec

from benchmarks.core.bench import Bench
from benchmarks.core.speed import WARM_UPS, Effort, slice_size
from mooring.model.pod import Pod

_CLOCK_READINGS = 1000


class Confirming(msgspec.Struct):
    """What confirming costs.

    Attributes:
        answered: microseconds of CPU time for the answer to a binding request.
        confirmed: for the pod that the watch shows on its node.
        undisturbed: for a decision when nothing comes in between.
        disturbed: for a decision when a pod is confirmed before each.
        slowdown: how many times as long a decision takes then, the median within turns.
    """

    workload: str
    nodes: int
    answered: float
    confirmed: float
    undisturbed: float
    disturbed: float
    slowdown: float


class Turn(msgspec.Struct):
    """Microseconds for each of a slice's pods."""

    decisions: float
    answered: float
    confirmed: float


def measure(bench: Bench, effort: Effort) -> Confirming:
    """Measure slices of both sorts in turns."""
    clock = _clock_microseconds()
    _slice(bench, clock, between=True)
    turns = []
    for number in range(effort.rounds):
        order = (False, True) if number % 2 else (True, False)
        found = {between: _slice(bench, clock, between=between) for between in order}
        turns.append((found[False], found[True]))
    return summary(bench.workload.name, bench.nodes, turns)


def summary(workload: str, nodes: int, turns: list[tuple[Turn, Turn]]) -> Confirming:
    """What turns say together, each a slice undisturbed and one disturbed."""
    both = [one for turn in turns for one in turn]
    return Confirming(
        workload=workload,
        nodes=nodes,
        answered=statistics.median(one.answered for one in both),
        confirmed=statistics.median(one.confirmed for one in both),
        undisturbed=statistics.median(alone.decisions for alone, _ in turns),
        disturbed=statistics.median(after.decisions for _, after in turns),
        slowdown=statistics.median(after.decisions / alone.decisions for alone, after in turns),
    )


def _clock_microseconds() -> float:
    """What reading the clock twice adds to what is measured between."""
    begin = time.process_time_ns()
    for _ in range(_CLOCK_READINGS):
        time.process_time_ns()
    return (time.process_time_ns() - begin) / _CLOCK_READINGS / 1000


def _slice(bench: Bench, clock: float, *, between: bool) -> Turn:
    size = slice_size(bench.nodes)
    pods = bench.new_pods(WARM_UPS + size)
    bench.place(pods[:WARM_UPS])
    now = time.process_time_ns
    decisions = answered = confirmed = 0
    late: list[tuple[Pod, str, Pod]] = []
    for pod in pods[WARM_UPS:]:
        begin = now()
        (name,) = bench.place([pod])
        decisions += now() - begin
        (seen,) = bench.seen_bound([pod], [name])
        late.append((pod, name, seen))
        if between:
            spent = _confirm(bench, late)
            answered, confirmed = answered + spent[0], confirmed + spent[1]
    spent = _confirm(bench, late)
    answered, confirmed = answered + spent[0], confirmed + spent[1]
    bench.take_back(pods)
    return Turn(*(total / size / 1000 - clock for total in (decisions, answered, confirmed)))


def _confirm(bench: Bench, late: list[tuple[Pod, str, Pod]]) -> tuple[int, int]:
    """Confirm placed pods, and forget them; the nanoseconds for the answers and for the watch."""
    now = time.process_time_ns
    answered = confirmed = 0
    for pod, name, seen in late:
        begin = now()
        bench.bound(pod, name)
        middle = now()
        bench.confirm(seen)
        confirmed += now() - middle
        answered += middle - begin
    late.clear()
    return answered, confirmed
