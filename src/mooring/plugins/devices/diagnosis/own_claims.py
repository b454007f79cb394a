"""A claim of its own for a pod: made from a template, or like one that it shares.

What the resource claim controller would create. And a pod without one of its claims.
"""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from mooring.framework.remedies.remedy import Cost, Remedy
from mooring.model import changed_copies
from mooring.model.devices.resource_claim import (
    ResourceClaim,
    ResourceClaimSpec,
    default_claim_spec,
)
from mooring.model.meta import ObjectMeta, OwnerReference
from mooring.model.pod import Pod, PodResourceClaimStatus
from mooring.plugins.devices.diagnosis.claim_names import claim_entry

#: What to consider before a claim, or a part of it, is given up.
WITHOUT_DEVICES: Final = "the pod then runs without its devices"
#: So many claims of a pod are proposed to be removed.
_MOST: Final = 4


def created_claim(pod: Pod, name: str, spec: ResourceClaimSpec, *, owned: bool) -> ResourceClaim:
    """A new claim in the namespace of a pod, which owns it or not."""
    owner = OwnerReference(kind="Pod", name=pod.name, uid=pod.uid, controller=True)
    metadata = ObjectMeta(
        name=name,
        namespace=pod.namespace,
        uid=f"uid-{pod.namespace}-{name}",
        owner_references=[owner] if owned else None,
    )
    return ResourceClaim(metadata=metadata, spec=default_claim_spec(spec))


def knowing_claim(pod: Pod, entry: str, claim: str) -> Pod:
    """A pod whose status says which claim was created for an entry of its spec."""
    others = [one for one in pod.status.resource_claim_statuses or () if one.name != entry]
    statuses = [*others, PodResourceClaimStatus(name=entry, resource_claim_name=claim)]
    return changed_copies.with_status(pod, resource_claim_statuses=statuses)


def own_claim_remedy(pod: Pod, shared: ResourceClaim) -> Remedy:
    """A claim of its own instead of one that others use."""
    name = f"{pod.name}-{shared.name}"
    entry = claim_entry(pod, shared)
    claims = [
        replace(one, resource_claim_name=name) if one is entry else one
        for one in pod.spec.resource_claims or ()
    ]
    return Remedy(
        f"use a claim of its own instead of {shared.name}, which other pods use elsewhere",
        Cost.GIVE_UP_CONDITION,
        frozenset({f"own {shared.key}"}),
        pod=changed_copies.with_spec(pod, resource_claims=claims),
        created=(created_claim(pod, name, shared.spec, owned=False),),
    )


def without_claims(pod: Pod, only: ResourceClaim | None = None) -> Iterator[Remedy]:
    """Without one of a pod's claims.

    Args:
        pod: the pod.
        only: the claim that it is to do without; None for any of them.
    """
    entries = pod.spec.resource_claims or []
    if only is not None:
        entry = claim_entry(pod, only)
        entries = [entry] if entry is not None else []
    for entry in entries[:_MOST]:
        left = [one for one in pod.spec.resource_claims or () if one is not entry]
        yield Remedy(
            f"remove the claim {entry.resource_claim_name or entry.name}",
            Cost.GIVE_UP_VOLUME,
            frozenset({f"without {entry.name}"}),
            pod=changed_copies.with_spec(pod, resource_claims=left or None),
            caution=WITHOUT_DEVICES,
        )
