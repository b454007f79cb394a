"""The pools of devices that drivers have published, for those who show them.

Owns `PublishedPool`: the devices of a pool with what does not change until its slices do, and what
is left of the counters that partitions share. Made by `cluster_devices`. Which devices a pod gets
is not its business: the allocator of DynamicResources decides that, by rules of its own.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from mooring.model.devices.device_info import AttributeValue, Capacities
from mooring.model.devices.resource_slice import (
    Counter,
    Device,
    DeviceAttribute,
    ResourceSlice,
    ResourceSliceSpec,
)
from mooring.model.node import Node
from mooring.model.quantity import parse_quantity

#: Driver and name of a pool.
PoolID = tuple[str, str]
#: Driver, pool and name of a device.
DeviceID = tuple[str, str, str]
_Amounts = dict[tuple[str, str], int]


class PublishedDevice(NamedTuple):
    """A device as its driver publishes it, with full names.

    Attributes:
        id: driver, pool and name.
        device: what the slice says.
        attributes: its attributes.
        capacity: its capacities.
        counters: what it takes out of the pool's counters, in billionths.
    """

    id: DeviceID
    device: Device
    attributes: Mapping[str, AttributeValue]
    capacity: Capacities
    counters: Mapping[tuple[str, str], int]

    @property
    def shareable(self) -> bool:
        """Whether several claims can have some of it."""
        return bool(self.device.allow_multiple_allocations)


class PublishedSlice(NamedTuple):
    """A slice and its devices."""

    spec: ResourceSliceSpec
    devices: Sequence[PublishedDevice]

    def devices_for(self, node: Node) -> Iterable[PublishedDevice]:
        """Those of the devices that a node can use."""
        if self.spec.per_device_node_selection:
            return [one for one in self.devices if is_for(one.device, node)]
        return self.devices if is_for(self.spec, node) else ()


class PublishedPool:
    """A pool: the slices of its newest generation.

    Attributes:
        slices: by name; none as long as its driver has not published all of them.
        changes: how often a claim got or gave back one of its devices.
    """

    def __init__(self, slices: Sequence[ResourceSlice]) -> None:
        newest = max(one.spec.pool.generation for one in slices)
        valid = [one for one in slices if one.spec.pool.generation == newest]
        complete = len(valid) == valid[0].spec.pool.resource_slice_count
        self.slices = [
            PublishedSlice(one.spec, [_published(device, one.spec) for device in _devices(one)])
            for one in sorted(valid if complete else (), key=lambda one: one.name)
        ]
        self.changes = 0
        self._limits = _total(
            (one.name, one.counters or {})
            for slice_ in self.slices
            for one in slice_.spec.shared_counters or ()
        )
        self._left: tuple[int, _Amounts] = (-1, {})

    def left(self, in_use: Container[DeviceID]) -> Mapping[tuple[str, str], int]:
        """What the devices in use have left of the counters, in billionths."""
        if self._left[0] != self.changes:
            left = dict(self._limits)
            for one in (device for slice_ in self.slices for device in slice_.devices):
                if one.counters and one.id in in_use:
                    for counter, amount in one.counters.items():
                        left[counter] = left.get(counter, 0) - amount
            self._left = (self.changes, left)
        return self._left[1]


def pools_of(slices: Iterable[ResourceSlice]) -> dict[PoolID, PublishedPool]:
    """The pools that slices make up."""
    by_pool: dict[PoolID, list[ResourceSlice]] = defaultdict(list)
    for one in slices:
        by_pool[one.spec.driver, one.spec.pool.name].append(one)
    return {pool_id: PublishedPool(of_pool) for pool_id, of_pool in by_pool.items()}


def is_for(part: ResourceSliceSpec | Device, node: Node) -> bool:
    """Whether a slice, or a device that says so itself, is for a node."""
    if part.node_name:
        return part.node_name == node.name
    if part.all_nodes:
        return True
    return part.node_selector is not None and part.node_selector.matches(node.labels, node.name)


def _devices(one: ResourceSlice) -> Sequence[Device]:
    return one.spec.devices or ()


def _published(device: Device, spec: ResourceSliceSpec) -> PublishedDevice:
    def full(name: str) -> str:
        return name if "/" in name else f"{spec.driver}/{name}"

    attributes = {full(name): _value(one) for name, one in (device.attributes or {}).items()}
    capacity = {full(name): one.value for name, one in (device.capacity or {}).items()}
    return PublishedDevice(
        (spec.driver, spec.pool.name, device.name),
        device,
        MappingProxyType(attributes),
        Capacities({name: parse_quantity(value) for name, value in capacity.items()}),
        _total((one.counter_set, one.counters or {}) for one in device.consumes_counters or ()),
    )


def _value(attribute: DeviceAttribute) -> AttributeValue:
    for value in (attribute.string_value, attribute.int_value, attribute.bool_value):
        if value is not None:
            return value
    return attribute.version_value or ""


def _total(sets: Iterable[tuple[str, Mapping[str, Counter]]]) -> _Amounts:
    amounts: _Amounts = {}
    for name, counters in sets:
        for counter, one in counters.items():
            key = (name, counter)
            amounts[key] = amounts.get(key, 0) + parse_quantity(one.value).nano
    return amounts
