"""The kinds of Kubernetes objects that plugins can name.

For `reads`, requeue hints, plans and remedies: ``from mooring import kinds`` and then, for example,
``reads = (kinds.StorageClass,)``. Objects of other kinds, such as ConfigMaps, secrets and custom
resources, are neither watched nor written by the scheduler.
"""

from mooring.model.devices.device_class import DeviceClass
from mooring.model.devices.resource_claim import ResourceClaim, ResourceClaimTemplate
from mooring.model.devices.resource_slice import ResourceSlice
from mooring.model.meta import KubeObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from mooring.model.workloads import (
    Namespace,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)

__all__ = [
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "DeviceClass",
    "KubeObject",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "PriorityClass",
    "ReplicaSet",
    "ReplicationController",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceSlice",
    "Service",
    "StatefulSet",
    "StorageClass",
    "VolumeAttachment",
]
