"""The volumes of a pod, with the sources that decide where the pod may go.

Owns `Volume` and its sources. `Pod` holds them; the volume plugins, image locality and shapes read
them. Sources that never matter to scheduling (config maps, secrets, empty directories, NFS and so
on) are not modelled: such a volume has a name and nothing else.
"""

from typing import Final

import msgspec

from mooring.model.meta import KubeStruct

#: Where Ceph images are looked for if a volume does not say.
RBD_POOL: Final = "rbd"


class PersistentVolumeClaimVolumeSource(KubeStruct, frozen=True, rename="camel"):
    """A claim in the pod's namespace, by name."""

    claim_name: str = ""
    read_only: bool = False


class EphemeralVolumeSource(KubeStruct, frozen=True, rename="camel"):
    """A claim that is made for the pod and named after it; see `Volume.claim_for`."""


class GCEPersistentDiskVolumeSource(KubeStruct, frozen=True, rename="camel"):
    """A disk of Google Compute Engine."""

    pd_name: str = ""
    partition: int = 0
    read_only: bool = False


class AWSElasticBlockStoreVolumeSource(KubeStruct, frozen=True, rename="camel"):
    """A disk of Amazon Web Services."""

    volume_id: str = msgspec.field(default="", name="volumeID")
    read_only: bool = False


class RBDVolumeSource(KubeStruct, frozen=True, rename="camel"):
    """A Ceph image; monitors may list only some of the cluster's."""

    monitors: list[str] | None = None
    image: str = ""
    pool: str = ""
    read_only: bool = False


class ISCSIVolumeSource(KubeStruct, frozen=True, rename="camel"):
    """An iSCSI disk."""

    iqn: str = ""
    read_only: bool = False


class AzureDiskVolumeSource(KubeStruct, frozen=True, rename="camel"):
    """A disk of Azure; ``kind`` is Shared, Dedicated or Managed."""

    disk_uri: str = msgspec.field(default="", name="diskURI")
    kind: str | None = None


class AzureFileVolumeSource(KubeStruct, frozen=True, rename="camel"):
    """A file share of Azure."""

    share_name: str = ""
    secret_name: str = ""


class CinderVolumeSource(KubeStruct, frozen=True, rename="camel"):
    """A disk of OpenStack."""

    volume_id: str = msgspec.field(default="", name="volumeID")


class PortworxVolumeSource(KubeStruct, frozen=True, rename="camel"):
    """A Portworx volume."""

    volume_id: str = msgspec.field(default="", name="volumeID")


class VsphereVirtualDiskVolumeSource(KubeStruct, frozen=True, rename="camel"):
    """A disk of vSphere."""

    volume_path: str = ""


class CSIVolumeSource(KubeStruct, frozen=True, rename="camel"):
    """A volume that a CSI driver makes for the pod; it takes up no attachment."""

    driver: str = ""


class ImageVolumeSource(KubeStruct, frozen=True, rename="camel"):
    """A container image mounted as a volume."""

    reference: str = ""


class Volume(KubeStruct, frozen=True, rename="camel"):
    """A volume of a pod; at most one source is set."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    image: ImageVolumeSource | None = None

    @property
    def counts(self) -> bool:
        """Whether the volume can decide where its pod may go."""
        return any(getattr(self, source) is not None for source in _COUNTING)

    def claim_for(self, pod_name: str) -> str | None:
        """The name of the claim behind this volume of the pod; None if there is no claim."""
        if self.persistent_volume_claim is not None:
            return self.persistent_volume_claim.claim_name
        # parity v1.36.4: component-helpers/storage/ephemeral/ephemeral.go VolumeClaimName
        return f"{pod_name}-{self.name}" if self.ephemeral is not None else None


_COUNTING: Final = tuple(
    field.name for field in msgspec.structs.fields(Volume) if field.name not in ("name", "csi")
)


def default_azure_disk(disk: AzureDiskVolumeSource) -> AzureDiskVolumeSource:
    """The disk with the API server's defaults; the same object if nothing was missing."""
    return msgspec.structs.replace(disk, kind="Shared") if disk.kind is None else disk


def default_volume(volume: Volume) -> Volume:
    """The volume with the API server's defaults; the same object if nothing was missing."""
    if volume.rbd is not None and not volume.rbd.pool:
        return msgspec.structs.replace(
            volume, rbd=msgspec.structs.replace(volume.rbd, pool=RBD_POOL)
        )
    if volume.azure_disk is not None and volume.azure_disk.kind is None:
        return msgspec.structs.replace(volume, azure_disk=default_azure_disk(volume.azure_disk))
    return volume
