"""What has to be written to give devices back: claims in the way, and what was for a pod not bound.

Owns the plans for a pod that fits nowhere, and what the plan of `claim_plans` undoes. Nothing here
talks to anybody.
"""

# parity v1.36.4: plugins/dynamicresources/dynamicresources.go PostFilter, Unreserve,
# extendeddynamicresources.go deleteClaim, unreserveExtendedResourceClaim

import functools
from collections.abc import Sequence
from typing import Final

from mooring.framework.plans.plan import Plan, Step, Write, WriteAnswer
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.meta import KubeObject
from mooring.model.pod import Pod
from mooring.plugins.devices.pod_claims import is_reserved_for

#: Keeps an allocated claim from being deleted before its devices are released.
FINALIZER: Final = "resource.kubernetes.io/delete-protection"


def deallocation_plan(claim: ResourceClaim) -> Plan:
    """What has to be done to give back the devices of a claim that nobody uses."""
    return Plan(doing="deallocating claims", writes=(_deallocate(claim, claim),))


def deletion_plan(claim: ResourceClaim) -> Plan:
    """What has to be done to remove a claim that was made for extended resources."""
    return Plan(doing="deleting claims", writes=(_unprotect(claim, claim), _delete(claim)))


def undo_steps(
    pod: Pod, claims: Sequence[ResourceClaim], created: ResourceClaim | None
) -> tuple[Step, ...]:
    """What takes the reservations of a pod back.

    Args:
        pod: the pod.
        claims: its own claims, as they were when its node was chosen.
        created: the claim that is created for its extended resources.
    """
    steps: list[Step] = [functools.partial(_release, pod, claim) for claim in claims]
    if created is not None:
        steps.append(functools.partial(_unprotect_created, created.key))
        steps.append(functools.partial(_delete_created, created.key))
    return tuple(steps)


def latest_claim(key: str, answers: Sequence[KubeObject]) -> ResourceClaim | None:
    """A claim as it was written last; None if it was not."""
    for answer in reversed(answers):
        if isinstance(answer, ResourceClaim) and answer.key == key:
            return answer
    return None


def _deallocate(asked: ResourceClaim, claim: KubeObject) -> Write:
    return Write(
        verb="patch",
        kind=ResourceClaim,
        key=asked.key,
        subresource="status",
        body={
            "metadata": {"uid": asked.uid, "resourceVersion": claim.resource_version},
            "status": {"allocation": None, "reservedFor": None, "devices": None},
        },
        doing=f"deallocate claim {asked.key}",
    )


def _unprotect(asked: ResourceClaim, claim: KubeObject) -> Write:
    finalizers = [one for one in claim.metadata.finalizers or () if one != FINALIZER]
    return Write(
        verb="patch",
        kind=ResourceClaim,
        key=asked.key,
        body={
            "metadata": {
                "uid": asked.uid,
                "resourceVersion": claim.resource_version,
                "finalizers": finalizers or None,
            }
        },
        doing=f"update claim {asked.key}",
        on_conflict=functools.partial(_unprotect, asked),
    )


def _delete(claim: ResourceClaim) -> Write:
    return Write(
        verb="delete",
        kind=ResourceClaim,
        key=claim.key,
        body={"preconditions": {"uid": claim.uid}},
        doing=f"delete claim {claim.key}",
    )


def _release(pod: Pod, claim: ResourceClaim, answers: tuple[KubeObject, ...]) -> WriteAnswer:
    """The pod no longer uses a claim; the devices stay allocated to it."""
    latest = latest_claim(claim.key, answers) or claim
    if latest.status.allocation is None or not is_reserved_for(latest, pod):
        return None
    return Write(
        verb="patch",
        kind=ResourceClaim,
        key=claim.key,
        subresource="status",
        # Other users come and go meanwhile, so only this entry is touched.
        patch_type="strategic",
        body={
            "metadata": {"uid": claim.uid},
            "status": {"reservedFor": [{"$patch": "delete", "uid": pod.uid}]},
        },
        doing=f"unreserve claim {claim.key}",
    )


def _unprotect_created(key: str, answers: tuple[KubeObject, ...]) -> WriteAnswer:
    claim = latest_claim(key, answers)
    if claim is None or FINALIZER not in (claim.metadata.finalizers or ()):
        return None
    return _unprotect(claim, claim)


def _delete_created(key: str, answers: tuple[KubeObject, ...]) -> WriteAnswer:
    claim = latest_claim(key, answers)
    return _delete(claim) if claim is not None else None
