"""How volumes of the old in-tree plugins look to the CSI drivers that took them over.

Owns the translation of handles and topology. NodeVolumeLimits counts such volumes for the CSI
driver; VolumeBinding reads their node affinity in the driver's terms on nodes that say so. Only
what these two read is translated.
"""

import re
from typing import Final

import msgspec

from mooring.model.csi_migration import IN_TREE_PLUGINS, InTreePlugin
from mooring.model.selectors import NodeSelector, NodeSelectorTerm, Requirement
from mooring.model.storage import PersistentVolume, PersistentVolumeSpec
from mooring.model.volumes import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    CinderVolumeSource,
    Volume,
)

# parity v1.36.4: csi-translation-lib/plugins

_ZONE: Final = "topology.kubernetes.io/zone"
_REGION: Final = "topology.kubernetes.io/region"
_BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
_BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"
_ZONES_APART: Final = "__"
_AWS_VOLUME: Final = re.compile(r"vol-[^/]*")
_GCE_HANDLE: Final = "projects/UNSPECIFIED/{}/{}/disks/{}"


class TranslatedHandle(msgspec.Struct, frozen=True):
    """A volume's handle in its CSI driver, or why there is none."""

    handle: str = ""
    problem: str = ""


def in_tree_plugin(spec: Volume | PersistentVolumeSpec) -> InTreePlugin | None:
    """The in-tree plugin of a pod's volume or of a persistent volume, if it has one."""
    for plugin in IN_TREE_PLUGINS.values():
        if getattr(spec, plugin.source) is not None:
            return plugin
    return None


def inline_handle(volume: Volume, plugin: InTreePlugin) -> TranslatedHandle:
    """The handle of a volume that a pod names directly."""
    if volume.gce_persistent_disk is not None:
        return TranslatedHandle(
            _GCE_HANDLE.format("zones", "UNSPECIFIED", volume.gce_persistent_disk.pd_name)
        )
    return _source_handle(volume, plugin)


def volume_handle(volume: PersistentVolume, plugin: InTreePlugin) -> TranslatedHandle:
    """The handle of a persistent volume."""
    disk = volume.spec.gce_persistent_disk
    if disk is None:
        return _source_handle(volume.spec, plugin)
    label = volume.labels.get(_BETA_ZONE) or volume.labels.get(_ZONE, "")
    zones = label.split(_ZONES_APART)
    if len(zones) == 1:
        return TranslatedHandle(_GCE_HANDLE.format("zones", label or "UNSPECIFIED", disk.pd_name))
    regions = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            return TranslatedHandle(
                problem="failed to get region from zones: zone in unexpected format, expected: "
                f"{{locale}}-{{region}}-{{zone}}, got: {zone}"
            )
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        shown = " ".join(f"{region}:{{}}" for region in sorted(regions))
        return TranslatedHandle(
            problem="failed to get region from zones: multiple or no regions gotten from zones, "
            f"got: map[{shown}]"
        )
    return TranslatedHandle(_GCE_HANDLE.format("regions", regions.pop(), disk.pd_name))


def _source_handle(spec: Volume | PersistentVolumeSpec, plugin: InTreePlugin) -> TranslatedHandle:
    source = getattr(spec, plugin.source)
    if isinstance(source, AWSElasticBlockStoreVolumeSource):
        return _aws_handle(source.volume_id)
    if isinstance(source, AzureDiskVolumeSource):
        if source.kind is not None and source.kind.lower() != "managed":
            return TranslatedHandle(
                problem=f"kind({source.kind}) is not supported in csi migration"
            )
        return TranslatedHandle(source.disk_uri)
    if isinstance(source, CinderVolumeSource):
        return TranslatedHandle(source.volume_id)
    if spec.portworx_volume is not None:
        return TranslatedHandle(spec.portworx_volume.volume_id)
    return TranslatedHandle()


def _aws_handle(volume_id: str) -> TranslatedHandle:
    if not volume_id.startswith("aws://"):
        return TranslatedHandle(volume_id)
    _, _, path = volume_id.removeprefix("aws://").partition("/")
    handle = path.partition("?")[0].partition("#")[0].strip("/")
    if _AWS_VOLUME.fullmatch(handle) is None:
        return TranslatedHandle(
            problem="failed to translate Kubernetes ID to EBS Volume ID "
            f"Invalid format for AWS volume ({volume_id})"
        )
    return TranslatedHandle(handle)


def translated_selector(volume: PersistentVolume, plugin: InTreePlugin) -> NodeSelector | None:
    """From which nodes the volume can be reached, with the CSI driver's label for the zone."""
    selector = volume.node_selector
    if not plugin.topology:
        return selector
    terms = list(selector.node_selector_terms or ()) if selector is not None else []
    zone, region = _topology_labels(volume, terms)
    if any(one.key == zone and one.values for one in _expressions(terms)):
        terms = [_renamed(term, zone, plugin.topology) for term in terms]
    else:
        label = volume.labels.get(zone, "")
        zones = sorted({one.strip() for one in label.split(_ZONES_APART)} - {""})
        if zones:
            added = Requirement(key=plugin.topology, operator="In", values=zones)
            terms = [
                msgspec.structs.replace(
                    term, match_expressions=[*(term.match_expressions or ()), added]
                )
                for term in terms or (NodeSelectorTerm(),)
            ]
            selector = selector or NodeSelector()
    if region == _BETA_REGION and any(
        one.key == region and one.values for one in _expressions(terms)
    ):
        terms = [_renamed(term, region, _REGION) for term in terms]
    return None if selector is None else NodeSelector(node_selector_terms=terms)


def _topology_labels(volume: PersistentVolume, terms: list[NodeSelectorTerm]) -> tuple[str, str]:
    keys = {one.key for one in _expressions(terms)}
    for known in (keys, volume.labels):
        if _ZONE in known:
            break
        if _BETA_ZONE in known:
            return _BETA_ZONE, _BETA_REGION
    return _ZONE, _REGION


def _expressions(terms: list[NodeSelectorTerm]) -> list[Requirement]:
    return [one for term in terms for one in term.match_expressions or ()]


def _renamed(term: NodeSelectorTerm, key: str, other: str) -> NodeSelectorTerm:
    return msgspec.structs.replace(
        term,
        match_expressions=[
            msgspec.structs.replace(one, key=other) if one.key == key else one
            for one in term.match_expressions or ()
        ],
    )
