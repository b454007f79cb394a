"""Why a scheduler chose one node and not another: the scenario played again up to the decision.

The scheduler's state is forked right after its decision, the decision is taken back there, and made
once more by the scheduler's own plugins with every answer recorded. `moor compare` calls it for the
first pods that land elsewhere.
"""

from collections.abc import Sequence
from typing import NamedTuple

from mooring.config.runtimes import build_runtime
from mooring.errors import MooringError
from mooring.framework.decisions.record import Record
from mooring.framework.decisions.recording import record_decision
from mooring.simulator.engine.api_cluster import EPOCH
from mooring.simulator.result import PodPlacement
from mooring.simulator.scenario import values
from mooring.simulator.scenario.reader import ReadScenario
from mooring.simulator.scenario.scenario_run import ScenarioRun
from mooring.simulator.scheduler_setup import SchedulerSetup
from mooring.state.cluster import Cluster

#: Results are rounded to this.
_ROUNDING = 1e-6


class PlacementQuestion(NamedTuple):
    """Why is a pod on its node, and not on another?

    Attributes:
        placement: the pod, as this scheduler placed it.
        other: the node where another scheduler put it; empty for nowhere.
    """

    placement: PodPlacement
    other: str


def decision_reasons(
    read: ReadScenario,
    setup: SchedulerSetup,
    run: ScenarioRun,
    questions: Sequence[PlacementQuestion],
) -> dict[str, str]:
    """A sentence about each pod, by its name; empty if the decision cannot be made again.

    Args:
        read: the scenario.
        setup: the scheduler.
        run: the scenario with this scheduler, from the beginning, with the seed of the results.
        questions: the pods.
    """
    latency = values.seconds(read.scenario.latencies.binding, ())
    found: dict[str, str] = {}
    timed = [(one.placement.bound, one) for one in questions if one.placement.bound is not None]
    for question in questions:
        if question.placement.bound is None:
            found[question.placement.pod] = question.placement.reason or "it was never bound"
    for bound, question in sorted(timed, key=lambda pair: pair[0]):
        run.simulation.run(max(bound - latency, 0.0) + _ROUNDING)
        found[question.placement.pod] = _reason(run, setup, question)
    return found


def _reason(run: ScenarioRun, setup: SchedulerSetup, question: PlacementQuestion) -> str:
    key, node = question.placement.pod, question.placement.node
    fork = run.simulation.state.fork()
    assumed = fork.assumed_pod(key)
    if assumed is None or assumed.confirmed or assumed.node_name != node:
        return ""
    pod = assumed.pod
    fork.forget(key)
    profile = setup.profiles.get(pod.scheduler_name)
    if profile is None:
        return ""
    now = int((EPOCH + run.simulation.heap.now) * 1e9)
    try:
        record = record_decision(build_runtime(profile, setup.registry, fork, lambda: now), pod)
    except MooringError:
        return ""
    return reason_of(record, node, question.other, fork)


def reason_of(record: Record, node: str, other: str, cluster: Cluster) -> str:
    """Why a decision chose a node and not another one; empty if it did not choose it."""
    if node not in record.selected:
        return ""
    if record.nominated_shortcut:
        return f"{node} is its nominated node: it was freed by preemption"
    if not other:
        return f"{node} fits"
    rows = list(record.nodes)
    if other not in cluster.nodes or other not in rows:
        return f"{other} is not there at this time"
    rejection = record.rejection(rows.index(other))
    if rejection is not None:
        reasons = ", ".join(rejection.verdict.reasons) or "rejected"
        return f"{other} does not fit: {reasons} ({rejection.plugin})"
    if record.scoring is None:
        return f"{node} is the only node that fits"
    return _by_scores(record, rows.index(node), rows.index(other))


def _by_scores(record: Record, row: int, other: int) -> str:
    scoring, names = record.scoring, record.nodes
    assert scoring is not None  # noqa: S101 - the caller looked
    places = scoring.rows.tolist()
    here, there = places.index(row), places.index(other)
    ours, theirs = int(scoring.total[here]), int(scoring.total[there])
    if ours == theirs:
        return f"{names[row]} and {names[other]} both score {ours}; the tie was drawn"
    gains = {
        one.name: int(one.weight * (one.normalized[here] - one.normalized[there]))
        for one in scoring.scores
        if one.normalized is not None
    }
    most = max(gains, key=lambda name: (gains[name], name))
    return f"{names[row]} scores {ours}, {names[other]} {theirs}: {most} {gains[most]:+d}"
