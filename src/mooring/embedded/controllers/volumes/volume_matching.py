"""Which volume fits a claim, and what one looks like that is made for it.

parity v1.36.4: component-helpers/storage/volume/pv_helpers.go FindMatchingVolume
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from mooring.embedded.resources import Obj
from mooring.model.quantity import Quantity, parse_quantity
from mooring.model.selectors import LabelSelector
from mooring.model.storage import FILESYSTEM

_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_ZONE: Final = "topology.kubernetes.io/zone"
_HOSTNAME: Final = "kubernetes.io/hostname"
_PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"


def storage_class_name(claim: Obj) -> str:
    """The name of a claim's storage class; empty if it has none."""
    annotation = (claim["metadata"].get("annotations") or {}).get(_CLASS)
    return str(
        annotation if annotation is not None else claim["spec"].get("storageClassName") or ""
    )


def size_of(resources: Obj | None) -> Quantity:
    """How much storage a resource list names."""
    return parse_quantity((resources or {}).get("storage", 0))


def find_matching_volume(claim: Obj, volumes: Iterable[Obj]) -> Obj | None:
    """The smallest volume that a claim can have."""
    spec = claim["spec"]
    asked = size_of((spec.get("resources") or {}).get("requests"))
    modes = set(spec.get("accessModes") or ())
    selector = spec.get("selector")
    matcher = msgspec.convert(selector, LabelSelector) if selector else None
    best: tuple[Quantity, str, Obj] | None = None
    for volume in volumes:
        inner = volume["spec"]
        size = size_of(inner.get("capacity"))
        if (
            size < asked
            or not modes <= set(inner.get("accessModes") or ())
            or (inner.get("volumeMode") or FILESYSTEM) != (spec.get("volumeMode") or FILESYSTEM)
            or volume["metadata"].get("deletionTimestamp")
            or (matcher and not matcher.matches(volume["metadata"].get("labels") or {}))
        ):
            continue
        rank = (size, volume["metadata"]["name"])
        if best is None or rank < best[:2]:
            best = (*rank, volume)
    return best[2] if best is not None else None


def provision_volume(claim: Obj, kind: Obj, node: Obj | None) -> Obj:
    """A volume made for a claim.

    Args:
        claim: the claim.
        kind: its storage class.
        node: the node that was chosen for its consumer; the volume can be reached from its zone.
    """
    metadata, spec = claim["metadata"], claim["spec"]
    name = f"pvc-{metadata['uid']}"
    driver = kind["provisioner"]
    size = (spec.get("resources") or {}).get("requests") or {}
    volume: Obj = {
        "kind": "PersistentVolume",
        "apiVersion": "v1",
        "metadata": {"name": name, "annotations": {_PROVISIONED_BY: driver}},
        "spec": {
            "capacity": {"storage": size.get("storage", "1Gi")},
            "accessModes": list(spec.get("accessModes") or ["ReadWriteOnce"]),
            "claimRef": {
                "kind": "PersistentVolumeClaim",
                "apiVersion": "v1",
                "namespace": metadata["namespace"],
                "name": metadata["name"],
                "uid": metadata["uid"],
                "resourceVersion": metadata["resourceVersion"],
            },
            "persistentVolumeReclaimPolicy": kind.get("reclaimPolicy") or "Delete",
            "storageClassName": kind["metadata"]["name"],
            "volumeMode": spec.get("volumeMode") or FILESYSTEM,
            "csi": {"driver": driver, "volumeHandle": name},
        },
    }
    labels = (node["metadata"].get("labels") or {}) if node is not None else {}
    key = next((one for one in (_ZONE, _HOSTNAME) if one in labels), None)
    if key is not None:
        term = {"matchExpressions": [{"key": key, "operator": "In", "values": [labels[key]]}]}
        volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    return volume
