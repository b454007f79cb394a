"""Devices for random cases: classes, slices, claims, and what the pod asks for of them.

Drawn by themselves, so that the rest of a case is the same with and without them. Called by
`cases`.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Any

#: A Kubernetes object, or a part of one, as plain JSON.
Object = dict[str, Any]

DRIVER = "gpu.example.com"
RESOURCE = "example.com/gpu"
_VERSION = "resource.k8s.io/v1"
_SIZE = f'device.attributes["{DRIVER}"].size'
#: All devices have a size; not all a NUMA node, of which a selector may fail.
_SELECTORS = (f"{_SIZE} > 5", f"{_SIZE} <= 5", f'device.attributes["{DRIVER}"].numa == 0')
_NUMA = f"{DRIVER}/numa"


def with_devices(seed: int, nodes: Sequence[str], pods: Sequence[str], pod: Object) -> list[Object]:
    """The objects of a cluster with devices, if the case has any; the pod asks for some.

    Args:
        seed: what the case is made from.
        nodes: the names of the nodes.
        pods: the names of the pods on them.
        pod: the pod that is asked about; it is changed.
    """
    rng = random.Random(f"devices {seed}")  # noqa: S311 - for tests
    if rng.random() < 0.5:
        return []
    slices = [_slice(rng, name) for name in nodes if rng.random() < 0.85]
    if rng.random() < 0.3:
        slices.append(_slice(rng, ""))
    objects = [*_classes(rng), *slices]
    objects += _held(rng, slices, pods)
    objects += _asked(rng, pod)
    rng.shuffle(objects)
    return objects


def _object(kind: str, name: str, **fields: Any) -> Object:
    metadata = {"name": name, "uid": f"uid-{kind}-{name}"}
    if kind.startswith("ResourceClaim"):
        metadata["namespace"] = "default"
    return {"kind": kind, "apiVersion": _VERSION, "metadata": metadata, **fields}


def _classes(rng: random.Random) -> Iterator[Object]:
    resource = {"extendedResourceName": RESOURCE} if rng.random() < 0.6 else {}
    of_driver = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    yield _object("DeviceClass", "gpu", spec={"selectors": [of_driver], **resource})
    big = {"cel": {"expression": _SELECTORS[0]}}
    yield _object("DeviceClass", "big", spec={"selectors": [of_driver, big]})


def _slice(rng: random.Random, node: str) -> Object:
    name = node or "network"
    pool = {"name": name, "generation": 1, "resourceSliceCount": 2 if rng.random() < 0.05 else 1}
    place: Object = {"nodeName": node} if node else {"allNodes": True}
    devices = [_device(rng, f"d{number}") for number in range(rng.choice((1, 2, 3, 4)))]
    spec = {"driver": DRIVER, "pool": pool, "devices": devices, **place}
    return _object("ResourceSlice", f"slice-{name}", spec=spec)


def _device(rng: random.Random, name: str) -> Object:
    attributes: Object = {"size": {"int": rng.choice((2, 8))}}
    if rng.random() < 0.9:
        attributes["numa"] = {"int": rng.choice((0, 1))}
    device: Object = {"name": name, "attributes": attributes}
    device["capacity"] = {"memory": {"value": rng.choice(("10Gi", "40Gi"))}}
    if rng.random() < 0.12:
        device["taints"] = [{"key": "ecc", "effect": rng.choice(("NoSchedule", "NoExecute"))}]
    if rng.random() < 0.2:
        device["allowMultipleAllocations"] = True
    if rng.random() < 0.1:
        device |= {"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}
    return device


def _held(rng: random.Random, slices: Sequence[Object], pods: Sequence[str]) -> Iterator[Object]:
    """Claims of others, with devices of their own; of one of them, the pod may be a user."""
    for one in slices:
        for number, device in enumerate(one["spec"]["devices"]):
            if rng.random() < 0.7:
                continue
            users = rng.sample(pods, min(len(pods), rng.choice((0, 1, 1, 2))))
            name = f"held-{one['metadata']['name']}-{number}"
            status = _allocated(rng, one["spec"], device, users)
            yield _object("ResourceClaim", name, spec=_spec(rng, 1), status=status)
    if slices:
        one = rng.choice(slices)["spec"]
        known: list[list[str]] = [[], ["asked"], list(pods[:1])]
        status = _allocated(rng, one, rng.choice(one["devices"]), rng.choice(known))
        yield _object("ResourceClaim", "shared", spec=_spec(rng, 1), status=status)


def _allocated(rng: random.Random, spec: Object, device: Object, users: Sequence[str]) -> Object:
    result: Object = {"request": "r0", "driver": DRIVER, "pool": spec["pool"]["name"]}
    result["device"] = device["name"]
    if device.get("allowMultipleAllocations"):
        result["shareID"] = f"{rng.getrandbits(64):016x}"
        result["consumedCapacity"] = {"memory": rng.choice(("4Gi", "10Gi"))}
    allocation: Object = {"devices": {"results": [result]}}
    if "nodeName" in spec:
        field = {"key": "metadata.name", "operator": "In", "values": [spec["nodeName"]]}
        allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    references = [{"resource": "pods", "name": one, "uid": f"uid-{one}"} for one in users]
    return {"allocation": allocation, "reservedFor": references}


def _spec(rng: random.Random, requests: int) -> Object:
    devices: Object = {"requests": [_request(rng, f"r{number}") for number in range(requests)]}
    if rng.random() < 0.15:
        kind = rng.choice(("matchAttribute", "distinctAttribute"))
        devices["constraints"] = [{kind: _NUMA}]
    return {"devices": devices}


def _request(rng: random.Random, name: str) -> Object:
    if rng.random() < 0.15:
        ways = [{"name": f"w{number}", **_way(rng)} for number in range(2)]
        return {"name": name, "firstAvailable": ways}
    exactly = _way(rng)
    if rng.random() < 0.1:
        exactly["adminAccess"] = True
    return {"name": name, "exactly": exactly}


def _way(rng: random.Random) -> Object:
    way: Object = {"deviceClassName": rng.choice(("gpu", "gpu", "big"))}
    if rng.random() < 0.03:
        way["deviceClassName"] = "none"
    if rng.random() < 0.25:
        way["selectors"] = [{"cel": {"expression": rng.choice(_SELECTORS)}}]
    if rng.random() < 0.06:
        way["allocationMode"] = "All"
    elif rng.random() < 0.2:
        way["count"] = 2
    if rng.random() < 0.4:
        way["tolerations"] = [{"key": "ecc", "operator": "Exists"}]
    if rng.random() < 0.2:
        way["capacity"] = {"requests": {"memory": rng.choice(("5Gi", "20Gi"))}}
    return way


def _asked(rng: random.Random, pod: Object) -> Iterator[Object]:
    """The pod's claims; the pod itself is changed."""
    spec, entries, statuses = pod["spec"], [], []
    if rng.random() < 0.6:  # devices alone are to decide
        spec["containers"][0]["resources"] = {"requests": {"cpu": "100m"}}
        spec["tolerations"] = [{"operator": "Exists"}]
        spec.pop("affinity", None)
    if rng.random() < 0.4:
        requests = spec["containers"][0].setdefault("resources", {}).setdefault("requests", {})
        requests[RESOURCE] = rng.choice(("1", "2"))
    for number in range(rng.choice((0, 1, 1, 2))):
        name = f"c{number}"
        made = _object("ResourceClaim", f"asked-{name}", spec=_spec(rng, rng.choice((1, 1, 2))))
        chance = rng.random()
        if chance < 0.25:
            entries.append({"name": name, "resourceClaimName": "shared"})
        elif chance < 0.28:
            entries.append({"name": name, "resourceClaimName": "missing"})
        elif chance < 0.55:
            entries.append({"name": name, "resourceClaimTemplateName": "template"})
            if rng.random() < 0.9:
                statuses.append({"name": name, "resourceClaimName": f"asked-{name}"})
            owner = {"apiVersion": "v1", "kind": "Pod", "name": "asked", "uid": "uid-asked"}
            made["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
            yield made
        else:
            entries.append({"name": name, "resourceClaimName": f"asked-{name}"})
            yield made
    if entries:
        spec["resourceClaims"] = entries
    if statuses:
        pod["status"]["resourceClaimStatuses"] = statuses
