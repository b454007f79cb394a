"""What sentences call a pod's claims, as the pod itself names them.

A claim that was made from a template has a generated name, which nobody knows.
"""

from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.pod import Pod, PodResourceClaim


def claim_entry(pod: Pod, claim: ResourceClaim) -> PodResourceClaim | None:
    """The entry of a pod's spec that a claim is for."""
    made = {one.resource_claim_name: one.name for one in pod.status.resource_claim_statuses or ()}
    for one in pod.spec.resource_claims or ():
        if claim.name == one.resource_claim_name:
            return one
        if one.resource_claim_template_name is not None and made.get(claim.name) == one.name:
            return one
    return None


def shown_claim(pod: Pod, claim: ResourceClaim, *, template: bool = False) -> str:
    """A claim in a sentence, such as ``the claim gpu (template big-gpu)``.

    Args:
        pod: the pod.
        claim: one of its claims.
        template: the template is told as well.
    """
    entry = claim_entry(pod, claim)
    if entry is not None and entry.resource_claim_template_name is not None:
        of = f" (template {entry.resource_claim_template_name})" if template else ""
        return f"the claim {entry.name}{of}"
    return f"the claim {claim.name}"


def shown_source(pod: Pod, claim: ResourceClaim) -> str:
    """What has to be changed for a claim to be another one: the template, or the claim itself."""
    entry = claim_entry(pod, claim)
    if entry is not None and entry.resource_claim_template_name is not None:
        return f"the claim template {entry.resource_claim_template_name}"
    return f"the claim {claim.name}"


def of_request(claim: ResourceClaim, request: str, shown: str) -> str:
    """A request of a claim, if the claim has several: ``request a of the claim gpu``."""
    several = len(claim.spec.devices.requests or ()) > 1
    return f"request {request} of {shown}" if several else shown
