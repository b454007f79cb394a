"""The claims of a pod: which they are, and whether they can be used.

Called by DynamicResources before anything else: a pod whose claims are not there yet waits for
them.
"""

# parity v1.36.4: plugins/dynamicresources/dynamicresources.go foreachPodResourceClaim,
# dynamic-resource-allocation/resourceclaim/resourceclaim.go

from mooring.framework.verdict import Verdict, fail, reject
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.pod import Pod, PodResourceClaim
from mooring.plugins.devices.requests import FindClass
from mooring.state.catalog import Catalog


def claims_of(pod: Pod, catalog: Catalog) -> list[ResourceClaim] | Verdict:
    """The claims that a pod names, in order; a rejection if one cannot be used."""
    found = []
    for one in pod.spec.resource_claims or ():
        name = _name(pod, one)
        if name is None:
            continue
        if isinstance(name, Verdict):
            return name
        claim = catalog.get(ResourceClaim, f"{pod.namespace}/{name}")
        if claim is None:
            return _no(not_found(f"{pod.namespace}/{name}"))
        if claim.deleting:
            return _no(f'resourceclaim "{name}" is being deleted')
        if one.resource_claim_name is None and not _is_controlled_by(claim, pod):
            return _no(
                f"ResourceClaim {claim.key} was not created for Pod {pod.key} (Pod is not owner)"
            )
        found.append(claim)
    return found


def names_claim(pod: Pod, claim: ResourceClaim) -> bool:
    """Whether a pod names a claim, or was told its name."""
    if pod.namespace != claim.namespace:
        return False
    name = claim.name
    return any(one.resource_claim_name == name for one in pod.spec.resource_claims or ()) or any(
        one.resource_claim_name == name for one in pod.status.resource_claim_statuses or ()
    )


def check_classes(claim: ResourceClaim, find_class: FindClass) -> Verdict | None:
    """A rejection if a request of a claim names a class that does not exist."""
    for request in claim.spec.devices.requests or ():
        if request.exactly is not None:
            names = [(request.name, request.exactly.device_class_name)]
        else:
            names = [
                (f"{request.name}/{one.name}", one.device_class_name)
                for one in request.first_available or ()
            ]
        if not names:
            return _no(f"resource claim {claim.key}, request {request.name}: unknown request type")
        for name, device_class in names:
            if not device_class:
                return fail(f"request {name}: unsupported request type")
            if find_class(device_class) is None:
                return _no(f"request {name}: device class {device_class} does not exist")
    return None


def not_found(key: str) -> str:
    """What is said of a claim that does not exist."""
    return f'could not find ResourceClaim "{key}"'


def is_reserved_for(claim: ResourceClaim, pod: Pod) -> bool:
    """Whether a pod may use a claim already."""
    return any(one.uid == pod.uid for one in claim.status.reserved_for or ())


def _name(pod: Pod, one: PodResourceClaim) -> str | Verdict | None:
    """The name of the claim; None if the pod needs none there."""
    if one.resource_claim_name is not None:
        return one.resource_claim_name
    if one.resource_claim_template_name is None:
        return _no(f'pod "{pod.key}", spec.resourceClaim "{one.name}": unsupported API')
    for status in pod.status.resource_claim_statuses or ():
        if status.name == one.name:
            return status.resource_claim_name
    return _no(f'pod "{pod.key}": ResourceClaim not created yet')


def _is_controlled_by(claim: ResourceClaim, pod: Pod) -> bool:
    owner = claim.controller
    return owner is not None and owner.uid == pod.uid


def _no(reason: str) -> Verdict:
    return reject(reason, unresolvable=True)
