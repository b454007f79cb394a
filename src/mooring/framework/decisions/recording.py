"""Making the full record of one decision: an observer that keeps everything that is said.

The decision is the scheduler's own (`decision_cycle`), watched by a thorough observer, so every
plugin is asked about every node. Called by `moor explain` and the parity tool.
"""

from collections.abc import Generator
from typing import Any

from msgspec.structs import replace

from mooring.errors import MooringError
from mooring.framework import hook
from mooring.framework.arrays import Mask
from mooring.framework.decisions.decision import AskExtenders, Decision
from mooring.framework.decisions.decision_cycle import decide, without_extenders
from mooring.framework.decisions.observer import Observer
from mooring.framework.decisions.record import PRE_FILTER_REJECTED, PreFiltered, Record
from mooring.framework.decisions.record_notes import RecordNotes
from mooring.framework.filtering import Preemption
from mooring.framework.fit_error import NO_NODES
from mooring.framework.runtime import Runtime
from mooring.framework.verdict import SKIPPED, Verdict, Verdicts
from mooring.model.pod import Pod


class RecordingObserver(Observer):
    """Keeps what every plugin says about every node.

    Attributes:
        pre_filter: what each pre-filter plugin said.
        filter: what each filter said that was asked; None if it accepts all nodes.
        feasible_without_nominated: the rows that would be feasible if nominated pods did not count.
        post_filter: what each post-filter plugin said.
    """

    thorough = True
    each_plugin = True

    def __init__(self) -> None:
        self.pre_filter: dict[str, PreFiltered] = {}
        self.filter: dict[str, Verdicts | None] = {}
        self.feasible_without_nominated: list[int] = []
        self.post_filter: dict[str, Preemption | Verdict] = {}

    def pre_filter_answered(self, plugin: str, answer: hook.PreFilterAnswer) -> None:
        """Keep the answer."""
        self.pre_filter[plugin] = _pre_filtered(answer)

    def filter_answered(self, plugin: str, verdicts: Verdicts | None) -> None:
        """Keep the verdicts."""
        self.filter[plugin] = verdicts

    def filters_answered(self, mask: Mask) -> None:
        """Keep the nodes."""
        self.feasible_without_nominated = mask.nonzero()[0].tolist()

    def post_filter_answered(self, plugin: str, answer: Preemption | Verdict) -> None:
        """Keep what was found."""
        self.post_filter[plugin] = answer


def record_decision(runtime: Runtime, pod: Pod) -> Record:
    """Decide about a pod without extenders, and note everything that was said.

    Raises:
        PluginError: a plugin failed.
        PolicyError: a `Preempt` hook failed.
    """
    return without_extenders(recording(runtime, pod))


def recording(
    runtime: Runtime, pod: Pod, *, extended: bool = False
) -> Generator[AskExtenders, Any, Record]:
    """Decide about a pod, asking extenders if they take part, and note everything that was said.

    Raises:
        PluginError: a plugin failed.
        PolicyError: a `Preempt` hook failed.
    """
    start = Record(
        pod=pod.key,
        profile=runtime.name,
        priority=pod.priority,
        nodes=runtime.cluster.columns.names,
        pre_enqueue=runtime.pre_enqueue(pod),
    )
    observer = RecordingObserver()
    try:
        decision = yield from decide(runtime, pod, observer, extended=extended)
    except MooringError:
        if start.gated:  # a scheduler would not decide about it
            return start
        raise
    return _completed(start, runtime, observer, decision)


def _completed(
    start: Record, runtime: Runtime, observer: RecordingObserver, decision: Decision
) -> Record:
    names, scoring = start.nodes, decision.scoring
    filters: dict[str, Verdicts | str | None] = {}
    for asker in runtime.filters if names else ():
        name = asker.name
        before = observer.pre_filter.get(name)
        skipped = before is not None and before.skipped
        filters[name] = observer.filter.get(name, SKIPPED if skipped else PRE_FILTER_REJECTED)
    notes: dict[str, Any] = {}
    for name, plugin in runtime.plugins.items():
        if isinstance(plugin, RecordNotes):
            said = observer.post_filter.get(name)
            verdict = said if isinstance(said, Verdict) else None
            notes.update(plugin.record_notes(decision.cycle, decision.filtering, verdict))
    shortcut = names[int(decision.best[0])] if decision.nominated else ""
    return replace(
        start,
        pre_filter=observer.pre_filter,
        filter=filters,
        filtering=decision.filtering,
        feasible_without_nominated=observer.feasible_without_nominated,
        scoring=scoring,
        best=[int(row) for row in (decision.best if scoring is None else scoring.best)],
        nominated_shortcut=shortcut,
        post_filter=observer.post_filter,
        post_filter_result=decision.post_filter_result,
        pending=decision.message,
        error=decision.error if names else NO_NODES,
        notes=notes,
    )


def _pre_filtered(answer: hook.PreFilterAnswer) -> PreFiltered:
    if answer is hook.SKIP:
        return PreFiltered(skipped=True)
    if isinstance(answer, Verdict):
        return PreFiltered(verdict=answer)
    if answer is None:
        return PreFiltered()
    return PreFiltered(nodes=tuple(str(name) for name in answer))
