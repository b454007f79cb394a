"""What controllers and the kubelet read of a ResourceClaim: whose it is, and who may use it."""

from typing import Any, Final

from mooring.embedded.controllers.owner_references import controller_of
from mooring.embedded.controllers.pod_index import PodSummary
from mooring.embedded.resources import Obj

#: Keeps a claim from being deleted while it has devices.
FINALIZER: Final = "resource.kubernetes.io/delete-protection"
#: By which name its pod knows a claim that was created for it.
POD_CLAIM_NAME: Final = "resource.kubernetes.io/pod-claim-name"


def owning_pod(claim: Obj) -> tuple[str, str]:
    """Name and id of the pod for which a claim was created; empty if for none."""
    owner = controller_of(claim)
    if owner is None or owner.get("apiVersion") != "v1" or owner.get("kind") != "Pod":
        return "", ""
    return owner.get("name", ""), owner.get("uid", "")


def is_allocated(claim: Obj) -> bool:
    """Whether devices are allocated to a claim."""
    return (claim.get("status") or {}).get("allocation") is not None


def reserved_for(claim: Obj) -> list[dict[str, Any]]:
    """For whom a claim is reserved."""
    return (claim.get("status") or {}).get("reservedFor") or []


def is_reserved_for(claim: Obj, pod: PodSummary) -> bool:
    """Whether a pod may use a claim."""
    return any(one.get("uid") == pod.uid for one in reserved_for(claim))
