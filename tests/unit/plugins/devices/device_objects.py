"""Clusters with devices, as objects that `explain` takes; short to write."""

from collections.abc import Iterable, Sequence
from typing import Any

from mooring.model.devices.device_class import DeviceClass
from mooring.model.devices.resource_claim import ResourceClaim, ResourceClaimTemplate
from mooring.model.devices.resource_slice import ResourceSlice
from mooring.model.pod import Pod
from mooring.testing import make_pod

DRIVER = "gpu.example.com"
Json = dict[str, Any]


def attribute(name: str) -> str:
    """An attribute of a GPU in a selector."""
    return f'device.attributes["{DRIVER}"].{name}'


def device_class(name: str, *expressions: str, resource: str = "") -> DeviceClass:
    selectors = [{"cel": {"expression": one}} for one in expressions]
    spec = {"selectors": selectors, "extendedResourceName": resource or None}
    return DeviceClass.from_dict({"metadata": {"name": name}, "spec": spec})


GPUS = device_class(DRIVER, f'device.driver == "{DRIVER}"')


def device(name: str, memory: str = "", **attributes: Any) -> Json:
    """A device; its attributes are numbers, truth values or texts."""
    kinds = {bool: "bool", int: "int", str: "string"}
    made: Json = {
        "name": name,
        "attributes": {key: {kinds[type(value)]: value} for key, value in attributes.items()},
    }
    if memory:
        made["capacity"] = {"memory": {"value": memory}}
    return made


def published(
    node: str, *devices: Json, slices: int = 1, name: str = "", generation: int = 1, **spec: Any
) -> ResourceSlice:
    """The devices of a node, or one of several slices with them."""
    pool = {"name": node, "generation": generation, "resourceSliceCount": slices}
    made = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": list(devices), **spec}
    return ResourceSlice.from_dict({"metadata": {"name": name or f"slice-{node}"}, "spec": made})


def request(name: str = "gpu", *expressions: str, of: str = DRIVER, **fields: Any) -> Json:
    selectors = [{"cel": {"expression": one}} for one in expressions]
    return {"name": name, "exactly": {"deviceClassName": of, "selectors": selectors, **fields}}


def claim(
    name: str, *requests: Json, constraints: Sequence[Json] = (), status: Json | None = None
) -> ResourceClaim:
    devices = {"requests": list(requests or [request()]), "constraints": list(constraints)}
    return ResourceClaim.from_dict(
        {
            "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
            "spec": {"devices": devices},
            "status": status or {},
        }
    )


def template(name: str, *requests: Json) -> ResourceClaimTemplate:
    spec = {"spec": {"devices": {"requests": list(requests or [request()])}}}
    return ResourceClaimTemplate.from_dict(
        {"metadata": {"name": name, "namespace": "default"}, "spec": spec}
    )


def allocated(*devices: str, to: Iterable[str] = (), only_on: str = "", **fields: Any) -> Json:
    """The status of a claim that has devices, as ``pool/device``."""
    results = [
        {"request": "gpu", "driver": DRIVER, "pool": pool, "device": name, **fields}
        for pool, _, name in (one.partition("/") for one in devices)
    ]
    allocation: Json = {"devices": {"results": results}}
    if only_on:
        field = {"key": "metadata.name", "operator": "In", "values": [only_on]}
        allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    users = [{"resource": "pods", "name": one, "uid": f"uid-default-{one}"} for one in to]
    return {"allocation": allocation, "reservedFor": users}


def claiming(name: str, *claims: str, templates: Sequence[str] = (), **fields: Any) -> Pod:
    """A pod that uses claims by name, and one from each template."""
    entries = [
        *({"name": one, "resourceClaimName": one} for one in claims),
        *({"name": f"from-{one}", "resourceClaimTemplateName": one} for one in templates),
    ]
    return make_pod(name, spec={"resourceClaims": entries}, **fields)
