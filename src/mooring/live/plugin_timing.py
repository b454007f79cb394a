"""How long the plugins of each extension point take, measured for one decision in ten.

Decisions read no clock, so they are timed from outside: `time_extension_points` puts a stopwatch
around what a runtime and the core do. Called once when a scheduler is put together.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from mooring.framework.filtering import Filtering, Rejection
from mooring.framework.runtime import PostFilterResult, Runtime
from mooring.framework.verdict import Verdict
from mooring.live.metrics import SchedulerMetrics
from mooring.model.change import Gone, Put
from mooring.scheduler.core import Core
from mooring.scheduler.effects import Effect
from mooring.scheduler.waiting_pods import WaitingPod, WaitingPods

Clock = Callable[[], float]

#: One decision of so many is measured.
EVERY: Final = 10

# What kube-scheduler's metrics call the outcomes.
# parity v1.36.4: kube-scheduler/framework/interface.go codes
_SUCCESS: Final = "Success"
_ERROR: Final = "Error"
_UNSCHEDULABLE: Final = "Unschedulable"
_UNRESOLVABLE: Final = "UnschedulableAndUnresolvable"
_WAIT: Final = "Wait"


def time_extension_points(
    core: Core,
    runtimes: Mapping[str, Runtime],
    metrics: SchedulerMetrics,
    *,
    clock: Clock = time.perf_counter,
    every: int = EVERY,
) -> None:
    """Measure what a scheduler does from now on.

    Args:
        core: the scheduler's heart; nobody waits for permission yet.
        runtimes: its plugins by scheduler name.
        metrics: gets the times.
        clock: seconds that only grow.
        every: one decision of so many is measured.
    """
    for profile, runtime in runtimes.items():
        _Stopwatch(profile, runtime, metrics, clock, every).install()
    core.waiting = _TimedWaitingPods(metrics, clock)
    _time_changes(core, metrics, clock)


class _Stopwatch:
    """Measures one profile's extension points."""

    def __init__(
        self, profile: str, runtime: Runtime, metrics: SchedulerMetrics, clock: Clock, every: int
    ) -> None:
        self._profile = profile
        self._runtime = runtime
        self._metrics = metrics
        self._clock = clock
        self._every = every
        self._number = 0
        self._on = False
        self._inside = 0.0

    def install(self) -> None:
        """Put the stopwatch around the runtime's methods."""
        runtime = self._runtime
        begin = runtime.begin

        def count(pod: Any) -> Any:
            self._number += 1
            self._on = self._number % self._every == 0
            self._inside = 0.0
            return begin(pod)

        _replace(runtime, "begin", count)
        _replace(runtime, "narrow", self._timed("PreFilter", runtime.narrow, _pre_filtered))
        _replace(runtime, "filter", self._timed("Filter", runtime.filter, _filtered))
        _replace(runtime, "score", self._timed("Score", runtime.score))
        post_filter = self._timed("PostFilter", runtime.post_filter, _post_filtered)

        def search(*args: Any) -> Any:
            if runtime.post_filters:
                self._metrics.preemption_attempt()
            return post_filter(*args)

        _replace(runtime, "post_filter", search)
        binding_hooks = runtime.binding_hooks
        _replace(binding_hooks, "reserve", self._timed("Reserve", binding_hooks.reserve, _reserved))
        _replace(binding_hooks, "permit", self._timed("Permit", binding_hooks.permit, _permitted))

    def _timed(
        self,
        point: str,
        function: Callable[..., Any],
        status_of: Callable[[Any], str] = lambda _: _SUCCESS,
    ) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            if not self._on:
                return function(*args)
            start, inside = self._clock(), self._inside
            status = _ERROR
            try:
                result = function(*args)
                status = status_of(result)
            finally:
                # PreFilter runs inside Filter; its time counts once.
                whole = self._clock() - start
                self._metrics.extension_point_ran(
                    point, status, self._profile, whole - (self._inside - inside)
                )
                self._inside = inside + whole
            return result

        return run


def _replace(owner: object, name: str, function: Callable[..., Any]) -> None:
    """Shadow a method of one object, not of its class: other schedulers are not measured."""
    setattr(owner, name, function)


def _status(verdict: Verdict) -> str:
    if verdict.accepted:
        return _SUCCESS
    if verdict.error:
        return _ERROR
    return _UNRESOLVABLE if verdict.unresolvable else _UNSCHEDULABLE


def _pre_filtered(answer: tuple[Rejection | None, object]) -> str:
    return _SUCCESS if answer[0] is None else _status(answer[0].verdict)


def _filtered(filtering: Filtering) -> str:
    if filtering.error is not None:
        return _ERROR
    return _SUCCESS if len(filtering.feasible) else _UNSCHEDULABLE


def _post_filtered(result: PostFilterResult) -> str:
    return _UNSCHEDULABLE if result.preemption is None else _status(result.preemption.verdict)


def _reserved(answer: Rejection | tuple[object, ...]) -> str:
    return _status(answer.verdict) if isinstance(answer, Rejection) else _SUCCESS


def _permitted(answer: Rejection | Mapping[str, float]) -> str:
    if isinstance(answer, Rejection):
        return _status(answer.verdict)
    return _WAIT if answer else _SUCCESS


class _TimedWaitingPods(WaitingPods):
    """Pods that wait for permission, and since when."""

    def __init__(self, metrics: SchedulerMetrics, clock: Clock) -> None:
        super().__init__()
        self._metrics = metrics
        self._clock = clock
        self._since: dict[str, float] = {}

    def add(self, waiting: WaitingPod) -> None:
        """A pod begins to wait."""
        self._since[waiting.pod.key] = self._clock()
        super().add(waiting)

    def settled(self, now: float) -> Iterator[WaitingPod]:
        """The pods that need not wait any longer, each taken out when it is its turn."""
        for one in super().settled(now):
            since = self._since.pop(one.pod.key, None)
            if since is not None:
                result = _UNSCHEDULABLE if one.reason else _SUCCESS
                self._metrics.permitted(result, self._clock() - since)
            yield one


def _time_changes(core: Core, metrics: SchedulerMetrics, clock: Clock) -> None:
    handle = core.handle

    def run(changes: Iterable[Put[Any] | Gone[Any]], now: float) -> list[Effect]:
        taken = list(changes)
        start = clock()
        effects = handle(taken, now)
        if taken:
            metrics.event_handled(type(taken[0].object).kind_name, clock() - start)
        return effects

    _replace(core, "handle", run)
