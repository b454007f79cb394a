"""Whether the devices that a pod asked for are there: a kubelet prepares them before containers.

`kubelet` calls it for pods that use ResourceClaims, whether by name, from a template, or because a
scheduler made one for their extended resources.
"""

from mooring.embedded.controllers.pod_index import PodSummary
from mooring.embedded.controllers.resource_claims.claims import (
    is_allocated,
    is_reserved_for,
    owning_pod,
)
from mooring.embedded.resources import RESOURCE_CLAIMS
from mooring.embedded.store import Store


def find_unprepared(store: Store, pod: PodSummary) -> str | None:
    """Why a pod cannot have its devices yet; None if it can."""
    # parity v1.36.4: pkg/kubelet/cm/dra/manager.go prepareResources
    namespace, name = pod.key
    used = [(one.claim, bool(one.template)) for one in pod.claims]
    if pod.extended_claim:
        used.append((pod.extended_claim, False))
    for claim_name, generated in used:
        if claim_name is None:
            continue
        if not claim_name:
            return f'pod "{namespace}/{name}": ResourceClaim not created yet'
        item = store.get(RESOURCE_CLAIMS, namespace, claim_name)
        if item is None:
            missing = f'{RESOURCE_CLAIMS.full_name} "{claim_name}" not found'
            return f"fetch ResourceClaim {claim_name}: {missing}"
        claim = item.obj
        if generated and owning_pod(claim)[1] != pod.uid:
            whose = f"ResourceClaim {namespace}/{claim_name} was not created for"
            return f"{whose} Pod {namespace}/{name} (Pod is not owner)"
        if not is_reserved_for(claim, pod):
            who = f"pod {name} ({pod.uid})"
            return f"{who} is not allowed to use ResourceClaim {claim_name} ({item.uid})"
        if not is_allocated(claim):
            return f"ResourceClaim {claim_name}: not allocated"
    return None
