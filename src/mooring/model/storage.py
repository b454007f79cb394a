"""Claims, persistent volumes, storage classes and what CSI drivers report.

Owns these kinds and the API server's defaults for them. The state keeps them by kind and key; the
volume plugins read them. Only the fields that scheduling reads are modelled; among the sources of a
persistent volume, CSI and the in-tree ones that CSI drivers have taken over.
"""

import functools
from typing import ClassVar, Final, TypeVar, cast

import msgspec

from mooring.model.meta import KubeObject, KubeStruct
from mooring.model.quantity import Quantity, parse_quantity
from mooring.model.resources import ResourceList, ResourceRequirements
from mooring.model.selectors import LabelSelector, NodeSelector
from mooring.model.volumes import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CinderVolumeSource,
    GCEPersistentDiskVolumeSource,
    PortworxVolumeSource,
    VsphereVirtualDiskVolumeSource,
    default_azure_disk,
)

#: The resource that claims ask for and volumes have.
STORAGE: Final = "storage"
FILESYSTEM: Final = "Filesystem"
IMMEDIATE: Final = "Immediate"
WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"
READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"
#: Phases of claims and volumes.
PENDING: Final = "Pending"
AVAILABLE: Final = "Available"
LOST: Final = "Lost"
#: A provisioner's name that says: nothing is provisioned, volumes are made by hand.
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"

#: On a claim: the node for which its volume is to be made.
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
#: On a claim: the binding to its volume is complete.
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
#: On a volume or claim: the binding was not made by the user.
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
#: On a CSINode: the in-tree plugins whose volumes CSI drivers handle on that node.
MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
_CLASS: Final = "volume.beta.kubernetes.io/storage-class"


class PersistentVolumeClaimSpec(KubeStruct, frozen=True, rename="camel"):
    """What a claim asks for, and the volume it has."""

    access_modes: list[str] | None = None
    selector: LabelSelector | None = None
    resources: ResourceRequirements | None = None
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PhaseStatus(KubeStruct, frozen=True, rename="camel"):
    """The stage a claim or volume is in."""

    phase: str = ""


class PersistentVolumeClaim(KubeObject, frozen=True, rename="camel", dict=True):
    """A wish for a persistent volume."""

    kind_name: ClassVar[str] = "PersistentVolumeClaim"

    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PhaseStatus = PhaseStatus()

    @property
    def class_name(self) -> str:
        """The name of the storage class; empty if there is none."""
        # parity v1.36.4: component-helpers/storage/volume/helpers.go: the old annotation first
        found = self.annotations.get(_CLASS)
        return (self.spec.storage_class_name or "") if found is None else found

    @functools.cached_property
    def request(self) -> Quantity | None:
        """The size asked for; None if no size is given.

        Raises:
            QuantityError: the size is no quantity.
        """
        asked = (self.spec.resources.requests if self.spec.resources else None) or {}
        size = asked.get(STORAGE)
        return None if size is None else parse_quantity(size)

    @property
    def bound(self) -> bool:
        """Whether the claim has its volume for good."""
        return bool(self.spec.volume_name) and BIND_COMPLETED in self.annotations

    def is_for(self, namespace: str, uid: str) -> bool:
        """Whether this is the claim that was made for the pod with this namespace and unique id."""
        # parity v1.36.4: component-helpers/storage/ephemeral/ephemeral.go VolumeIsForPod
        owner = self.controller
        return self.namespace == namespace and owner is not None and owner.uid == uid


class ObjectReference(KubeStruct, frozen=True, rename="camel"):
    """The claim a volume is meant for."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class CSIPersistentVolumeSource(KubeStruct, frozen=True, rename="camel"):
    """A volume of a CSI driver."""

    driver: str = ""
    volume_handle: str = ""


class VolumeNodeAffinity(KubeStruct, frozen=True, rename="camel"):
    """From which nodes a volume can be reached."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(KubeStruct, frozen=True, rename="camel"):
    """What a persistent volume is."""

    capacity: ResourceList | None = None
    access_modes: list[str] | None = None
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSIPersistentVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None


class PersistentVolume(KubeObject, frozen=True, rename="camel", dict=True):
    """A piece of storage in the cluster."""

    kind_name: ClassVar[str] = "PersistentVolume"
    namespaced: ClassVar[bool] = False

    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PhaseStatus = PhaseStatus()

    @property
    def class_name(self) -> str:
        """The name of the storage class; empty if there is none."""
        found = self.annotations.get(_CLASS)
        return self.spec.storage_class_name if found is None else found

    @functools.cached_property
    def capacity(self) -> Quantity:
        """The size; 0 if it is not given.

        Raises:
            QuantityError: the size is no quantity.
        """
        return parse_quantity((self.spec.capacity or {}).get(STORAGE, "0"))

    @property
    def node_selector(self) -> NodeSelector | None:
        """The nodes from which the volume can be reached; None means all."""
        return self.spec.node_affinity.required if self.spec.node_affinity else None

    def is_meant_for(self, claim: PersistentVolumeClaim) -> bool:
        """Whether the volume is reserved for this claim or bound to it."""
        # parity v1.36.4: component-helpers/storage/volume/pv_helpers.go IsVolumeBoundToClaim
        reference = self.spec.claim_ref
        return (
            reference is not None
            and reference.name == claim.name
            and reference.namespace == claim.namespace
            and reference.uid in ("", claim.uid)
        )


