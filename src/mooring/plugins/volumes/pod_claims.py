"""The claims of a pod, sorted by what is to be done about them.

Called by VolumeBinding before it looks at nodes. It finds every reason for which a pod cannot be
placed whatever the node, and looks at no node itself.
"""

import msgspec

from mooring.framework.verdict import Verdict, fail, reject
from mooring.model.pod import Pod
from mooring.model.storage import LOST, PersistentVolumeClaim, StorageClass
from mooring.model.volumes import Volume
from mooring.state.assume_cache import AssumeCache
from mooring.state.catalog import Catalog


class PodClaims(msgspec.Struct, frozen=True):
    """The claims of one pod.

    Attributes:
        bound: the claims that have their volumes.
        waiting: the claims that get their volumes with the pod's node.
    """

    bound: tuple[PersistentVolumeClaim, ...]
    waiting: tuple[PersistentVolumeClaim, ...]


def uses_claims(pod: Pod) -> bool:
    """Whether a pod has any claim, of its own or by name."""
    return any(
        one.persistent_volume_claim is not None or one.ephemeral is not None
        for one in pod.spec.volumes or ()
    )


def not_owned(pod: Pod, claim: PersistentVolumeClaim) -> str:
    """The sentence for a claim that should have been made for the pod, but was not."""
    return f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"


def claims_of(pod: Pod, catalog: Catalog, assumed: AssumeCache) -> PodClaims | Verdict:
    """The claims of a pod, or why it cannot be placed at all."""
    # parity v1.36.4: volumebinding/volume_binding.go PreFilter, binder.go GetPodVolumeClaims
    used = [one for one in pod.spec.volumes or () if one.claim_for(pod.name) is not None]
    for volume in used:
        rejection = _unusable(pod, volume, catalog)
        if rejection is not None:
            return rejection
    bound: list[PersistentVolumeClaim] = []
    waiting: list[PersistentVolumeClaim] = []
    at_once = False
    for volume in used:
        key = f"{pod.namespace}/{volume.claim_for(pod.name)}"
        claim = assumed.get(PersistentVolumeClaim, key)
        if claim is None:
            return fail(f'error getting PVC "{key}": persistentvolumeclaims "{key}" not found')
        if claim.bound:
            bound.append(claim)
            continue
        storage_class = catalog.get(StorageClass, claim.class_name) if claim.class_name else None
        if storage_class is not None and storage_class.volume_binding_mode is None:
            return fail(f'VolumeBindingMode not set for StorageClass "{claim.class_name}"')
        if (
            storage_class is not None
            and storage_class.waits_for_first_consumer
            and not claim.spec.volume_name
        ):
            waiting.append(claim)
        else:
            at_once = True
    if at_once:
        return reject("pod has unbound immediate PersistentVolumeClaims", unresolvable=True)
    return PodClaims(tuple(bound), tuple(waiting))


def _unusable(pod: Pod, volume: Volume, catalog: Catalog) -> Verdict | None:
    name = volume.claim_for(pod.name) or ""
    claim = catalog.get(PersistentVolumeClaim, f"{pod.namespace}/{name}")
    if claim is None and volume.ephemeral is not None:
        reason = (
            f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        )
    elif claim is None:
        reason = f'persistentvolumeclaim "{name}" not found'
    elif claim.status.phase == LOST:
        reason = (
            f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume '
            f'"{claim.spec.volume_name}"'
        )
    elif claim.deleting:
        reason = f'persistentvolumeclaim "{name}" is being deleted'
    elif volume.ephemeral is not None and not claim.is_for(pod.namespace, pod.uid):
        reason = not_owned(pod, claim)
    else:
        return None
    return reject(reason, unresolvable=True)
