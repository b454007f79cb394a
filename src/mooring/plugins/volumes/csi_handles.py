"""The volumes of pods as CSI drivers know them.

Owns the way from a pod's volume through claim, persistent volume or storage class to a driver and
its handle. Called by NodeVolumeLimits and `csi_attachments`; counts nothing itself.
"""

from collections import defaultdict
from typing import NamedTuple

import msgspec

from mooring.model.csi_migration import IN_TREE_PLUGINS
from mooring.model.pod import Pod
from mooring.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from mooring.model.volumes import Volume
from mooring.plugins.volumes.csi_translation import (
    in_tree_plugin,
    inline_handle,
    volume_handle,
)
from mooring.plugins.volumes.pod_claims import not_owned
from mooring.state.catalog import Catalog
from mooring.state.changes.change_tracking import CatalogChanges


class VolumeHandle(NamedTuple):
    """A volume as its CSI driver knows it."""

    driver: str
    handle: str


class UncountableVolumes(msgspec.Struct, frozen=True):
    """Why the volumes of a pod cannot be counted.

    Attributes:
        reason: what is wrong.
        missing: whether a claim does not exist, so that the pod has to wait for it.
    """

    reason: str
    missing: bool = False


def has_attachable_volumes(pod: Pod) -> bool:
    """Whether a pod has volumes that a CSI driver may attach."""
    # parity v1.36.4: plugins/nodevolumelimits/csi.go PreFilter
    return any(
        one.persistent_volume_claim is not None
        or one.ephemeral is not None
        or in_tree_plugin(one) is not None
        for one in pod.spec.volumes or ()
    )


class VolumeHandles:
    """The handles behind the claims of a cluster, remembered until something changes."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._claim_changes = CatalogChanges(catalog, PersistentVolumeClaim)
        self._volume_changes = CatalogChanges(catalog, PersistentVolume)
        self._class_version = -1
        self._known: dict[str, VolumeHandle | None] = {}
        self._claims_of_volume: defaultdict[str, set[str]] = defaultdict(set)

    def refresh(self) -> tuple[set[str] | None, set[str]]:
        """Take over what changed in the state.

        Returns:
            The claims whose handles may have changed, None for all of them; and the persistent
            volumes that changed.
        """
        claims = {key for key, _, _ in self._claim_changes.pop_changes()}
        volumes = {name for name, _, _ in self._volume_changes.pop_changes()}
        for name in volumes:
            claims |= self._claims_of_volume.pop(name, set())
        for key in claims:
            self._known.pop(key, None)
        version = self._catalog.version(StorageClass)
        if version == self._class_version:
            return claims, volumes
        self._class_version = version
        self._known.clear()
        self._claims_of_volume.clear()
        return None, volumes

    def of_existing(self, pod: Pod) -> set[VolumeHandle] | UncountableVolumes:
        """The volumes of a pod that is on a node; claims that do not exist are passed over."""
        return self._of(pod, inline=True, new=False)

    def of_new(self, pod: Pod, *, inline: bool) -> set[VolumeHandle] | UncountableVolumes:
        """The volumes of a pod that is to be placed.

        Args:
            pod: the pod.
            inline: whether volumes that the pod names directly count; they do on nodes that have
                reported their CSI drivers.
        """
        return self._of(pod, inline=inline, new=True)

    def _of(self, pod: Pod, *, inline: bool, new: bool) -> set[VolumeHandle] | UncountableVolumes:
        # parity v1.36.4: plugins/nodevolumelimits/csi.go filterAttachableVolumes
        found: set[VolumeHandle] = set()
        for volume in pod.spec.volumes or ():
            name = volume.claim_for(pod.name)
            if name is None:
                one = _inline(volume) if inline else None
            elif not name:
                return UncountableVolumes("PersistentVolumeClaim had no name")
            else:
                one = self._of_claim(pod, volume, name)
                if isinstance(one, UncountableVolumes) and one.missing and not new:
                    continue
            if isinstance(one, UncountableVolumes):
                return one
            if one is not None:
                found.add(one)
        return found

    def _of_claim(
        self, pod: Pod, volume: Volume, name: str
    ) -> VolumeHandle | UncountableVolumes | None:
        key = f"{pod.namespace}/{name}"
        claim = self._catalog.get(PersistentVolumeClaim, key)
        if claim is None:
            reason = f'looking up PVC {key}: persistentvolumeclaim "{name}" not found'
            return UncountableVolumes(reason, missing=True)
        if volume.ephemeral is not None and not claim.is_for(pod.namespace, pod.uid):
            return UncountableVolumes(not_owned(pod, claim))
        if key not in self._known:
            handle = self._resolve(claim)
            self._known[key] = handle if handle is not None and all(handle) else None
        return self._known[key]

    def _resolve(self, claim: PersistentVolumeClaim) -> VolumeHandle | None:
        # parity v1.36.4: plugins/nodevolumelimits/csi.go getCSIDriverInfo
        name = claim.spec.volume_name
        if not name:
            return self._by_class(claim)
        self._claims_of_volume[name].add(claim.key)
        volume = self._catalog.get(PersistentVolume, name)
        if volume is None:
            return self._by_class(claim)
        if volume.spec.csi is not None:
            return VolumeHandle(volume.spec.csi.driver, volume.spec.csi.volume_handle)
        plugin = in_tree_plugin(volume.spec)
        if plugin is None or not plugin.counted:
            return None
        return VolumeHandle(plugin.driver, volume_handle(volume, plugin).handle)

    def _by_class(self, claim: PersistentVolumeClaim) -> VolumeHandle | None:
        """A volume that is still to be made counts under a handle that no other volume has."""
        # parity v1.36.4: plugins/nodevolumelimits/csi.go getCSIDriverInfoFromSC
        storage_class = self._catalog.get(StorageClass, claim.class_name)
        if storage_class is None:
            return None
        handle = f"\0{claim.key}"
        plugin = IN_TREE_PLUGINS.get(storage_class.provisioner)
        if plugin is None:
            return VolumeHandle(storage_class.provisioner, handle)
        return VolumeHandle(plugin.driver, handle) if plugin.counted else None


def _inline(volume: Volume) -> VolumeHandle | UncountableVolumes | None:
    # parity v1.36.4: plugins/nodevolumelimits/csi.go checkAttachableInlineVolume
    plugin = in_tree_plugin(volume)
    if plugin is None or not plugin.counted:
        return None
    translated = inline_handle(volume, plugin)
    if translated.problem:
        return UncountableVolumes(
            f"converting volume({volume.name}) from inline to csi: {translated.problem}"
        )
    return VolumeHandle(plugin.driver, translated.handle)
