"""DynamicResources: a pod goes only where its claims have devices, or can get them.

Which devices those are is the business of `pod_devices`; this module asks it node by node, counts
what was chosen as in use, and returns the plan to write it. Extended resources that a class of
devices provides become a claim of their own on nodes without a device plugin for them.
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

import msgspec
import numpy as np

from mooring.framework.arrays import Amounts, Mask
from mooring.framework.binding import Binding
from mooring.framework.binding_hooks import IdleAfterSkip
from mooring.framework.cycle import Cycle
from mooring.framework.decisions.quick_answers import (
    AlikeBy,
    QuickFilter,
    QuickMask,
    QuickScore,
    QuickScores,
)
from mooring.framework.decisions.record_notes import RecordNotes
from mooring.framework.filtering import Filtering
from mooring.framework.handle import Handle
from mooring.framework.hook import (
    SKIP,
    Action,
    FilterNodes,
    Normalize,
    PostFilter,
    PreBind,
    PreBindCheckAnswer,
    PreEnqueue,
    PreFilterAnswer,
    RequeueHint,
    Requeues,
    Reserve,
    ReserveAnswer,
    ScoreNodes,
    Sign,
    WhatIf,
)
from mooring.framework.nodes import Nodes
from mooring.framework.plans.plan import PluginPlan
from mooring.framework.scope import Scope
from mooring.framework.verdict import Verdict, Verdicts, fail, reject
from mooring.model.devices.device_class import DeviceClass
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.devices.resource_slice import ResourceSlice
from mooring.model.duration import Duration
from mooring.model.kinds import RESOURCE
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.devices.binding_conditions import BindingConditions
from mooring.plugins.devices.claim_cleanup import deallocation_plan, deletion_plan
from mooring.plugins.devices.claim_plans import reservation_plan
from mooring.plugins.devices.claim_tracker import tracker_of
from mooring.plugins.devices.device_notes import device_notes
from mooring.plugins.devices.diagnosis.diagnosed_devices import DiagnosedDevices
from mooring.plugins.devices.extended_requests import in_memory_claim
from mooring.plugins.devices.opt_in.best_fit import BEST, BestFit
from mooring.plugins.devices.opt_in.device_preemption import DevicePreemption
from mooring.plugins.devices.opt_in.device_trial import resolvable
from mooring.plugins.devices.pod_claims import (
    check_classes,
    claims_of,
    names_claim,
)
from mooring.plugins.devices.pod_devices import PodDevices
from mooring.plugins.devices.search_limit import SearchLimit
from mooring.plugins.score_arithmetic import normalize_scores
from mooring.state.cluster import Cluster

_NOTHING_TO_FREE: Final = reject("no new claims to deallocate")
_NO_STATE: Final = fail("not found")
_DEALLOCATED: Final = reject("deallocation of ResourceClaim completed")
_DELETED: Final = reject("deletion of ResourceClaim completed")
_STILL_NOT: Final = reject("still not schedulable")
#: What the API server makes names of that it generates.
_NAME_CHARACTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_SECOND: Final = Duration.of_seconds(1)
_FILTER_TIMEOUT: Final = Duration.of_seconds(10)
_BINDING_TIMEOUT: Final = Duration.of_seconds(600)


class DynamicResourcesArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Arguments of DynamicResources.

    Attributes:
        filter_timeout: how long the search for devices on one node may take; 0 for as long as it
            takes.
        binding_timeout: how long devices may take to become ready.
        preemption: Mooring's own: pods may be preempted for their devices.
        best_fit: Mooring's own: pods get the devices, and nodes are preferred, that leave the
            least unused.
    """

    filter_timeout: Duration | None = None
    binding_timeout: Duration | None = None
    preemption: bool = False
    best_fit: bool = False

    def check(self) -> Iterable[tuple[str, str]]:
        """What kube-scheduler would reject."""
        # parity v1.36.4: apis/config/validation/validation_pluginargs.go
        if self.filter_timeout is not None and self.filter_timeout.nanoseconds < 0:
            yield "filterTimeout", f"{self.filter_timeout} is negative: must be at least 0s"
        if self.binding_timeout is not None and self.binding_timeout < _SECOND:
            yield "bindingTimeout", f"{self.binding_timeout} is too short: must be at least 1s"


