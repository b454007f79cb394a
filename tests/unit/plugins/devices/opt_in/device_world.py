"""Nodes with devices, claims to them and pods that have them, for tests of what is opt-in."""

from collections.abc import Mapping, Sequence
from typing import Any

from mooring.model.devices.device_class import DeviceClass
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.devices.resource_slice import ResourceSlice
from mooring.model.pod import Pod
from mooring.testing import make_pod

DRIVER = "gpu.example.com"
CLASS = DeviceClass.from_dict({"metadata": {"name": DRIVER}, "spec": {}})


def config(**args: Any) -> dict[str, Any]:
    """A configuration with arguments for DynamicResources."""
    return {"profiles": [{"pluginConfig": [{"name": "DynamicResources", "args": args}]}]}


def gpu(name: str, memory: str = "", **fields: Any) -> dict[str, Any]:
    """A device, with a capacity if one is given."""
    capacity = {"capacity": {"memory": {"value": memory}}} if memory else {}
    return {"name": name, **capacity, **fields}


def slice_of(owner: str, *devices: Mapping[str, Any], **fields: Any) -> ResourceSlice:
    """A pool with one slice; its devices are those of the node of that name if nothing is said."""
    return ResourceSlice.from_dict(
        {
            "metadata": {"name": f"{owner}-{len(fields)}"},
            "spec": {
                "driver": DRIVER,
                "pool": {"name": owner, "generation": 1, "resourceSliceCount": 1},
                **({"nodeName": owner} if "allNodes" not in fields else {}),
                "devices": list(devices),
                **fields,
            },
        }
    )


def claim(
    name: str,
    *devices: str,
    pods: Sequence[Pod] = (),
    pool: str = "a",
    count: int = 1,
    **exactly: Any,
) -> ResourceClaim:
    """A claim; it has the devices that are named, and is reserved for some pods."""
    status: dict[str, Any] = {}
    if devices:
        results = [
            {"request": "gpu", "driver": DRIVER, "pool": pool, "device": one} for one in devices
        ]
        users = [{"resource": "pods", "name": one.name, "uid": one.uid} for one in pods]
        status = {"allocation": {"devices": {"results": results}}, "reservedFor": users}
    asked = {"deviceClassName": DRIVER, "allocationMode": "ExactCount", "count": count, **exactly}
    return ResourceClaim.from_dict(
        {
            "metadata": {
                "name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "7"
            },
            "spec": {"devices": {"requests": [{"name": "gpu", "exactly": asked}]}},
            "status": status,
        }
    )  # fmt: skip


def using(name: str, *claims: str, **fields: Any) -> Pod:
    """A pod that names claims."""
    named = [{"name": one, "resourceClaimName": one} for one in claims]
    return make_pod(name, spec={"resourceClaims": named}, **fields)
