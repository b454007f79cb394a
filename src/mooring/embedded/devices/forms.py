"""The short form in which a file describes drivers and their devices.

`device_file` reads it, `device_pools` makes Kubernetes' objects of it. Names are those of the API.
"""

from typing import Any

import msgspec

#: An amount such as ``80Gi``; a bare number is legal.
Amount = str | int


class _Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A part of the file: a field that it does not know is a mistake."""


class VersionForm(_Form, frozen=True):
    """The value of an attribute that is a version, which compares otherwise than a text."""

    version: str


class CapacityForm(_Form, frozen=True):
    """An amount that several claims may share.

    Attributes:
        value: how much there is.
        request_policy: how much one of them may take, as in a ResourceSlice.
    """

    value: Amount
    request_policy: dict[str, Any] = {}


Attributes = dict[str, bool | int | str | VersionForm]
Capacity = dict[str, str | int | CapacityForm]


class TaintForm(_Form, frozen=True):
    """A taint of a device."""

    key: str
    effect: str
    value: str = ""


class PartitionForm(_Form, frozen=True):
    """Parts of a device that can be allocated instead of the whole.

    Attributes:
        name: of the part; with a count, the beginning of the names.
        count: how many such parts there are.
        uses: how much of the device's counters each needs.
        attributes: beside those of the device.
        capacity: beside that of the device.
        taints: of the part; it does not have those of the device.
    """

    name: str
    uses: dict[str, Amount]
    count: int | None = None
    attributes: Attributes = {}
    capacity: Capacity = {}
    taints: list[TaintForm] = []


class DeviceForm(_Form, frozen=True):
    """One or several equal devices.

    Attributes:
        name: of the device; with a count, the beginning of the names.
        count: how many.
        attributes: what selectors may read; a version is written ``{version: 1.2.3}``.
        capacity: what there is of it.
        allow_multiple_allocations: whether several claims may share it.
        taints: which keep claims away that do not tolerate them.
        binding_conditions: what must hold before a pod is bound.
        binding_failure_conditions: what must not happen before.
        binds_to_node: whether the node that is chosen counts for the claim.
        counters: what its partitions share; the whole device needs all of it.
        partitions: parts that can be allocated instead of the whole.
    """

    name: str
    count: int | None = None
    attributes: Attributes = {}
    capacity: Capacity = {}
    allow_multiple_allocations: bool = False
    taints: list[TaintForm] = []
    binding_conditions: list[str] = []
    binding_failure_conditions: list[str] = []
    binds_to_node: bool = False
    counters: dict[str, Amount] = {}
    partitions: list[PartitionForm] = []


class PoolForm(_Form, frozen=True):
    """The devices of a node, or devices that several nodes can reach.

    Attributes:
        devices: what is in it.
        name: of a pool that several nodes can reach; without it, each node has one of its own.
        nodes: only these nodes; with ``*`` at the end, those whose names begin so.
        node_labels: only nodes with these labels.
    """

    devices: list[DeviceForm]
    name: str = ""
    nodes: list[str] = []
    node_labels: dict[str, str] = {}


class ClassForm(_Form, frozen=True):
    """A DeviceClass for a driver's devices.

    Attributes:
        name: of the class.
        selector: an expression in CEL that its devices must satisfy, beside being the driver's.
        extended_resource_name: under which name containers can ask for its devices.
    """

    name: str
    selector: str = ""
    extended_resource_name: str = ""


class DriverForm(_Form, frozen=True):
    """A driver.

    Attributes:
        name: such as ``gpu.example.com``.
        pools: its devices.
        classes: DeviceClasses to begin with; None for one with the driver's name.
    """

    name: str
    pools: list[PoolForm]
    classes: list[ClassForm] | None = None


class DriversForm(_Form, frozen=True):
    """The whole file.

    Attributes:
        drivers: what it is about.
        nodes: in a file with nodes, these; they are read elsewhere.
    """

    drivers: list[DriverForm] = []
    nodes: Any = None
