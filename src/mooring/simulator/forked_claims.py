"""The claims to devices of pods that come and go on a fork, as the controllers would leave them.

Called by `ForkedScheduler`: claims are made from templates for a new pod, and what was allocated is
written when it is bound. Claims that nobody who is left uses are released, as the event that other
pods wait for, and those made for a pod that is gone are deleted.
"""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from mooring.model.changed_copies import with_status
from mooring.model.devices.allocation import AllocationResult
from mooring.model.devices.resource_claim import (
    EXTENDED_RESOURCE_CLAIM,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceClaimTemplate,
)
from mooring.model.meta import ObjectMeta, OwnerReference
from mooring.model.pod import Pod, PodResourceClaimStatus
from mooring.state.cluster import Cluster

#: So many characters of a generated name are the pod's and what comes after it.
_GENERATED: Final = 58


def claims_from_templates(pod: Pod, cluster: Cluster) -> tuple[Pod, list[ResourceClaim]]:
    """The claims that a new pod needs, and the pod knowing their names.

    A template that is not there makes none: the pod then waits for it.
    """
    statuses = list(pod.status.resource_claim_statuses or ())
    known = {one.name for one in statuses}
    made = []
    for one in pod.spec.resource_claims or ():
        key = f"{pod.namespace}/{one.resource_claim_template_name}"
        template = cluster.catalog.get(ResourceClaimTemplate, key)
        if template is None or one.resource_claim_name is not None or one.name in known:
            continue
        claim = _made(pod, _free_name(f"{pod.name}-{one.name}", pod, cluster), template.spec.spec)
        made.append(claim)
        statuses.append(PodResourceClaimStatus(name=one.name, resource_claim_name=claim.name))
    return (with_status(pod, resource_claim_statuses=statuses) if made else pod), made


def claims_of_bound(pod: Pod, cluster: Cluster) -> Iterable[ResourceClaim]:
    """The claims of a pod that is bound, as they are written before: allocated, and used by it."""
    in_flight = cluster.assume_cache.in_flight
    names = {one.resource_claim_name for one in pod.spec.resource_claims or ()}
    names |= {one.resource_claim_name for one in pod.status.resource_claim_statuses or ()}
    claims = [one for one in _of_namespace(pod, cluster) if one.name in names]
    #: The name of the claim for extended resources, but for the end that makes it unique.
    start = f"{pod.key}-extended-resources-"[: len(pod.namespace) + 1 + _GENERATED]
    for kind, key in list(in_flight) if any("/" in name for name in pod.requests) else ():
        new = kind is ResourceClaim and cluster.catalog.get(ResourceClaim, key) is None
        if new and key.startswith(start):
            annotations = {EXTENDED_RESOURCE_CLAIM: "true"}
            claims.append(_made(pod, key.partition("/")[2], ResourceClaimSpec(), annotations))
    for claim in claims:
        allocation = in_flight.get((ResourceClaim, claim.key))
        status = claim.status
        if isinstance(allocation, AllocationResult):
            status = replace(status, allocation=allocation)
        users = status.reserved_for or []
        if all(one.uid != pod.uid for one in users):
            user = ResourceClaimConsumerReference(resource="pods", name=pod.name, uid=pod.uid)
            status = replace(status, reserved_for=[*users, user])
        yield replace(claim, status=status)


def claims_of_gone(pod: Pod, cluster: Cluster) -> Iterable[ResourceClaim]:
    """The claims that a pod that is gone used, without it; released if nobody else uses them."""
    for claim in _of_namespace(pod, cluster):
        users = claim.status.reserved_for or []
        left = [one for one in users if one.uid != pod.uid]
        if len(left) < len(users):
            status = replace(claim.status, reserved_for=left) if left else ResourceClaimStatus()
            yield replace(claim, status=status)


def claims_made_for(pod: Pod, cluster: Cluster) -> list[ResourceClaim]:
    """The claims that are deleted with a pod."""
    owned = ((one, one.controller) for one in _of_namespace(pod, cluster))
    return [one for one, owner in owned if owner is not None and owner.uid == pod.uid]


def _of_namespace(pod: Pod, cluster: Cluster) -> list[ResourceClaim]:
    if not pod.spec.resource_claims and not any("/" in name for name in pod.requests):
        return []  # as most pods: it has none
    claims = cluster.catalog.all(ResourceClaim).values()
    return [one for one in claims if one.namespace == pod.namespace]


def _made(
    pod: Pod, name: str, spec: ResourceClaimSpec, annotations: dict[str, str] | None = None
) -> ResourceClaim:
    owner = OwnerReference(kind="Pod", name=pod.name, uid=pod.uid, controller=True)
    metadata = ObjectMeta(
        name=name,
        namespace=pod.namespace,
        uid=f"uid--{pod.uid}--{name}",
        annotations=annotations or {},
        owner_references=[owner],
    )
    return ResourceClaim(metadata=metadata, spec=spec)


def _free_name(name: str, pod: Pod, cluster: Cluster) -> str:
    while cluster.catalog.get(ResourceClaim, f"{pod.namespace}/{name}") is not None:
        name += "-x"
    return name
