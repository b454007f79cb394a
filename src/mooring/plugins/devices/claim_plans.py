"""What has to be written before a pod with claims is bound: allocations, and whom claims are for.

Owns the plan that DynamicResources returns when a node is chosen. Nothing here talks to anybody:
the plan is data, and its functions read only what they are given.
"""

# parity v1.36.4: plugins/dynamicresources/dynamicresources.go bindClaim, isPodReadyForBinding

import functools
from collections.abc import Callable, Sequence

import msgspec

from mooring.framework.plans.plan import Plan, Step, WaitingEvent, Write, WriteAnswer
from mooring.framework.verdict import Verdict, fail
from mooring.model.devices.allocation import AllocationResult
from mooring.model.devices.resource_claim import EXTENDED_RESOURCE_CLAIM, ResourceClaim
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.plugins.devices.binding_conditions import (
    ReadyLimit,
    has_binding_conditions,
    readiness,
)
from mooring.plugins.devices.claim_cleanup import FINALIZER, latest_claim, undo_steps
from mooring.plugins.devices.extended_requests import ContainerExtendedResourceRequest
from mooring.plugins.devices.pod_claims import not_found
from mooring.state.cluster import Cluster


class ClaimReservation(msgspec.Struct, frozen=True):
    """A claim that is to be reserved for a pod.

    Attributes:
        claim: the claim; one that does not exist yet has the name it is to get.
        allocation: what is to be allocated to it; None if it is allocated already.
        created: it has to be created.
        mappings: which of its requests are for which container, if it is for extended resources.
    """

    claim: ResourceClaim
    allocation: AllocationResult | None = None
    created: bool = False
    mappings: Sequence[ContainerExtendedResourceRequest] = ()

    def steps(self, pod: Pod, time: str) -> list[Step]:
        """What has to be written, in order."""
        steps: list[Step] = []
        if self.created:
            steps.append(_create(self.claim, pod))
        if self.allocation is not None:
            steps.append(functools.partial(_latest, self, pod, time, _protect))
        steps.append(functools.partial(_latest, self, pod, time, _reserve))
        if self.created:
            steps.append(_tell_pod(pod, self))
        return steps


def reservation_plan(
    pod: Pod, node: str, claims: Sequence[ResourceClaim], waiting: Sequence[ClaimReservation],
    time: str, limit: ReadyLimit,
) -> Plan | None:  # fmt: skip
    """What has to be done before a pod is bound; None if it has no claims there.

    Args:
        pod: the pod.
        node: the name of its node.
        claims: the claims that the pod names.
        waiting: the claims that are not reserved for it yet, and one that is created.
        time: when devices are allocated.
        limit: how long devices may take to become ready.
    """
    if not claims and not waiting:
        return None
    created = next((one.claim for one in waiting if one.created), None)
    used = [*claims, created] if created is not None else list(claims)
    allocations = [one.allocation for one in waiting]
    allocations += [one.status.allocation for one in claims]
    conditional = any(
        has_binding_conditions(one.devices.results or ()) for one in allocations if one is not None
    )
    plan = Plan(
        writes=tuple(step for one in waiting for step in one.steps(pod, time)),
        undo=undo_steps(pod, claims, created),
    )
    if not conditional:
        return plan
    keys = tuple(one.key for one in used)
    note = f"waiting for binding conditions for device on node {node}"
    return msgspec.structs.replace(
        plan,
        ready=functools.partial(_are_ready, keys, created.key if created is not None else ""),
        objects=tuple((ResourceClaim, key) for key in keys),
        seconds=limit.seconds,
        too_late=limit.too_late,
        event=WaitingEvent(reason="BindingConditionsPending", note=note),
    )


def _create(claim: ResourceClaim, pod: Pod) -> Write:
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "name": claim.name,
            "namespace": claim.namespace,
            "annotations": {EXTENDED_RESOURCE_CLAIM: "true"},
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "name": pod.name,
                    "uid": pod.uid,
                    "controller": True,
                }
            ],
        },
        "spec": msgspec.to_builtins(claim.spec),
    }
    return Write(
        verb="create",
        kind=ResourceClaim,
        key=claim.key,
        body=body,
        doing=f"create claim for extended resources {claim.namespace}/",
    )