class TopologySelectorLabelRequirement(KubeStruct, frozen=True, rename="camel"):
    """A node's label must have one of these values."""

    key: str = ""
    values: list[str] | None = None


class TopologySelectorTerm(KubeStruct, frozen=True, rename="camel"):
    """Conditions on a node's labels, all of which must hold."""

    match_label_expressions: list[TopologySelectorLabelRequirement] | None = None


class StorageClass(KubeObject, frozen=True, rename="camel", dict=True):
    """How volumes of a class come into being."""

    kind_name: ClassVar[str] = "StorageClass"
    namespaced: ClassVar[bool] = False

    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: list[TopologySelectorTerm] | None = None

    @property
    def waits_for_first_consumer(self) -> bool:
        """Whether volumes are bound only once a pod that uses them is scheduled."""
        return self.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


class VolumeNodeResources(KubeStruct, frozen=True, rename="camel"):
    """How many volumes of a driver a node can have."""

    count: int | None = None


class CSINodeDriver(KubeStruct, frozen=True, rename="camel"):
    """A CSI driver on a node."""

    name: str = ""
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(KubeStruct, frozen=True, rename="camel"):
    """The CSI drivers of a node."""

    drivers: list[CSINodeDriver] | None = None


class CSINode(KubeObject, frozen=True, rename="camel", dict=True):
    """The CSI drivers of the node of the same name."""

    kind_name: ClassVar[str] = "CSINode"
    namespaced: ClassVar[bool] = False

    spec: CSINodeSpec = CSINodeSpec()

    @functools.cached_property
    def limits(self) -> dict[str, int]:
        """How many volumes the node can have, by driver; no entry means no limit."""
        return {
            driver.name: driver.allocatable.count
            for driver in self.spec.drivers or ()
            if driver.allocatable is not None and driver.allocatable.count is not None
        }

    @functools.cached_property
    def migrated(self) -> frozenset[str]:
        """The in-tree plugins whose volumes CSI drivers handle on this node."""
        return frozenset(self.annotations.get(MIGRATED_PLUGINS, "").split(",")) - {""}


class CSIDriverSpec(KubeStruct, frozen=True, rename="camel"):
    """What a CSI driver can do."""

    storage_capacity: bool | None = None


class CSIDriver(KubeObject, frozen=True, rename="camel", dict=True):
    """A CSI driver of the cluster; its name is the driver's name."""

    kind_name: ClassVar[str] = "CSIDriver"
    namespaced: ClassVar[bool] = False

    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(KubeObject, frozen=True, rename="camel", dict=True):
    """How much storage of a class is left in a part of the cluster."""

    kind_name: ClassVar[str] = "CSIStorageCapacity"

    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: str | int | float | None = None
    maximum_volume_size: str | int | float | None = None

    @functools.cached_property
    def limit(self) -> int | None:
        """The size of the largest volume that can be made, in bytes; None if it is not known.

        Raises:
            QuantityError: the amount is no quantity.
        """
        # parity v1.36.4: volumebinding/binder.go volumeLimit
        size = self.capacity if self.maximum_volume_size is None else self.maximum_volume_size
        return None if size is None else parse_quantity(size).value


class VolumeAttachmentSource(KubeStruct, frozen=True, rename="camel"):
    """What is attached."""

    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(KubeStruct, frozen=True, rename="camel"):
    """What is attached where, and by whom."""

    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachment(KubeObject, frozen=True, rename="camel", dict=True):
    """A volume that is attached to a node, or is to be."""

    kind_name: ClassVar[str] = "VolumeAttachment"
    namespaced: ClassVar[bool] = False

    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()


T = TypeVar("T", bound=KubeObject)
_replace = msgspec.structs.replace


def default_storage(thing: T) -> T:
    """The object with the API server's defaults; the same object if nothing was missing.

    Objects of other kinds come back as they are.
    """
    # parity v1.36.4: pkg/apis/core/v1/defaults.go, pkg/apis/storage/v1/defaults.go
    made: KubeObject = thing
    if isinstance(thing, PersistentVolumeClaim):
        made = _default_claim(thing)
    elif isinstance(thing, PersistentVolume):
        made = _default_persistent_volume(thing)
    elif isinstance(thing, StorageClass) and thing.volume_binding_mode is None:
        made = _replace(thing, volume_binding_mode=IMMEDIATE)
    elif isinstance(thing, CSIDriver) and thing.spec.storage_capacity is None:
        made = _replace(thing, spec=_replace(thing.spec, storage_capacity=False))
    return cast("T", made)


def _default_claim(claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
    if claim.spec.volume_mode is None:
        claim = _replace(claim, spec=_replace(claim.spec, volume_mode=FILESYSTEM))
    if not claim.status.phase:
        claim = _replace(claim, status=PhaseStatus(phase=PENDING))
    return claim


def _default_persistent_volume(volume: PersistentVolume) -> PersistentVolume:
    if volume.spec.volume_mode is None:
        volume = _replace(volume, spec=_replace(volume.spec, volume_mode=FILESYSTEM))
    if not volume.status.phase:
        volume = _replace(volume, status=PhaseStatus(phase=PENDING))
    disk = volume.spec.azure_disk
    if disk is not None and disk.kind is None:
        volume = _replace(volume, spec=_replace(volume.spec, azure_disk=default_azure_disk(disk)))
    return volume
