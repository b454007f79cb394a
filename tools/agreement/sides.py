"""The two sides of a case: what `moor explain` says and what `moor run` does, in the same form.

Explain is the library's own `Explainer`; run is the core of `moor run` with its queue, to which the
cluster is shown as by a watch, and whose effects are read. Each side makes its own objects. Called
by `differences`.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mooring.config.runtimes import build_profiles
from mooring.errors import MooringError
from mooring.explaining.explainer import Explainer
from mooring.framework.decisions.decision import Decision, PostFilterResult, Scoring
from mooring.framework.decisions.observer import Observer
from mooring.framework.decisions.record import Record
from mooring.framework.decisions.recording import recording
from mooring.framework.filtering import Filtering
from mooring.model.change import Put
from mooring.model.defaults import Defaults
from mooring.model.devices.allocation import AllocationResult
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.kinds import KINDS
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.plugins.in_tree import default_registry
from mooring.scheduler.core import Core
from mooring.scheduler.core_building import CoreOptions, build_core
from mooring.scheduler.effects import (
    Bind,
    CleanUp,
    Effect,
    PatchStatus,
    PreemptVictims,
    RecordEvent,
)
from mooring.scheduler.queued_pod import SubQueue
from mooring.state.cluster import Cluster
from tools.agreement.cases import PROFILE, Case, Object
from tools.agreement.extenders import ChanceExtenders
from tools.agreement.policies import chance

_TYPES = {kind.type.kind_name: kind.type for kind in KINDS}
#: What one plugin said of the possible nodes: weight, raw and normalized scores; None if it skips.
PluginPoints = tuple[int, tuple[int, ...] | None, tuple[int, ...] | None]


#: The devices of each claim, as ``driver/pool/device``.
ClaimedDevices = Mapping[str, tuple[str, ...]]
#: What a claim for extended resources is called, which does not exist yet.
_MADE_UP = "<extended-resources>"


class Preempting(NamedTuple):
    """What was found to make room.

    Attributes:
        plugin: who found it.
        code: the verdict's code.
        reasons: why no room can be made.
        candidates: the victims and broken budgets by node.
        best: the nodes among which the choice is free.
    """

    plugin: str
    code: str
    reasons: tuple[str, ...]
    candidates: Mapping[str, tuple[tuple[str, ...], int]]
    best: tuple[str, ...]


class Said(NamedTuple):
    """What one side says of a case; a part is None where the side does not say it.

    Attributes:
        gated: a plugin keeps the pod out of the queue.
        message: why the pod is pending: the text of its event and condition.
        rejections: who rejected each node first, with code and reasons; empty if it is possible.
        selected: the nodes among which the choice is free.
        totals: the totals of the possible nodes.
        points: what each plugin said of them.
        preempting: what was found to make room.
        nominated: whether the pod takes its nominated node.
        devices: the devices of each of its claims, on the possible nodes.
        cleans_up: whether a claim is to be deallocated or deleted because the pod fits nowhere.
    """

    gated: bool = False
    message: str = ""
    rejections: Mapping[str, tuple[str, ...]] | None = None
    selected: tuple[str, ...] = ()
    totals: Mapping[str, int] | None = None
    points: Mapping[str, PluginPoints] | None = None
    preempting: Preempting | None = None
    nominated: bool = False
    devices: Mapping[str, ClaimedDevices] = {}
    cleans_up: bool = False


class Ran(NamedTuple):
    """What `moor run` decided and did.

    Attributes:
        said: what it decided.
        node: where the pod is bound.
        victims: who is preempted, and where.
        reason: the condition's reason, if the pod is pending.
        note: the text of its event.
        devices: the devices that are to be written into its claims.
        cleans_up: whether a claim is to be deallocated or deleted.
    """

    said: Said
    node: str = ""
    victims: tuple[str, tuple[str, ...]] | None = None
    reason: str = ""
    note: str = ""
    devices: Mapping[str, tuple[str, ...]] = {}
    cleans_up: bool = False


def explained(case: Case) -> Said:
    """What `moor explain` says."""
    explainer = Explainer(case.objects, case.config, policy=case.policy)
    pod = explainer.pod(case.pod)
    try:
        if case.extended:
            runtime = explainer.runtime(pod.scheduler_name)
            assert runtime is not None  # noqa: S101 - every case has this profile
            extenders = ChanceExtenders(case.seed)
            record = extenders.drive(recording(runtime, pod, extended=True))
        else:
            record = explainer.record(pod)
    except MooringError as error:
        return Said(message=str(error))
    if record.gated:
        return Said(gated=True)
    return _said_by(record)


def _said_by(record: Record) -> Said:
    if record.error and not record.nodes:
        return Said(message=record.message)
    assert record.filtering is not None  # noqa: S101 - there are nodes
    return Said(
        message=record.message,
        rejections=_rejections(record.nodes, record.filtering),
        selected=tuple(record.selected),
        totals=_totals(record.nodes, record.scoring),
        points=_points(record.scoring),
        preempting=_preempting(record.post_filter_result),
        nominated=bool(record.nominated_shortcut),
        devices=_noted_devices(record.notes.get("allocations", {})),
        cleans_up=_cleans_up(record.notes.get("postFilterDynamicResources", {})),
    )


def _noted_devices(allocations: Mapping[str, Mapping[str, Object]]) -> dict[str, ClaimedDevices]:
    return {
        node: {
            claim: tuple(
                f"{one['driver']}/{one['pool']}/{one['device']}"
                for one in allocation["devices"].get("results", ())
            )
            for claim, allocation in claims.items()
        }
        for node, claims in allocations.items()
    }


def _cleans_up(note: Object) -> bool:
    return "deallocates" in note or "deletes" in note


class _Witness(Observer):
    """Keeps the last decision."""

    def __init__(self) -> None:
        self.decision: Decision | None = None

    def decided(self, decision: Decision) -> None:
        self.decision = decision


def ran(case: Case) -> Ran:
    """What `moor run` decides and does."""
    registry = default_registry()
    policies = [case.policy] if case.policy is not None else []
    profiles = build_profiles(case.config, registry, policies)
    cluster, witness = Cluster(), _Witness()
    options = CoreOptions(
        extended=(lambda _: True) if case.extended else None, observers={PROFILE: witness}
    )
    choice = 0 if case.fails else chance(case.seed, "choice")
    core = build_core(profiles, registry, cluster, lambda: 0, lambda n: choice % n, options)
    defaults = Defaults()
    for thing in (*case.objects, case.pod):
        core.handle([Put(defaults.apply(_object(thing)))], 0.0)
    return _schedule(case, core, witness)


def _schedule(case: Case, core: Core, witness: _Witness) -> Ran:
    cycle = core.schedule_one(0.0)
    if cycle is None:
        queued = core.queue.get("default/asked")
        assert queued is not None  # noqa: S101 - it waits for a node
        return Ran(Said(gated=queued.sub_queue is SubQueue.GATED))
    effects = ChanceExtenders(case.seed).drive(cycle)
    done = _effects(effects)
    decision = witness.decision
    if decision is None:
        return Ran(Said(message=done.message), reason=done.reason, note=done.note)
    names = core.cluster.columns.names
    if not names:
        said = Said(message=done.message)
    else:
        said = Said(
            message=done.message,
            rejections=_rejections(names, decision.filtering),
            selected=tuple(sorted(names[row] for row in decision.best)),
            totals=_totals(names, decision.scoring),
            points=_points(decision.scoring),
            preempting=_preempting(decision.post_filter_result),
            nominated=decision.nominated,
        )
    devices = _reserved_devices(core.cluster) if done.node else {}
    return Ran(said, *done[:2], done.reason, done.note, devices, done.cleans_up)


def _reserved_devices(cluster: Cluster) -> dict[str, tuple[str, ...]]:
    """What was allocated when the node was chosen, and is not in the API server yet."""
    found = {}
    for (_, key), allocation in cluster.assume_cache.in_flight.items():
        if isinstance(allocation, AllocationResult):
            made_up = cluster.catalog.get(ResourceClaim, key) is None
            found[_MADE_UP if made_up else key] = tuple(
                f"{one.driver}/{one.pool}/{one.device}" for one in allocation.devices.results or ()
            )
    return found


class _Done(NamedTuple):
    """What effects come to."""

    node: str = ""
    victims: tuple[str, tuple[str, ...]] | None = None
    message: str = ""
    reason: str = ""
    note: str = ""
    cleans_up: bool = False


def _effects(effects: Sequence[Effect]) -> _Done:
    done = _Done()
    for effect in effects:
        if isinstance(effect, Bind):
            done = done._replace(node=effect.binding.node_name)
        elif isinstance(effect, PreemptVictims):
            victims = tuple(one.key for one in effect.victims)
            done = done._replace(victims=(effect.node, victims))
        elif isinstance(effect, PatchStatus) and effect.reason:
            done = done._replace(message=effect.message, reason=effect.reason)
        elif isinstance(effect, CleanUp):
            done = done._replace(cleans_up=True)
        elif isinstance(effect, RecordEvent):
            done = done._replace(note=effect.note)
    return done


def _object(thing: Object) -> KubeObject:
    return _TYPES[thing["kind"]].from_dict(thing)


def _rejections(names: Sequence[str], filtering: Filtering) -> dict[str, tuple[str, ...]]:
    found = {}
    for row, name in enumerate(names):
        one = filtering.rejection(row)
        found[name] = () if one is None else (one.plugin, one.verdict.code, *one.verdict.reasons)
    return found


def _totals(names: Sequence[str], scoring: Scoring | None) -> dict[str, int] | None:
    if scoring is None:
        return None
    pairs = zip(scoring.rows.tolist(), scoring.total.tolist(), strict=True)
    return {names[row]: total for row, total in pairs}


def _points(scoring: Scoring | None) -> dict[str, PluginPoints] | None:
    if scoring is None:
        return None
    return {
        one.name: (
            one.weight,
            None if one.raw is None else tuple(one.raw.tolist()),
            None if one.normalized is None else tuple(one.normalized.tolist()),
        )
        for one in scoring.scores
    }


def _preempting(result: PostFilterResult) -> Preempting | None:
    found = result.preemption
    if found is None:
        return Preempting(result.plugin, "", result.reasons, {}, ()) if result.reasons else None
    candidates = {
        name: (tuple(_keys(one.victims)), one.pdb_violations)
        for name, one in found.candidates.items()
    }
    best = tuple(sorted(found.best))
    return Preempting(result.plugin, found.verdict.code, result.reasons, candidates, best)


def _keys(pods: Sequence[Pod]) -> list[str]:
    return [pod.key for pod in pods]