class DynamicResources(
    PreEnqueue,
    WhatIf,
    FilterNodes,
    PostFilter,
    ScoreNodes,
    Normalize,
    Reserve,
    PreBind,
    Requeues,
    Sign,
    DiagnosedDevices,
    QuickFilter,
    QuickScore,
    AlikeBy,
    RecordNotes,
    IdleAfterSkip,
):
    """Finds nodes where the pod's claims have devices or can get them, and allocates these."""

    name = "DynamicResources"
    reads = (DeviceClass, ResourceClaim, ResourceSlice)
    patches = (ResourceClaim,)
    creates = (ResourceClaim,)
    permissions = (
        (RESOURCE, "resourceclaims", "get"),
        (RESOURCE, "resourceclaims", "delete"),
        (RESOURCE, "resourceclaims/status", "patch"),
        # v1.36: whoever allocates a claim or reserves it needs this, too, with the verb of the
        # request, which is a patch here.
        (RESOURCE, "resourceclaims/binding", "patch"),
    )
    filter_scope = Scope.NODES
    score_scope = Scope.NODES
    alike_by = (DeviceClass,)
    Args: ClassVar[type[msgspec.Struct]] = DynamicResourcesArgs

    def __init__(self, args: DynamicResourcesArgs, handle: Handle) -> None:
        self._handle = handle
        filter_timeout = args.filter_timeout
        if filter_timeout is None:  # 0 is no limit
            filter_timeout = _FILTER_TIMEOUT
        self._filter_timeout_ns = filter_timeout.nanoseconds
        binding_timeout = args.binding_timeout or _BINDING_TIMEOUT
        self._conditions = BindingConditions(binding_timeout.nanoseconds, handle.now_ns)
        self._best_fit = BestFit() if args.best_fit else None
        self._preemption: DevicePreemption | None = None
        if args.preemption:
            self._preemption = DevicePreemption(self.name, self.pre_filter, handle)
            self.filter_scope = Scope.CLUSTER  # pods have devices that others may get

    def pre_enqueue(self, pod: Pod) -> Verdict | None:
        """Hold pods back whose claims are not there yet."""
        claims = claims_of(pod, self._handle.cluster.catalog)
        return claims if isinstance(claims, Verdict) else None

    def pre_filter(self, cycle: Cycle) -> PreFilterAnswer:
        """Look at the pod's claims; reject if one cannot be used on any node."""
        pod, tracker = cycle.pod, tracker_of(cycle.cluster)
        cycle.data[self.name] = None
        claims = claims_of(pod, tracker.catalog)
        if isinstance(claims, Verdict):
            return claims
        extended = tracker.extended_resource_claim(pod)
        if not tracker.extended_resources.requested_by(pod, tracker.catalog):
            extended = None
        elif extended is None:
            extended = in_memory_claim(pod)
        if not claims and extended is None:
            return SKIP
        for claim in claims:
            if claim.status.allocation is None:
                if tracker.is_in_flight(claim):
                    return reject(
                        f"resource claim {claim.key} is in the process of being allocated",
                        unresolvable=True,
                    )
                problem = check_classes(claim, tracker.find_class)
                if problem is not None:
                    return problem
        state = cycle.data[self.name] = PodDevices(
            pod,
            claims,
            extended,
            tracker=tracker,
            conditions=self._conditions,
            new_share_id=self._new_share_id,
            limit=SearchLimit(self._handle.now_ns, self._filter_timeout_ns),
        )
        if self._best_fit is not None:
            state.order = self._best_fit.refresh(tracker).order
        return None

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts | None:  # noqa: ARG002
        """Reject nodes where a claim has no devices and can get none."""
        state: PodDevices | None = nodes.cycle.data.get(self.name)
        if state is None:
            return None
        preemption = self._preemption
        if preemption is not None:
            state = preemption.devices(nodes.cycle, state)
        found: Verdicts | None
        answers = state.answer_all(nodes.columns)
        if answers is None:
            found = Verdicts.each(state.verdicts(nodes))
        else:
            choice = nodes.take(answers.choice)
            found = Verdicts(choice, answers.table) if choice.any() else None
        if found is None or preemption is None:
            return found
        return Verdicts(found.choice, [resolvable(one) for one in found.table])

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Another pod has come in thought: it has devices, if preemption counts these."""
        if self._preemption is not None:
            self._preemption.add_pod(cycle, pod, row)

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:
        """Another pod has left in thought, and has no devices, if preemption counts these."""
        if self._preemption is not None:
            self._preemption.remove_pod(cycle, pod, row)

    def post_filter(self, cycle: Cycle, filtering: Filtering) -> Verdict:
        """Free a claim whose devices are in the way, or remove one of an earlier attempt."""
        # parity v1.36.4: plugins/dynamicresources PostFilter: a pod that another plugin rejected
        # before has no state of this one, which ends the search with an error.
        if self.name not in cycle.data:
            return _NO_STATE
        state: PodDevices | None = cycle.data[self.name]
        if state is None:
            return _NOTHING_TO_FREE
        claims = self.deallocatable(cycle, filtering)
        if claims:
            # Any will do, because there is no better rule.
            claim = claims[self._handle.choose(len(claims))]
            cycle.cleanups.append(PluginPlan(self.name, deallocation_plan(claim)))
            return _DEALLOCATED
        if state.stale is not None:
            cycle.cleanups.append(PluginPlan(self.name, deletion_plan(state.stale)))
            return _DELETED
        if self._preemption is not None:
            waiting = self._preemption.held_back(cycle, filtering)
            if waiting is not None:
                return waiting
        return _STILL_NOT

    def deallocatable(self, cycle: Cycle, filtering: Filtering) -> list[ResourceClaim]:
        """The claims of which one would have to be deallocated."""
        state: PodDevices = cycle.data[self.name]
        columns = cycle.cluster.columns
        found: set[int] = set()
        for node, claims in state.unavailable(columns.nodes):
            first = filtering.rejection(columns.row_of[node])
            if first is not None and first.plugin == self.name:  # others were asked before
                found.update(index for index in claims if state.may_deallocate(index))
        return [state.claims[index] for index in sorted(found)]

    def score_nodes(self, pod: Pod, nodes: Nodes) -> Amounts:  # noqa: ARG002
        """Prefer nodes where requests are met in ways that come first."""
        state: PodDevices | None = nodes.cycle.data.get(self.name)
        if state is None or not (state.prioritized or self._best_fit):
            return np.zeros(len(nodes), np.int64)
        scores = state.scores(nodes)
        best_fit = self._best_fit
        if best_fit is not None:
            tracker = tracker_of(nodes.cycle.cluster)
            fits = (best_fit.score(state, node, tracker) for node in nodes)
            # The preferred way to meet a request is worth more than any fit.
            scores = scores * (BEST + 1) + np.fromiter(fits, np.int64, len(nodes))
        return scores

    def normalize(self, cycle: Cycle, nodes: Nodes, scores: Amounts) -> Amounts:  # noqa: ARG002
        """The more, the better."""
        return normalize_scores(scores)

    def reserve(self, cycle: Cycle, node: Node) -> ReserveAnswer:
        """Count the devices of the chosen node as in use.

        The plan is to allocate the claims and to reserve them for the pod, and to take that back if
        it is not bound.
        """
        state: PodDevices | None = cycle.data.get(self.name)
        if state is None:
            return None
        allocation = state.allocation(node.name)
        if allocation is None and state.to_allocate and state.own_claims:
            return fail("claim allocation not found for node")
        waiting = state.reservations(node.name, self._random_text(5))
        tracker = tracker_of(cycle.cluster)
        state.reserved = []
        for one in waiting:
            if one.allocation is not None:
                tracker.reserve(one.claim, one.allocation, cycle.pod, created=one.created)
                state.reserved.append(one.claim.key)
        claims = state.own_claims
        limit = self._conditions.limit(claims)
        return reservation_plan(cycle.pod, node.name, claims, waiting, self._time(), limit)

    def unreserve(self, cycle: Cycle, node: Node) -> None:  # noqa: ARG002
        """No longer count the devices that were not allocated after all."""
        state: PodDevices | None = cycle.data.get(self.name)
        if state is not None:
            tracker = tracker_of(cycle.cluster)
            cycle.cluster.assume_cache.written_for.pop(cycle.pod.uid, None)
            for key in state.reserved:
                tracker.unreserve(key)
            state.reserved = []

    def pre_bind_check(self, cycle: Cycle, node: Node) -> PreBindCheckAnswer:  # noqa: ARG002
        """Take no part: what has to be done is the plan of `reserve`."""
        return SKIP

    async def pre_bind(self, binding: Binding) -> None:
        """There is nothing to do besides the plan of `reserve`."""

    def requeue_on(self) -> Sequence[RequeueHint]:
        """Whatever decides about devices: nodes, claims, classes and slices."""
        either = Action.ADD | Action.UPDATE
        return (
            RequeueHint(
                Node, Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE
            ),
            RequeueHint(ResourceClaim, either, self._claim_helps),
            # kube-scheduler tries such a pod again after five minutes.
            RequeueHint(ResourceClaim, Action.DELETE, self._stale_claim_is_gone),
            RequeueHint(Pod, Action.UPDATE_OTHER, self._has_claims),
            RequeueHint(DeviceClass, either),
            RequeueHint(ResourceSlice, either),
        )

    def accepted(self, cycle: Cycle, possible: Mask) -> Mask:
        """The nodes where the claims have devices, or can get them; none if that is unusual."""
        answer = self.pre_filter(cycle)
        if answer is SKIP:
            cycle.skipped.add(self.name)
            return possible
        state: PodDevices | None = cycle.data[self.name]
        answers = state.answer_all(cycle.cluster.columns) if state is not None else None
        return possible & answers.accepted if answers is not None else np.zeros_like(possible)

    def accepted_alike(self, cycle: Cycle) -> QuickMask | None:
        """Pods without claims and extended resources from devices fit everywhere."""
        return self.accepted if _needs_devices(cycle.pod, cycle.cluster) else None

    def quick_scores(self, cycle: Cycle, nodes: Nodes, weight: int) -> Amounts | None:
        """Scores where a request can be met in several ways."""
        state: PodDevices | None = cycle.data.get(self.name)
        if state is None or not state.prioritized:
            return None
        return self.normalize(cycle, nodes, state.scores(nodes)) * weight

    def quick_scores_alike(self, cycle: Cycle) -> QuickScores | None:
        """The same for pods with claims; others get none."""
        return self.quick_scores if _needs_devices(cycle.pod, cycle.cluster) else None

    def sign(self, pod: Pod) -> frozenset[tuple[str, str]] | None:
        """Nothing for pods without devices; what is left for others changes with every pod."""
        return None if _needs_devices(pod, self._handle.cluster) else frozenset()

    def record_notes(
        self, cycle: Cycle, filtering: Filtering, post_filter: Verdict | None
    ) -> Mapping[str, Any]:
        """What would be written on each node, and which claims could be deallocated."""
        state: PodDevices | None = cycle.data.get(self.name)
        names = cycle.cluster.columns.names
        nodes = [names[row] for row in filtering.feasible.tolist()]
        notes = device_notes(state, nodes) if state is not None and filtering.error is None else {}
        kinds = (DeviceClass, ResourceClaim, ResourceSlice)
        catalog = cycle.cluster.catalog
        if post_filter is not None and any(catalog.version(kind) for kind in kinds):
            freed = self.deallocatable(cycle, filtering) if state is not None else []
            stale = state.stale if state is not None and not freed else None
            notes["postFilterDynamicResources"] = {
                "code": post_filter.code,
                "reasons": list(post_filter.reasons),
                **({"deallocates": [one.key for one in freed]} if freed else {}),
                **({"deletes": [stale.key]} if stale is not None else {}),
            }
        return notes

    def _claim_helps(self, pod: Pod, old: ResourceClaim | None, new: ResourceClaim) -> bool:
        # parity v1.36.4: plugins/dynamicresources isSchedulableAfterClaimChange
        released = (
            old is not None and old.status.allocation is not None and new.status.allocation is None
        )
        if not released and not names_claim(pod, new):
            return False  # as most: every pending pod is asked about every claim
        claims = claims_of(pod, self._handle.cluster.catalog)
        if isinstance(claims, Verdict):
            return False
        if released:
            return True
        if all(one.uid != new.uid for one in claims):
            return False
        return old is None or old.status != new.status

    def _stale_claim_is_gone(
        self, pod: Pod, old: ResourceClaim | None, new: ResourceClaim | None
    ) -> bool:
        """Whether the claim for extended resources was deleted that an earlier attempt left."""
        if new is not None or old is None:
            return False
        owner = old.controller
        return old.for_extended_resources and owner is not None and owner.uid == pod.uid

    def _has_claims(self, pod: Pod, old: Pod | None, new: Pod) -> bool:
        # parity v1.36.4: plugins/dynamicresources isSchedulableAfterPodChange, for the event
        # UpdatePodGeneratedResourceClaim
        if pod.uid != new.uid or (
            old is not None
            and old.status.resource_claim_statuses == new.status.resource_claim_statuses
        ):
            return False
        return not isinstance(claims_of(new, self._handle.cluster.catalog), Verdict)

    def _new_share_id(self) -> str:
        """A random unique id."""
        text = f"{self._handle.choose(2**63):016x}{self._handle.choose(2**63):016x}"
        return str(uuid.UUID(text, version=4))

    def _random_text(self, size: int) -> str:
        return "".join(
            _NAME_CHARACTERS[self._handle.choose(len(_NAME_CHARACTERS))] for _ in range(size)
        )

    def _time(self) -> str:
        now = datetime.fromtimestamp(self._handle.now_ns() / 10**9, UTC)
        return f"{now:%Y-%m-%dT%H:%M:%SZ}"


def _needs_devices(pod: Pod, cluster: Cluster) -> bool:
    """Whether a pod has claims, or asks for extended resources that devices may provide."""
    if pod.spec.resource_claims:
        return True
    return bool(tracker_of(cluster).extended_resources.requested_by(pod, cluster.catalog))
