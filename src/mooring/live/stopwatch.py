"""How long the plugins of each extension point take, measured for one decision in ten.

Decisions read no clock. A `Stopwatch` observes those of one profile and reads one; `assembly` makes
it and passes it to the core.
"""

import time
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from mooring.framework.cycle import Cycle
from mooring.framework.decisions.decision import Decision, PostFilterResult, Scoring
from mooring.framework.decisions.observer import POST_FILTER, Observer
from mooring.framework.filtering import Filtering, PreFilterResult, Rejection
from mooring.framework.verdict import ERROR, SUCCESS, UNSCHEDULABLE

#: One decision of so many is measured.
EVERY: Final = 10

# parity v1.36.4: kube-scheduler/framework/interface.go codes
_WAIT: Final = "Wait"


class StopwatchMetrics(Protocol):
    """Counts what a stopwatch measures."""

    def extension_point_ran(self, point: str, status: str, profile: str, seconds: float) -> None:
        """The plugins of an extension point, such as ``Filter``, took so long."""

    def preemption_attempt(self) -> None:
        """A search for victims began."""

    def permitted(self, result: str, seconds: float) -> None:
        """A pod waited so long for a Permit plugin; ``Success`` or ``Unschedulable``."""


class Stopwatch(Observer):
    """Measures the extension points of one profile.

    Args:
        profile: its scheduler name.
        metrics: gets the times.
        clock: seconds that only grow.
        every: one decision of so many is measured.
        decided: is told of all decisions, too.
    """

    def __init__(
        self,
        profile: str,
        metrics: StopwatchMetrics,
        *,
        clock: Callable[[], float] = time.perf_counter,
        every: int = EVERY,
        decided: Callable[[Decision], None] | None = None,
    ) -> None:
        self._profile = profile
        self._metrics = metrics
        self._clock = clock
        self._every = every
        self._told = decided
        # What is told of a decision is its scores.
        self.each_score = decided is not None
        self._number = 0
        self._on = False
        self._point = ""
        self._since = 0.0

    def begun(self, cycle: Cycle) -> None:  # noqa: ARG002
        """Find out whether this decision is measured."""
        self._number += 1
        self._on = self.each_step = self._number % self._every == 0
        self._point = ""

    def started(self, point: str) -> None:
        """Start the clock; every search for victims counts."""
        if point == POST_FILTER:
            self._metrics.preemption_attempt()
        if self._on:
            self._point = point
            self._since = self._clock()

    def failed(self) -> None:
        """A plugin raised."""
        self._ended(ERROR)

    def pre_filtered(self, whole: Rejection | None, result: PreFilterResult | None) -> None:  # noqa: ARG002
        """The end of PreFilter."""
        self._ended(_code(whole))

    def filtered(self, filtering: Filtering) -> None:
        """The end of Filter."""
        if self._on:
            found = SUCCESS if len(filtering.feasible) else UNSCHEDULABLE
            self._ended(found if filtering.error is None else ERROR)

    def scored(self, scoring: Scoring | None) -> None:  # noqa: ARG002
        """The end of Score."""
        self._ended(SUCCESS)

    def post_filtered(self, result: PostFilterResult) -> None:
        """The end of PostFilter."""
        found = result.preemption
        self._ended(UNSCHEDULABLE if found is None else found.verdict.code)

    def decided(self, decision: Decision) -> None:
        """Hand the decision on."""
        if self._told is not None:
            self._told(decision)

    def reserved(self, rejection: Rejection | None) -> None:
        """The end of Reserve."""
        self._ended(_code(rejection))

    def permitted(self, answer: Rejection | Mapping[str, float]) -> None:
        """The end of Permit."""
        if isinstance(answer, Rejection):
            self._ended(_code(answer))
        else:
            self._ended(_WAIT if answer else SUCCESS)

    def waited(self, code: str, seconds: float) -> None:
        """A pod waited for permission; all of them count."""
        self._metrics.permitted(code, seconds)

    def _ended(self, status: str) -> None:
        if self._on and self._point:
            seconds = self._clock() - self._since
            self._metrics.extension_point_ran(self._point, status, self._profile, seconds)
            self._point = ""


def _code(rejection: Rejection | None) -> str:
    return SUCCESS if rejection is None else rejection.verdict.code
