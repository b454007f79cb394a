"""Which devices are in use: exclusively, shared, and how much of the capacities of shared ones.

Owns `AllocatedState`. Whoever keeps track of claims adds and removes allocations as claims change;
the allocator reads it. A device has the name ``driver/pool/device`` here.
"""

# parity v1.36.4: plugins/dynamicresources/allocateddevices.go,
# dynamic-resource-allocation/structured/internal/allocatedstate.go

from collections.abc import Iterable
from typing import NewType

from mooring.model.devices.allocation import AllocationResult
from mooring.model.quantity import parse_quantity
from mooring.state.changes.change_log import ChangeLog
from mooring.state.devices.published_pools import PoolID

#: A device by driver, pool and name, as in ``driver/pool/device``.
DeviceID = NewType("DeviceID", str)
#: How much of each capacity, in billionths.
Consumption = dict[str, int]


def device_id(driver: str, pool: str, device: str) -> DeviceID:
    """The name of a device; no two devices have the same, because only pools may have slashes."""
    return DeviceID(f"{driver}/{pool}/{device}")


class AllocatedState:
    """The devices in use by all claims that are allocated, or are being allocated.

    Attributes:
        devices: the devices that claims have for themselves, with how many claims have each.
        shared: the devices that claims share, with how many allocations each has.
        consumed: what allocations have taken of the capacities of shared devices.
        log: the pools whose devices were given to claims, or given back.
    """

    __slots__ = ("consumed", "devices", "log", "shared")

    def __init__(self) -> None:
        self.devices: dict[DeviceID, int] = {}
        self.shared: dict[DeviceID, int] = {}
        self.consumed: dict[DeviceID, Consumption] = {}
        self.log: ChangeLog[PoolID] = ChangeLog()

    def copy(self) -> "AllocatedState":
        """The same devices in use, to be changed in thought."""
        made = AllocatedState()
        made.devices, made.shared = self.devices.copy(), self.shared.copy()
        made.consumed = {device: amounts.copy() for device, amounts in self.consumed.items()}
        return made

    def add(self, allocation: AllocationResult) -> None:
        """Count the devices of an allocation; those for admin access are not in use by that."""
        for one in allocation.devices.results or ():
            if one.admin_access:
                continue
            device = device_id(one.driver, one.pool, one.device)
            self.log.append((one.driver, one.pool))
            if one.share_id is None:
                _count(self.devices, device, 1)
                continue
            _count(self.shared, device, 1)
            if one.consumed_capacity:
                self.consume(device, _amounts(one.consumed_capacity.items()))

    def remove(self, allocation: AllocationResult) -> None:
        """No longer count the devices of an allocation that was added."""
        for one in allocation.devices.results or ():
            if one.admin_access:
                continue
            device = device_id(one.driver, one.pool, one.device)
            self.log.append((one.driver, one.pool))
            if one.share_id is None:
                _count(self.devices, device, -1)
                continue
            _count(self.shared, device, -1)
            if one.consumed_capacity:
                self._release(device, _amounts(one.consumed_capacity.items()))

    def consume(self, device: DeviceID, amounts: Iterable[tuple[str, int]]) -> None:
        """Count what an allocation takes of a shared device's capacities."""
        consumed = self.consumed.setdefault(device, {})
        for name, amount in amounts:
            consumed[name] = consumed.get(name, 0) + amount

    def _release(self, device: DeviceID, amounts: Iterable[tuple[str, int]]) -> None:
        consumed = self.consumed.get(device)
        if consumed is None:
            return
        for name, amount in amounts:
            if name in consumed:
                consumed[name] -= amount
        if not any(consumed.values()):
            del self.consumed[device]

    def in_use(self, device: DeviceID) -> bool:
        """Whether any claim has the device, for itself or shared."""
        return device in self.devices or device in self.shared or device in self.consumed


def _count(counts: dict[DeviceID, int], device: DeviceID, change: int) -> None:
    count = counts.get(device, 0) + change
    if count > 0:
        counts[device] = count
    else:
        counts.pop(device, None)


def _amounts(texts: Iterable[tuple[str, str | int | float]]) -> list[tuple[str, int]]:
    return [(name, parse_quantity(text).nano) for name, text in texts]
