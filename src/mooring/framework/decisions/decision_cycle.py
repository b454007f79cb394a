"""One decision, on one page: the best nodes for a pod, or where room can be made for it.

    PreFilter ─> Filter ─> extenders ─┬─> Score ─> extenders ─> best nodes
                                      └─ none ─> PostFilter ─> Preempt hooks ─> extenders ─> victims

`moor run` decides with it, `moor explain` records it, benchmarks measure it. What follows from
earlier decisions about pods that are alike is not walked again (`equivalence_classes`, ADR 29); the
result is the same. A generator (ADR 12): it stops where the configuration's extenders have to be
asked and goes on with their answer. Who wants to know more than the result passes an observer
(ADR 21). It changes nothing and never waits.
"""

from collections.abc import Generator
from typing import Any, TypeVar

import numpy as np

from mooring.errors import MooringError
from mooring.framework.arrays import Rows
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.decision import (
    EXTENDER,
    AskExtenders,
    Decision,
    DecisionCycle,
    PluginScore,
    PostFilterResult,
    Scoring,
)
from mooring.framework.decisions.observer import NOBODY, Observer
from mooring.framework.decisions.post_filter_walk import with_candidates
from mooring.framework.filtering import Filtering
from mooring.framework.runtime import Runtime
from mooring.model.pod import Pod

T = TypeVar("T")


def decide(
    runtime: Runtime,
    pod: Pod,
    observer: Observer = NOBODY,
    *,
    extended: bool = False,
    key: str = "",
) -> DecisionCycle:
    """Find the best nodes for a pod.

    Args:
        runtime: the plugins of the pod's profile.
        pod: the pod.
        observer: told of each step; a thorough one makes it ask what changes nothing any more.
        extended: whether extenders take part for this pod.
        key: the pod's key, if the caller has it at hand.

    Raises:
        PluginError: a plugin failed.
        PolicyError: a `Preempt` hook failed.
    """
    try:
        cycle = Cycle(pod, runtime.cluster, thorough=observer.thorough, key=key)
        observer.begun(cycle)
        named = pod.spec.node_name or pod.status.nominated_node_name
        every_plugin = observer.thorough or observer.each_plugin or observer.each_score
        usual = runtime.cluster.columns.nodes and not (extended or named or every_plugin)
        decision = runtime.decide_from_kept(cycle, observer) if usual else None
        if decision is None:
            cycle.restart()
            decision = yield from _in_full(runtime, cycle, observer, extended=extended)
            if usual and not len(decision.best):
                runtime.note_unschedulable(decision)
    except BaseException:
        observer.failed()
        raise
    observer.decided(decision)
    return decision


def without_extenders(cycle: Generator[AskExtenders, Any, T]) -> T:
    """Run a decision to its end in which no extenders take part."""
    try:
        next(cycle)
    except StopIteration as stop:
        result: T = stop.value
        return result
    raise MooringError("extenders were asked although none take part")


def _in_full(
    runtime: Runtime, cycle: Cycle, observer: Observer, *, extended: bool
) -> DecisionCycle:
    """Ask everybody who may have something to say."""
    pod, columns = cycle.pod, runtime.cluster.columns
    if not len(columns):
        # parity v1.36.4: schedule_one.go schedulePod: nobody is asked
        nothing = np.zeros(0, np.bool_)
        return Decision(cycle, Filtering(nothing), np.flatnonzero(nothing))
    filtering = runtime.filter_walk.run(cycle, observer)
    rows = filtering.feasible
    if filtering.error is not None:
        return Decision(cycle, filtering, rows[:0])
    nominated_row = columns.row_of.get(pod.status.nominated_node_name or "")
    best: Rows | None = None
    if nominated_row is not None and nominated_row in rows:
        best = np.array([nominated_row])
        if extended:
            kept, _ = yield AskExtenders("filter", pod, _names(runtime, best))
            best = best if kept else None
    nominated = best is not None
    if best is not None and not observer.thorough:
        return Decision(cycle, filtering, best, nominated=True)
    if extended and len(rows):
        _, rejected = yield AskExtenders("filter", pod, _names(runtime, rows))
        by_row = {columns.row_of[name]: verdict for name, verdict in rejected.items()}
        filtering = filtering.without(by_row, EXTENDER)
        rows = filtering.feasible
    if not len(rows) and best is None:
        result = yield from _make_room(runtime, cycle, filtering, observer, extended=extended)
        return Decision(cycle, filtering, rows, post_filter_result=result)
    if len(rows) == 1 and best is None:
        best = rows
    if best is not None and (not observer.thorough or not len(rows)):
        return Decision(cycle, filtering, best, nominated=nominated)
    try:
        scoring = yield from _score(runtime, cycle, rows, observer, extended=extended)
    except MooringError:
        if best is None:
            raise
        # The choice was made already: only a thorough observer wants the scores.
        return Decision(cycle, filtering, best, nominated=nominated)
    best = scoring.best if best is None else best
    return Decision(cycle, filtering, best, scoring, nominated=nominated)


def _score(
    runtime: Runtime, cycle: Cycle, rows: Rows, observer: Observer, *, extended: bool
) -> Generator[AskExtenders, Any, Scoring]:
    """Score the possible nodes; extenders' points are added to the plugins'."""
    scoring = runtime.score_walk.run(cycle, rows, observer)
    if not extended:
        return scoring
    names = _names(runtime, rows)
    points = yield AskExtenders("prioritize", cycle.pod, names)
    more = np.array([points.get(name, 0) for name in names], np.int64)
    scores = [*scoring.scores, PluginScore(EXTENDER, 1, more, more)]
    return Scoring(rows, scores, scoring.total + more)


def _make_room(
    runtime: Runtime, cycle: Cycle, filtering: Filtering, observer: Observer, *, extended: bool
) -> Generator[AskExtenders, Any, PostFilterResult]:
    """No node is possible: look for victims whose preemption would change that."""
    result = runtime.post_filter_walk.run(cycle, filtering, observer)
    found = result.preemption
    if not extended or found is None or not found.verdict.accepted or result.deferred:
        return result
    candidates = yield AskExtenders("preempt", cycle.pod, tuple(found.candidates), found.candidates)
    return with_candidates(result, candidates)


def _names(runtime: Runtime, rows: Rows) -> tuple[str, ...]:
    nodes = runtime.cluster.columns.nodes
    return tuple(nodes[row].name for row in rows.tolist())
