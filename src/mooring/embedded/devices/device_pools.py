"""Makes ResourceSlices and DeviceClasses of what a file says of a driver.

`device_file` checks with it that the API server would take them; `fake_driver` publishes them. It
knows nothing of the cluster but the nodes that it is asked about.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mooring.embedded.devices.forms import (
    Attributes,
    Capacity,
    CapacityForm,
    ClassForm,
    DeviceForm,
    DriverForm,
    PartitionForm,
    PoolForm,
    TaintForm,
    VersionForm,
)
from mooring.embedded.resources import DEVICE_CLASSES, RESOURCE_SLICES, Obj
from mooring.embedded.validation.devices.slices import (
    ADVANCED_DEVICES_LIMIT,
    COUNTER_SETS_LIMIT,
    DEVICES_LIMIT,
)

_NAME_LENGTH: Final = 253


def has_pool(form: PoolForm, node: str, labels: Mapping[str, str]) -> bool:
    """Whether a pool is for a node: one of its own, or one that the node can reach."""
    if form.nodes and not any(_is_named(node, one) for one in form.nodes):
        return False
    return all(labels.get(key) == value for key, value in form.node_labels.items())


def node_slices(driver: DriverForm, node: Obj) -> list[Obj]:
    """The slices of the pool that a node has of its own; none if it has none."""
    metadata = node["metadata"]
    name, labels = metadata["name"], metadata.get("labels") or {}
    devices = [
        device
        for pool in driver.pools
        if not pool.name and has_pool(pool, name, labels)
        for device in pool.devices
    ]
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": metadata.get("uid", "")}
    slices = pool_slices(driver.name, name, devices, {"nodeName": name})
    for one in slices:
        one["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    return slices


def shared_slices(driver: DriverForm) -> list[Obj]:
    """The slices of the pools that several nodes can reach."""
    return [
        one
        for pool in driver.pools
        if pool.name
        for one in pool_slices(driver.name, pool.name, pool.devices, _reach(pool))
    ]


def pool_slices(driver: str, pool: str, forms: Sequence[DeviceForm], reach: Obj) -> list[Obj]:
    """The slices of one pool: those with counters first, then those with devices.

    Args:
        driver: its name.
        pool: its name.
        forms: the devices.
        reach: which nodes can reach them, as fields of the slices' specs.
    """
    devices = [device for form in forms for device in _devices(form)]
    if not devices:
        return []
    counters = [one for form in forms for one in _counter_sets(form)]
    advanced = any(one.get("taints") or one.get("consumesCounters") for one in devices)
    limit = ADVANCED_DEVICES_LIMIT if advanced else DEVICES_LIMIT
    contents = [{"sharedCounters": one} for one in _in_parts(counters, COUNTER_SETS_LIMIT)]
    contents += [{"devices": one} for one in _in_parts(devices, limit)]
    known = {"name": pool, "generation": 1, "resourceSliceCount": len(contents)}
    return [
        {
            "apiVersion": RESOURCE_SLICES.api_version,
            "kind": RESOURCE_SLICES.kind,
            "metadata": {"name": _slice_name(pool, driver, number)},
            "spec": {"driver": driver, "pool": known, **reach, **content},
        }
        for number, content in enumerate(contents)
    ]


def device_count(form: DeviceForm) -> int:
    """How many devices a form stands for, partitions included."""
    each = 1 + sum(1 if one.count is None else one.count for one in form.partitions)
    return each * (1 if form.count is None else form.count)


def device_classes(driver: DriverForm) -> list[Obj]:
    """The DeviceClasses of a driver."""
    forms = [ClassForm(driver.name)] if driver.classes is None else driver.classes
    return [device_class(driver.name, form) for form in forms]


def device_class(driver: str, form: ClassForm) -> Obj:
    """One DeviceClass."""
    expression = f'device.driver == "{driver}"'
    if form.selector:
        expression += f" && ({form.selector})"
    spec: Obj = {"selectors": [{"cel": {"expression": expression}}]}
    if form.extended_resource_name:
        spec["extendedResourceName"] = form.extended_resource_name
    return {
        "apiVersion": DEVICE_CLASSES.api_version,
        "kind": DEVICE_CLASSES.kind,
        "metadata": {"name": form.name},
        "spec": spec,
    }


def _is_named(node: str, wanted: str) -> bool:
    if wanted.endswith("*"):
        return node.startswith(wanted[:-1])
    return node == wanted


def _reach(pool: PoolForm) -> Obj:
    if not pool.node_labels:
        return {"allNodes": True}
    terms = [
        {"key": key, "operator": "In", "values": [value]} for key, value in pool.node_labels.items()
    ]
    return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": terms}]}}


def _slice_name(pool: str, driver: str, number: int) -> str:
    name = f"{pool}-{driver.lower()}-{number}"
    if len(name) <= _NAME_LENGTH and "/" not in name:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    beginning = name.replace("/", "-")[: _NAME_LENGTH - 17].rstrip("-.")
    return f"{beginning}-{digest}"


def _in_parts(items: list[Obj], size: int) -> Iterator[list[Obj]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _names(name: str, count: int | None) -> list[str]:
    return [name] if count is None else [f"{name}-{number}" for number in range(count)]


def _devices(form: DeviceForm) -> Iterator[Obj]:
    for name in _names(form.name, form.count):
        yield _whole_device(name, form)
        for part in form.partitions:
            for part_name in _names(f"{name}-{part.name}", part.count):
                yield _partition(part_name, name, form, part)


def _whole_device(name: str, form: DeviceForm) -> Obj:
    device = _device(name, form, form.attributes, form.capacity, form.taints)
    if form.counters:
        device["consumesCounters"] = [_uses(name, form.counters)]
    return device


def _partition(name: str, whole: str, form: DeviceForm, part: PartitionForm) -> Obj:
    device = _device(
        name, form, {**form.attributes, **part.attributes}, {**form.capacity, **part.capacity},
        part.taints,
    )  # fmt: skip
    device["consumesCounters"] = [_uses(whole, part.uses)]
    return device


def _device(
    name: str,
    form: DeviceForm,
    attributes: Attributes,
    capacity: Capacity,
    taints: Sequence[TaintForm],
) -> Obj:
    device: Obj = {"name": name}
    if attributes:
        device["attributes"] = {key: _attribute(value) for key, value in attributes.items()}
    if capacity:
        device["capacity"] = {key: _capacity(value) for key, value in capacity.items()}
    if taints:
        device["taints"] = [_taint(one) for one in taints]
    if form.allow_multiple_allocations:
        device["allowMultipleAllocations"] = True
    if form.binds_to_node:
        device["bindsToNode"] = True
    for field, conditions in (
        ("bindingConditions", form.binding_conditions),
        ("bindingFailureConditions", form.binding_failure_conditions),
    ):
        if conditions:
            device[field] = list(conditions)
    return device


def _attribute(value: bool | int | str | VersionForm) -> Obj:
    if isinstance(value, VersionForm):
        return {"version": value.version}
    if isinstance(value, bool):
        return {"bool": value}
    return {"int": value} if isinstance(value, int) else {"string": value}


def _capacity(value: str | int | CapacityForm) -> Obj:
    if not isinstance(value, CapacityForm):
        return {"value": str(value)}
    found: dict[str, Any] = {"value": str(value.value)}
    if value.request_policy:
        found["requestPolicy"] = dict(value.request_policy)
    return found


def _taint(form: TaintForm) -> Obj:
    taint = {"key": form.key, "effect": form.effect}
    return {**taint, "value": form.value} if form.value else taint


def _uses(counter_set: str, amounts: Mapping[str, str | int]) -> Obj:
    counters = {name: {"value": str(amount)} for name, amount in amounts.items()}
    return {"counterSet": counter_set, "counters": counters}


def _counter_sets(form: DeviceForm) -> Iterator[Obj]:
    if form.counters:
        for name in _names(form.name, form.count):
            used = _uses(name, form.counters)
            yield {"name": name, "counters": used["counters"]}