def _tell_pod(pod: Pod, one: ClaimReservation) -> Step:
    if not one.mappings:
        return functools.partial(_no_mappings, pod.key)
    status = {
        "resourceClaimName": one.claim.name,
        "requestMappings": msgspec.to_builtins(one.mappings),
    }
    return Write(
        verb="patch",
        kind=Pod,
        key=pod.key,
        subresource="status",
        body={
            "metadata": {"uid": pod.uid},
            "status": {"extendedResourceClaimStatus": status},
        },
        doing=f"update pod {pod.key} ExtendedResourceClaimStatus",
    )


def _no_mappings(pod: str, answers: tuple[KubeObject, ...]) -> WriteAnswer:  # noqa: ARG001
    return fail(no_mappings(pod))


def no_mappings(pod: str) -> str:
    """Why a pod cannot be bound for which a claim without requests was made.

    v1.36.4 makes one for a pod with claims of its own, where a device plugin provides all of its
    extended resources.
    """
    return f"nil or empty request mappings, no update of pod {pod} ExtendedResourceClaimStatus"


def _latest(
    one: ClaimReservation,
    pod: Pod,
    time: str,
    write: "Callable[[ClaimReservation, Pod, str, KubeObject], WriteAnswer]",
    answers: tuple[KubeObject, ...],
) -> WriteAnswer:
    """A write to a claim as it was written last."""
    return write(one, pod, time, latest_claim(one.claim.key, answers) or one.claim)


def _problem(one: ClaimReservation, claim: ResourceClaim) -> Verdict | None:
    if claim.deleting:
        return fail(f"claim {claim.key} got deleted in the meantime")
    if one.allocation is not None and claim.status.allocation is not None:
        return fail(f"claim {claim.key} got allocated elsewhere in the meantime")
    if one.allocation is None and claim.status.allocation is None:
        return fail(f"claim {claim.key} got deallocated elsewhere in the meantime")
    return None


def _protect(one: ClaimReservation, pod: Pod, time: str, claim: KubeObject) -> WriteAnswer:
    """Add the finalizer, in a write of its own."""
    if not isinstance(claim, ResourceClaim):
        return None
    finalizers = claim.metadata.finalizers or []
    if FINALIZER in finalizers:
        return None
    return _problem(one, claim) or Write(
        verb="patch",
        kind=ResourceClaim,
        key=claim.key,
        body={
            "metadata": {
                "uid": claim.uid,
                "resourceVersion": claim.resource_version,
                "finalizers": [*finalizers, FINALIZER],
            }
        },
        doing=f"add finalizer to claim {claim.key}",
        on_conflict=functools.partial(_protect, one, pod, time),
    )


def _reserve(one: ClaimReservation, pod: Pod, time: str, claim: KubeObject) -> WriteAnswer:
    """Write the allocation, and that the claim is for the pod."""
    if not isinstance(claim, ResourceClaim):
        return None
    problem = _problem(one, claim)
    if problem is not None:
        return problem
    user = {"resource": "pods", "name": pod.name, "uid": pod.uid}
    status: dict[str, object] = {
        "reservedFor": [*msgspec.to_builtins(claim.status.reserved_for or []), user]
    }
    if one.allocation is not None:
        status["allocation"] = {
            **msgspec.to_builtins(one.allocation),
            "allocationTimestamp": time,
        }
    elif (known := claim.status.allocation) is not None and known.allocation_timestamp is None:
        status["allocation"] = {"allocationTimestamp": time}
    what = "allocation and reservation" if one.allocation is not None else "reservation"
    return Write(
        verb="patch",
        kind=ResourceClaim,
        key=claim.key,
        subresource="status",
        body={
            "metadata": {"uid": claim.uid, "resourceVersion": claim.resource_version},
            "status": status,
        },
        doing=f"add {what} to claim {claim.key}",
        on_conflict=functools.partial(_reserve, one, pod, time),
    )


def _are_ready(keys: tuple[str, ...], created: str, cluster: Cluster) -> bool | Verdict:
    """Whether the devices of all claims are ready; a verdict that says why they never will be."""
    for key in keys:
        claim = cluster.catalog.get(ResourceClaim, key)
        if claim is None:
            # What was created may not have arrived yet.
            return False if key == created else fail(not_found(key))
        if claim.status.allocation is None:
            return False
        ready = readiness(claim)
        if isinstance(ready, str):
            return fail(ready)
        if not ready:
            return False
    return True
