"""What came of several schedulers on the same scenario, over several seeds.

`moor compare` adds the results seed by seed; nothing but their numbers is kept, and of the first
seed the pods that land elsewhere. The first scheduler is the baseline of all differences. With one
seed, all schedulers meet the same arrivals, durations and events, so differences are taken seed by
seed: their interval is narrower than those of the schedulers.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from mooring.simulator.comparison.condition import FailCondition
from mooring.simulator.comparison.metrics import metrics_of
from mooring.simulator.comparison.moved_pods import MovedPair, PodElsewhere, moves_between
from mooring.simulator.comparison.statistics import MeanOverSeeds, estimate
from mooring.simulator.result import SimulationResult

VERSION: Final = 1
#: So many of the pods that land elsewhere are listed.
MOST_MOVED: Final = 100


class MeasuredScheduler(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one scheduler.

    Attributes:
        scheduler: its name.
        metrics: each number, over the seeds.
        values: the same for every seed, in the order of `SchedulerComparison.seeds`.
    """

    scheduler: str
    metrics: dict[str, MeanOverSeeds]
    values: dict[str, list[float]]


class SchedulerDifference(msgspec.Struct, frozen=True, kw_only=True):
    """How a scheduler differs from the first one.

    Attributes:
        scheduler: its name.
        baseline: the first one's.
        metrics: its numbers less those of the first one, seed by seed.
        moved: how many pods land elsewhere.
        unmatched: how many pods are in one of the results only.
        moved_pods: the first ones of these with the first seed.
    """

    scheduler: str
    baseline: str
    metrics: dict[str, MeanOverSeeds]
    moved: MeanOverSeeds
    unmatched: MeanOverSeeds
    moved_pods: list[PodElsewhere]


class ConditionResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a condition.

    Attributes:
        condition: as it was written.
        holds_for: the schedulers of whose mean over the seeds it is true.
    """

    condition: str
    holds_for: list[str]


class SchedulerComparison(msgspec.Struct, frozen=True, kw_only=True):
    """What came of several schedulers on the same scenario.

    Attributes:
        version: of this form.
        scenario: its name.
        seeds: those with which all schedulers came to their end.
        interrupted: whether somebody broke it off, so that these are fewer than were asked for.
        schedulers: their numbers.
        differences: of each but the first one.
        conditions: what came of ``--fail-if``.
    """

    version: int = VERSION
    scenario: str = ""
    seeds: list[int] = []
    interrupted: bool = False
    schedulers: list[MeasuredScheduler] = []
    differences: list[SchedulerDifference] = []
    conditions: list[ConditionResult] = []


class ComparisonBuilder:
    """Takes results, and makes the comparison.

    Args:
        names: of the schedulers.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._seeds: list[int] = []
        self._scenario = ""
        self._metrics: list[list[dict[str, float]]] = [[] for _ in names]
        self._moved: list[list[int]] = [[] for _ in names]
        self._unmatched: list[list[int]] = [[] for _ in names]
        self._reasons: dict[int, tuple[Mapping[str, str], Mapping[str, str]]] = {}
        #: With the first seed, the first pods that land elsewhere, for each scheduler.
        self.first_moves: list[list[MovedPair]] = [[] for _ in names]

    def add(self, seed: int, results: Sequence[SimulationResult]) -> None:
        """Take the results of all schedulers with a seed, in the order of their names."""
        first = not self._seeds
        self._seeds.append(seed)
        self._scenario = results[0].scenario
        for place, result in enumerate(results):
            self._metrics[place].append(metrics_of(result))
            moves = moves_between(results[0], result)
            self._moved[place].append(len(moves.moved))
            self._unmatched[place].append(moves.unmatched)
            if first:
                self.first_moves[place] = moves.moved[:MOST_MOVED]

    def explain(self, place: int, baseline: Mapping[str, str], other: Mapping[str, str]) -> None:
        """Say why pods of `first_moves` are where they are.

        Args:
            place: the scheduler's.
            baseline: by pod, why the first scheduler decided so.
            other: why this one did.
        """
        self._reasons[place] = (baseline, other)

    def build(
        self, conditions: Sequence[FailCondition], *, interrupted: bool = False
    ) -> SchedulerComparison:
        """The comparison of what was added.

        Raises:
            InputError: a condition is about a metric that these results do not have.
        """
        if not self._seeds:
            return SchedulerComparison(interrupted=interrupted)
        schedulers = [
            _scheduler(name, found) for name, found in zip(self._names, self._metrics, strict=True)
        ]
        return SchedulerComparison(
            scenario=self._scenario,
            seeds=self._seeds,
            interrupted=interrupted,
            schedulers=schedulers,
            differences=[self._difference(schedulers, n) for n in range(1, len(schedulers))],
            conditions=[_tried(one, schedulers) for one in conditions],
        )

    def _difference(
        self, schedulers: Sequence[MeasuredScheduler], place: int
    ) -> SchedulerDifference:
        ours, baseline = schedulers[place], schedulers[0]
        differences = {}
        for name in ours.values:
            pairs = zip(ours.values[name], baseline.values[name], strict=True)
            differences[name] = estimate([one - other for one, other in pairs])
        return SchedulerDifference(
            scheduler=ours.scheduler,
            baseline=baseline.scheduler,
            metrics=differences,
            moved=estimate(self._moved[place]),
            unmatched=estimate(self._unmatched[place]),
            moved_pods=[self._moved_pod(place, pair) for pair in self.first_moves[place]],
        )

    def _moved_pod(self, place: int, pair: MovedPair) -> PodElsewhere:
        before, after = self._reasons.get(place, ({}, {}))
        name = pair.baseline.pod
        return PodElsewhere(
            pod=name,
            workload=pair.baseline.workload,
            baseline_node=pair.baseline.node,
            node=pair.other.node,
            baseline_why=before.get(name, ""),
            why=after.get(name, ""),
        )


def _scheduler(name: str, found: Sequence[dict[str, float]]) -> MeasuredScheduler:
    keys = list(dict.fromkeys(key for one in found for key in one))
    # A resource that nobody requests with this seed is not in use.
    values = {key: [one.get(key, 0.0) for one in found] for key in keys}
    metrics = {key: estimate(numbers) for key, numbers in values.items()}
    return MeasuredScheduler(scheduler=name, metrics=metrics, values=values)


def _tried(condition: FailCondition, schedulers: Sequence[MeasuredScheduler]) -> ConditionResult:
    holds = [
        one.scheduler
        for one in schedulers
        if condition.holds(condition.value({n: e.mean for n, e in one.metrics.items()}))
    ]
    return ConditionResult(condition=condition.text, holds_for=holds)
