"""The volumes of a pod, with the sources that decide where the pod may go.

Owns `Volume` and its sources. `Pod` holds them; the volume plugins, image locality and shapes read
them. Sources that never matter to scheduling (config maps, secrets, empty directories, NFS and so
on) are not modelled: such a volume has a name and nothing else.
"""

from typing import Final

import msgspec

from mooring.model.meta import Part

#: Where Ceph images are looked for if a volume does not say.
RBD_POOL: Final = "rbd"


class ClaimVolume(Part, frozen=True, rename="camel"):
    """A claim in the pod's namespace, by name."""

    claim_name: str = ""
    read_only: bool = False


class EphemeralVolume(Part, frozen=True, rename="camel"):
    """A claim that is made for the pod and named after it; see `Volume.claim_for`."""


class GcePersistentDisk(Part, frozen=True, rename="camel"):
    """A disk of Google Compute Engine."""

    pd_name: str = ""
    partition: int = 0
    read_only: bool = False


class AwsElasticBlockStore(Part, frozen=True, rename="camel"):
    """A disk of Amazon Web Services."""

    volume_id: str = msgspec.field(default="", name="volumeID")
    read_only: bool = False


class Rbd(Part, frozen=True, rename="camel"):
    """A Ceph image; monitors may list only some of the cluster's."""

    monitors: list[str] | None = None
    image: str = ""
    pool: str = ""
    read_only: bool = False


class Iscsi(Part, frozen=True, rename="camel"):
    """An iSCSI disk."""

    iqn: str = ""
    read_only: bool = False


class AzureDisk(Part, frozen=True, rename="camel"):
    """A disk of Azure; ``kind`` is Shared, Dedicated or Managed."""

    disk_uri: str = msgspec.field(default="", name="diskURI")
    kind: str | None = None


class AzureFile(Part, frozen=True, rename="camel"):
    """A file share of Azure."""

    share_name: str = ""
    secret_name: str = ""


class Cinder(Part, frozen=True, rename="camel"):
    """A disk of OpenStack."""

    volume_id: str = msgspec.field(default="", name="volumeID")


class PortworxVolume(Part, frozen=True, rename="camel"):
    """A Portworx volume."""

    volume_id: str = msgspec.field(default="", name="volumeID")


class VsphereVolume(Part, frozen=True, rename="camel"):
    """A disk of vSphere."""

    volume_path: str = ""


class InlineCsi(Part, frozen=True, rename="camel"):
    """A volume that a CSI driver makes for the pod; it takes up no attachment."""

    driver: str = ""


class ImageVolume(Part, frozen=True, rename="camel"):
    """A container image mounted as a volume."""

    reference: str = ""


class Volume(Part, frozen=True, rename="camel"):
    """A volume of a pod; at most one source is set."""

    name: str = ""
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: EphemeralVolume | None = None
    gce_persistent_disk: GcePersistentDisk | None = None
    aws_elastic_block_store: AwsElasticBlockStore | None = None
    rbd: Rbd | None = None
    iscsi: Iscsi | None = None
    azure_disk: AzureDisk | None = None
    azure_file: AzureFile | None = None
    cinder: Cinder | None = None
    portworx_volume: PortworxVolume | None = None
    vsphere_volume: VsphereVolume | None = None
    csi: InlineCsi | None = None
    image: ImageVolume | None = None

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


def default_azure_disk(disk: AzureDisk) -> AzureDisk:
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
