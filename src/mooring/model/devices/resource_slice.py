"""Slices of pools of devices, which drivers publish: the devices, and the nodes that can use them.

Owns `ResourceSlice` and what it consists of. What slices make up a pool, and whether it can be used
now, is not the model's business.
"""

from typing import ClassVar

import msgspec

from mooring.model.meta import KubeObject, KubeStruct
from mooring.model.selectors import NodeSelector
from mooring.model.taints import Taint


class DeviceAttribute(KubeStruct, frozen=True, rename="camel"):
    """A property of a device: exactly one of the fields is set, as far as this version knows."""

    int_value: int | None = msgspec.field(default=None, name="int")
    bool_value: bool | None = msgspec.field(default=None, name="bool")
    string_value: str | None = msgspec.field(default=None, name="string")
    version_value: str | None = msgspec.field(default=None, name="version")


class CapacityRequestPolicyRange(KubeStruct, frozen=True, rename="camel"):
    """Amounts of a capacity that can be had: from, to, and in which steps."""

    min: str | int | float | None = None
    max: str | int | float | None = None
    step: str | int | float | None = None


class CapacityRequestPolicy(KubeStruct, frozen=True, rename="camel"):
    """How much of a capacity one allocation of a shared device can have."""

    default: str | int | float | None = None
    valid_values: list[str | int | float] | None = None
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(KubeStruct, frozen=True, rename="camel"):
    """How much a device has of something."""

    value: str | int | float = 0
    request_policy: CapacityRequestPolicy | None = None


class Counter(KubeStruct, frozen=True, rename="camel"):
    """How much there is, or is consumed, of something that partitions of a device share."""

    value: str | int | float = 0


class CounterSet(KubeStruct, frozen=True, rename="camel"):
    """What the partitions of a device share."""

    name: str = ""
    counters: dict[str, Counter] | None = None


class DeviceCounterConsumption(KubeStruct, frozen=True, rename="camel"):
    """What a device takes out of a counter set."""

    counter_set: str = ""
    counters: dict[str, Counter] | None = None


class DeviceTaint(Taint, frozen=True, rename="camel"):
    """A mark on a device that repels claims that do not tolerate it."""

    time_added: str | None = None


class Device(KubeStruct, frozen=True, rename="camel"):
    """A device."""

    name: str = ""
    attributes: dict[str, DeviceAttribute] | None = None
    capacity: dict[str, DeviceCapacity] | None = None
    consumes_counters: list[DeviceCounterConsumption] | None = None
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: list[DeviceTaint] | None = None
    binds_to_node: bool | None = None
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None
    allow_multiple_allocations: bool | None = None


class ResourcePool(KubeStruct, frozen=True, rename="camel"):
    """The pool that a slice belongs to, and of how many slices it consists now."""

    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


class ResourceSliceSpec(KubeStruct, frozen=True, rename="camel"):
    """Some devices of a pool, and the nodes that can use them."""

    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    devices: list[Device] | None = None
    per_device_node_selection: bool | None = None
    shared_counters: list[CounterSet] | None = None


class ResourceSlice(KubeObject, frozen=True, rename="camel", dict=True):
    """A part of a pool of devices."""

    kind_name: ClassVar[str] = "ResourceSlice"
    namespaced: ClassVar[bool] = False

    spec: ResourceSliceSpec = ResourceSliceSpec()
