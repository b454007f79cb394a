"""The kinds of objects scheduling reads, and what they are called.

Owns the table of kinds. Called by whoever deals with objects of several kinds: readers of files,
snapshots, informers. It reads nothing itself.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

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

CORE: Final = ""
APPS: Final = "apps"
POLICY: Final = "policy"
RESOURCE: Final = "resource.k8s.io"
SCHEDULING: Final = "scheduling.k8s.io"
STORAGE: Final = "storage.k8s.io"


class Kind(msgspec.Struct, frozen=True):
    """A kind of object.

    Attributes:
        type: the class; its ``kind_name`` is the kind's name in Kubernetes.
        group: the API group; empty for the core group.
        resource: the plural in the API server's paths, such as ``pods``.
        list_name: the name of a list of such objects in a cluster description.
        optional: not every cluster has it and not every role may read it; then there are none.
    """

    type: type[KubeObject]
    group: str
    resource: str
    list_name: str
    optional: bool = False

    @property
    def name(self) -> str:
        """The kind's name in Kubernetes, such as ``Pod``."""
        return self.type.kind_name


#: All kinds, those that others refer to before those that refer to them.
KINDS: Final = (
    Kind(PriorityClass, SCHEDULING, "priorityclasses", "priorityClasses"),
    Kind(Namespace, CORE, "namespaces", "namespaces"),
    Kind(Node, CORE, "nodes", "nodes"),
    Kind(StorageClass, STORAGE, "storageclasses", "storageClasses"),
    Kind(CSINode, STORAGE, "csinodes", "csiNodes"),
    Kind(CSIDriver, STORAGE, "csidrivers", "csiDrivers"),
    Kind(CSIStorageCapacity, STORAGE, "csistoragecapacities", "csiStorageCapacities"),
    Kind(PersistentVolume, CORE, "persistentvolumes", "pvs"),
    Kind(PersistentVolumeClaim, CORE, "persistentvolumeclaims", "pvcs"),
    Kind(VolumeAttachment, STORAGE, "volumeattachments", "volumeAttachments"),
    Kind(DeviceClass, RESOURCE, "deviceclasses", "deviceClasses", optional=True),
    Kind(ResourceSlice, RESOURCE, "resourceslices", "resourceSlices", optional=True),
    Kind(
        ResourceClaimTemplate,
        RESOURCE,
        "resourceclaimtemplates",
        "resourceClaimTemplates",
        optional=True,
    ),
    Kind(ResourceClaim, RESOURCE, "resourceclaims", "resourceClaims", optional=True),
    Kind(Service, CORE, "services", "services"),
    Kind(ReplicaSet, APPS, "replicasets", "replicaSets"),
    Kind(StatefulSet, APPS, "statefulsets", "statefulSets"),
    Kind(ReplicationController, CORE, "replicationcontrollers", "replicationControllers"),
    Kind(PodDisruptionBudget, POLICY, "poddisruptionbudgets", "pdbs"),
    Kind(Pod, CORE, "pods", "pods"),
)
#: The kinds by their name in Kubernetes, such as ``PersistentVolumeClaim``.
BY_NAME: Final[Mapping[str, Kind]] = {kind.name: kind for kind in KINDS}
#: The kinds by the name of their list in a cluster description, such as ``pvcs``.
BY_LIST_NAME: Final[Mapping[str, Kind]] = {kind.list_name: kind for kind in KINDS}


def find_kind(name: str, api_version: str = "") -> Kind | None:
    """A kind by its name; None if scheduling reads no such objects.

    Args:
        name: the kind's name in Kubernetes, such as ``Pod``.
        api_version: group and version, such as ``apps/v1``. Any version of the right group will do;
            empty leaves it open.
    """
    kind = BY_NAME.get(name)
    if kind is None or (api_version and _group(api_version) != kind.group):
        return None
    return kind


def _group(api_version: str) -> str:
    group, slash, _ = api_version.rpartition("/")
    return group if slash else CORE
