"""The devices of a node as policies see them: ``node.devices``.

Plain values, read-only. `mooring.state.devices.cluster_devices` makes them of what drivers publish
and claims have.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn, overload

import msgspec

from mooring.model.devices.resource_slice import DeviceTaint
from mooring.model.quantity import Quantity

#: The value of an attribute; a version is text.
AttributeValue = str | int | bool

_NOTHING = Quantity(0)


class Capacities(dict[str, Quantity]):
    """Exact amounts by full name; the amount of what a device does not have is 0."""

    __slots__ = ()

    def __missing__(self, name: str) -> Quantity:
        return _NOTHING

    def _read_only(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("the capacities of a device are read-only; change a copy: dict(...)")

    __setitem__ = __delitem__ = __ior__ = _read_only
    clear = pop = popitem = setdefault = update = _read_only


class DeviceInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A device, and who has it.

    Attributes:
        driver: the driver that published it.
        pool: the pool it belongs to.
        name: its name in the pool.
        attributes: its properties by full name, such as ``gpu.example.com/model``.
        capacity: how much it has, by full name, such as ``gpu.example.com/memory``.
        free_capacity: how much of that claims have left.
        taints: its taints.
        shareable: whether claims can share it.
        free: whether a claim can have it, or some of it.
        claims: the claims that have it or some of it, as ``namespace/name``.
        pods: the pods that these claims are reserved for, as ``namespace/name``.
    """

    driver: str
    pool: str
    name: str
    attributes: Mapping[str, AttributeValue]
    capacity: Mapping[str, Quantity]
    free_capacity: Mapping[str, Quantity]
    taints: Sequence[DeviceTaint]
    shareable: bool
    free: bool
    claims: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()

    @property
    def allocated(self) -> bool:
        """Whether a claim has it, or some of it."""
        return bool(self.claims)

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.name}"


class Devices(Sequence[DeviceInfo]):
    """Devices of a node, in the order in which their drivers publish them."""

    __slots__ = ("_allocated", "_devices", "_free", "_of")

    def __init__(self, devices: Iterable[DeviceInfo] = ()) -> None:
        self._devices = tuple(devices)
        self._free: Devices | None = None
        self._allocated: Devices | None = None
        self._of: dict[str, Devices] = {}

    @property
    def free(self) -> "Devices":
        """Those that a claim can have, or some of which."""
        if self._free is None:
            self._free = Devices(one for one in self._devices if one.free)
        return self._free

    @property
    def allocated(self) -> "Devices":
        """Those that a claim has, or some of which."""
        if self._allocated is None:
            self._allocated = Devices(one for one in self._devices if one.claims)
        return self._allocated

    def of(self, driver: str) -> "Devices":
        """Those of one driver, such as ``gpu.example.com``."""
        found = self._of.get(driver)
        if found is None:
            found = Devices(one for one in self._devices if one.driver == driver)
            if found:  # a policy may ask for any number of others
                self._of[driver] = found
        return found

    @overload
    def __getitem__(self, index: int) -> DeviceInfo: ...
    @overload
    def __getitem__(self, index: slice) -> "Devices": ...
    def __getitem__(self, index: int | slice) -> "DeviceInfo | Devices":
        if isinstance(index, slice):
            return Devices(self._devices[index])
        return self._devices[index]

    def __len__(self) -> int:
        return len(self._devices)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Devices) and self._devices == other._devices

    def __hash__(self) -> int:
        return hash(tuple(map(str, self._devices)))

    def __repr__(self) -> str:
        return f"<Devices {', '.join(map(str, self._devices)) or 'none'}>"


#: A node without devices.
NO_DEVICES = Devices()
