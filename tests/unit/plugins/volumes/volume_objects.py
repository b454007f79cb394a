"""Builders for claims, volumes and what belongs to them, as the API server would store them."""

from collections.abc import Mapping, Sequence
from typing import Any

from mooring.model.pod import Pod
from mooring.model.storage import (
    BIND_COMPLETED,
    WAIT_FOR_FIRST_CONSUMER,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
    default_storage,
)
from mooring.testing import make_pod

DRIVER = "csi.example.com"
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


def pod_with(*sources: Mapping[str, Any] | str, name: str = "pod", **options: Any) -> Pod:
    """A pod with volumes; a text stands for a claim of that name."""
    volumes = [
        {
            "name": f"v{number}",
            **({"persistentVolumeClaim": {"claimName": one}} if isinstance(one, str) else one),
        }
        for number, one in enumerate(sources)
    ]
    return make_pod(name, spec={"volumes": volumes}, **options)


def claim(
    name: str = "claim",
    *,
    bound: str = "",
    of: str | None = None,
    size: str | None = "1Gi",
    namespace: str = "default",
    modes: Sequence[str] = ("ReadWriteOnce",),
    annotations: Mapping[str, str] | None = None,
    owner: str = "",
    **spec: Any,
) -> PersistentVolumeClaim:
    """A claim: bound to a volume for good, or waiting for one of a class."""
    marks = dict(annotations or {})
    if bound:
        marks[BIND_COMPLETED] = "yes"
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{namespace}-{name}",
        "annotations": marks,
    }
    if owner:
        metadata["ownerReferences"] = [{"kind": "Pod", "uid": owner, "controller": True}]
    body: dict[str, Any] = {"accessModes": list(modes), "volumeName": bound, **spec}
    if of is not None:
        body["storageClassName"] = of
    if size is not None:
        body["resources"] = {"requests": {"storage": size}}
    phase = "Bound" if bound else "Pending"
    return default_storage(
        PersistentVolumeClaim.from_dict(
            {"metadata": metadata, "spec": body, "status": {"phase": phase}}
        )
    )


def volume(
    name: str,
    *,
    of: str = "",
    size: str = "1Gi",
    node: str = "",
    modes: Sequence[str] = ("ReadWriteOnce",),
    labels: Mapping[str, str] | None = None,
    phase: str = "Available",
    **spec: Any,
) -> PersistentVolume:
    """A persistent volume; with `node`, it can be reached from that node only."""
    body: dict[str, Any] = {
        "capacity": {"storage": size},
        "accessModes": list(modes),
        "storageClassName": of,
        **spec,
    }
    if node:
        body["nodeAffinity"] = affinity(HOST, node)
    metadata = {"name": name, "labels": dict(labels or {})}
    return default_storage(
        PersistentVolume.from_dict({"metadata": metadata, "spec": body, "status": {"phase": phase}})
    )


def csi(handle: str, driver: str = DRIVER) -> dict[str, str]:
    """The source of a CSI volume."""
    return {"driver": driver, "volumeHandle": handle}


def affinity(key: str, *values: str) -> dict[str, Any]:
    """A volume's node affinity: one label with one of some values."""
    expression = {"key": key, "operator": "In", "values": list(values)}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def storage_class(
    name: str, *, waits: bool = True, provisioner: str = DRIVER, **more: Any
) -> StorageClass:
    """A storage class."""
    mode = {"volumeBindingMode": WAIT_FOR_FIRST_CONSUMER} if waits else {}
    return default_storage(
        StorageClass.from_dict(
            {"metadata": {"name": name}, "provisioner": provisioner, **mode, **more}
        )
    )


def csi_node(name: str, limits: Mapping[str, int | None], migrated: str = "") -> CSINode:
    """The CSI drivers of a node, with how many volumes each can have; None is no limit."""
    drivers = [
        {"name": driver, **({} if count is None else {"allocatable": {"count": count}})}
        for driver, count in limits.items()
    ]
    key = "storage.alpha.kubernetes.io/migrated-plugins"
    return CSINode.from_dict(
        {"metadata": {"name": name, "annotations": {key: migrated}}, "spec": {"drivers": drivers}}
    )


def driver(name: str, *, capacity: bool) -> CSIDriver:
    """A CSI driver that reports its capacity, or does not."""
    return CSIDriver.from_dict({"metadata": {"name": name}, "spec": {"storageCapacity": capacity}})


def capacity(
    name: str, of: str, size: str | None, labels: Mapping[str, str] | None, most: str | None = None
) -> CSIStorageCapacity:
    """How much storage of a class is left for nodes with some labels; None is for none."""
    body: dict[str, Any] = {"metadata": {"name": name}, "storageClassName": of}
    if labels is not None:
        body["nodeTopology"] = {"matchLabels": dict(labels)}
    if size is not None:
        body["capacity"] = size
    if most is not None:
        body["maximumVolumeSize"] = most
    return CSIStorageCapacity.from_dict(body)


def attachment(name: str, node: str, of: str | None, attacher: str = DRIVER) -> VolumeAttachment:
    """A volume that is attached to a node."""
    source = {} if of is None else {"persistentVolumeName": of}
    spec = {"attacher": attacher, "nodeName": node, "source": source}
    return VolumeAttachment.from_dict({"metadata": {"name": name}, "spec": spec})
