"""Devices and slices in the form in which the allocator looks at them, prepared once.

Owns `PooledDevice` and `PreparedSlice`: names of devices, counters as numbers, the taints that
matter, and what is remembered of a device because it does not depend on what is allocated.
"""

# parity v1.36.4: dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go
# lookupAttribute, taintPreventsAllocation

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from mooring.model.devices.resource_slice import (
    Counter,
    Device,
    DeviceAttribute,
    ResourceSlice,
    ResourceSliceSpec,
)
from mooring.model.quantity import parse_quantity
from mooring.model.taints import NO_EXECUTE, NO_SCHEDULE, Toleration, untolerated
from mooring.plugins.devices.allocated_state import device_id
from mooring.plugins.devices.consumable_capacity import (
    CapacityShare,
    RequestedCapacity,
    capacity_shares,
)
from mooring.state.devices.published_pools import PoolID

if TYPE_CHECKING:
    from mooring.cel.device_selector import DeviceInput

#: A counter by its counter set and its name.
CounterID = tuple[str, str]
#: The kind of an attribute's value, and the value; the kind is empty if it is not known.
AttributeValue = tuple[str, str | int | bool]

_UNKNOWN: Final[AttributeValue] = ("", "")
_BLOCKING: Final = (NO_SCHEDULE, NO_EXECUTE)
#: What requests ask of a device's capacities is remembered for so many different requests.
_MOST_REQUESTED: Final = 64


class PooledDevice:
    """A device of a pool.

    Attributes:
        id: its name among all devices.
        driver, pool: the names of both.
        device: the device as its driver publishes it.
        slice: what the slice it is in says.
        counters: what it takes out of the pool's counters, in billionths.
        shareable: whether several allocations can have it at the same time.
        selector_input: the device as selectors see it; made when the first is asked.
    """

    __slots__ = (
        "_shares", "_taints", "counters", "device", "driver", "id", "pool", "selector_input",
        "shareable", "slice",
    )  # fmt: skip

    def __init__(self, device: Device, spec: ResourceSliceSpec) -> None:
        self.driver, self.pool = spec.driver, spec.pool.name
        self.id = device_id(self.driver, self.pool, device.name)
        self.device = device
        self.slice = spec
        self.counters = _counters(
            (one.counter_set, one.counters or {}) for one in device.consumes_counters or ()
        )
        self.shareable = bool(device.allow_multiple_allocations)
        self._taints = [one for one in device.taints or () if one.effect in _BLOCKING]
        self.selector_input: DeviceInput | None = None
        self._shares: dict[RequestedCapacity, tuple[CapacityShare, ...] | None] = {}

    @property
    def pool_id(self) -> PoolID:
        """The pool that the device belongs to."""
        return self.driver, self.pool

    def shares(self, requested: RequestedCapacity) -> tuple[CapacityShare, ...] | None:
        """What an allocation takes of the capacities; None if it asks for the impossible."""
        if not self.device.capacity:
            return () if not requested else None
        if requested not in self._shares:
            if len(self._shares) >= _MOST_REQUESTED:
                self._shares.clear()
            found = capacity_shares(self.device.capacity, requested)
            if found is not None and any(one.amount > one.limit for one in found):
                found = None
            self._shares[requested] = found
        return self._shares[requested]

    def tolerated(self, tolerations: Iterable[Toleration]) -> bool:
        """Whether tolerations cover all taints that keep the device from being allocated."""
        return not self._taints or untolerated(self._taints, tolerations) is None

    def attribute(self, name: str) -> AttributeValue | None:
        """An attribute by its full name; of the driver's own, devices may leave out the domain."""
        attributes = self.device.attributes or {}
        if name in attributes:
            return _value(attributes[name])
        domain, slash, identifier = name.partition("/")
        if not slash or domain != self.driver or identifier not in attributes:
            return None
        return _value(attributes[identifier])


class PreparedSlice:
    """A slice and its devices.

    Attributes:
        name: the slice's name.
        spec: what the slice says.
        pool_id: the pool it belongs to.
        devices: its devices, in order.
        limits: the counters that it defines, in billionths.
        counter_sets: the names of its counter sets.
    """

    __slots__ = ("counter_sets", "devices", "limits", "name", "pool_id", "source", "spec")

    def __init__(self, source: ResourceSlice) -> None:
        spec = source.spec
        self.source = source
        self.name = source.name
        self.spec = spec
        self.pool_id: PoolID = (spec.driver, spec.pool.name)
        self.devices = tuple(PooledDevice(one, spec) for one in spec.devices or ())
        shared = spec.shared_counters or ()
        self.counter_sets = [one.name for one in shared]
        self.limits = dict(_counters((one.name, one.counters or {}) for one in shared))


def _counters(
    sets: Iterable[tuple[str, dict[str, Counter]]],
) -> tuple[tuple[CounterID, int], ...]:
    amounts: dict[CounterID, int] = {}
    for name, counters in sets:
        for counter, one in counters.items():
            key = (name, counter)
            amounts[key] = amounts.get(key, 0) + parse_quantity(one.value).nano
    return tuple(amounts.items())


def _value(attribute: DeviceAttribute) -> AttributeValue:
    if attribute.string_value is not None:
        return "string", attribute.string_value
    if attribute.int_value is not None:
        return "int", attribute.int_value
    if attribute.bool_value is not None:
        return "bool", attribute.bool_value
    if attribute.version_value is not None:
        return "version", attribute.version_value
    return _UNKNOWN
