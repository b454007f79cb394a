"""How large devices are, compared with each other: exactly, as parts of the largest ones.

Owns `DeviceSizes`, for best fit. Who has a device is not its business.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final

from mooring.model.quantity import parse_quantity
from mooring.plugins.devices.pooled_device import PooledDevice, PreparedSlice

_NONE: Final = Fraction(0)


class DeviceSizes:
    """How large devices are, compared with the largest ones of the same driver.

    Args:
        slices: all devices.
    """

    def __init__(self, slices: Iterable[PreparedSlice]) -> None:
        self._largest: dict[tuple[str, str], int] = {}
        for one in slices:
            for device in one.devices:
                for name, amount in capacity_of(device).items():
                    key = (device.driver, name)
                    self._largest[key] = max(self._largest.get(key, 0), amount)

    def part(self, device: PooledDevice, amounts: Mapping[str, int]) -> Fraction:
        """How much of a device some amounts of its capacities are: the mean over these, 0 to 1."""
        parts = []
        for name in device.device.capacity or {}:
            largest = self._largest.get((device.driver, name), 0)
            amount = min(max(amounts.get(name, 0), 0), largest)
            parts.append(Fraction(amount, largest) if largest else _NONE)
        return mean(parts)


def capacity_of(device: PooledDevice) -> dict[str, int]:
    """The capacities of a device, in billionths."""
    return {
        name: parse_quantity(one.value).nano for name, one in (device.device.capacity or {}).items()
    }


def mean(parts: Iterable[Fraction]) -> Fraction:
    """The mean of some parts; 0 if there are none."""
    listed = list(parts)
    return sum(listed, _NONE) / len(listed) if listed else _NONE
