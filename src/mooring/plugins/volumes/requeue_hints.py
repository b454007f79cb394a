"""Which changes of storage objects help a pod that a volume plugin rejected.

Called by the `requeue_on` parts of the volume plugins. It compares one change with the pod's
volumes; whether the pod can have them then is found out when it is tried again.
"""

from mooring.model.pod import Pod
from mooring.model.storage import (
    MIGRATED_PLUGINS,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    StorageClass,
)
from mooring.plugins.volumes.pod_claims import uses_claims

# parity v1.36.4: plugins/volumebinding/volume_binding.go, plugins/nodevolumelimits/csi.go


def names_claim(pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> bool:  # noqa: ARG001
    """Whether the claim is one that the pod names."""
    return new.namespace == pod.namespace and any(
        one.persistent_volume_claim is not None
        and one.persistent_volume_claim.claim_name == new.name
        for one in pod.spec.volumes or ()
    )


def uses_claim(pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> bool:  # noqa: ARG001
    """Whether the claim is one that the pod names, or one that is made for it."""
    return new.namespace == pod.namespace and any(
        one.claim_for(pod.name) == new.name for one in pod.spec.volumes or ()
    )


def allows_other_topologies(pod: Pod, old: StorageClass | None, new: StorageClass) -> bool:  # noqa: ARG001
    """Whether a storage class is new, or volumes of it can be made elsewhere than before."""
    return old is None or (old.allowed_topologies or []) != (new.allowed_topologies or [])


def migrates_other_plugins(pod: Pod, old: CSINode | None, new: CSINode) -> bool:  # noqa: ARG001
    """Whether a node has reported its CSI drivers, or has given them other in-tree volumes."""
    return old is None or old.annotations.get(MIGRATED_PLUGINS, "") != new.annotations.get(
        MIGRATED_PLUGINS, ""
    )


def has_more_capacity(
    pod: Pod,  # noqa: ARG001
    old: CSIStorageCapacity | None,
    new: CSIStorageCapacity,
) -> bool:
    """Whether larger volumes can be made than before."""
    if old is None:
        return True
    return new.limit is not None and (old.limit is None or new.limit > old.limit)


def stops_checking_capacity(pod: Pod, old: CSIDriver, new: CSIDriver) -> bool:
    """Whether the capacity of a driver's storage does not matter any more to this pod."""
    if not old.spec.storage_capacity or new.spec.storage_capacity:
        return False
    # v1.36.4 looks at volumes that a driver makes for the pod only; capacity matters to claims.
    return uses_claims(pod) or any(
        one.csi is not None and one.csi.driver == new.name for one in pod.spec.volumes or ()
    )


def has_higher_limit(pod: Pod, old: CSINode, new: CSINode) -> bool:  # noqa: ARG001
    """Whether a node can have more volumes of a driver than before."""
    before = old.limits
    return any(limit > before.get(driver, 0) for driver, limit in new.limits.items())
