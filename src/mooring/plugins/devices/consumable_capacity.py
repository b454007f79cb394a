"""How much of a device's capacities one allocation takes, by the policies of the capacities.

Owns the rules for defaults, valid values, ranges and steps. The allocator asks once for each device
and set of requested amounts; what is left of a capacity is not decided here.
"""

# parity v1.36.4: dynamic-resource-allocation/structured/internal/incubating/consumable_capacity.go

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from mooring.model.devices.resource_slice import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    DeviceCapacity,
)
from mooring.model.quantity import Quantity, parse_quantity

_NANO: Final = 10**9
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
#: A quantity as it is written.
_Text = str | int | float
#: The amounts that a request asks for, by capacity.
RequestedCapacity = tuple[tuple[str, _Text], ...]


class CapacityShare(NamedTuple):
    """What one allocation takes of a capacity.

    Attributes:
        name: the capacity's name.
        amount: how much, in billionths.
        limit: how much the device has, in billionths.
        text: how much, as it is written.
    """

    name: str
    amount: int
    limit: int
    text: str


def capacity_shares(
    capacity: Mapping[str, DeviceCapacity], requested: RequestedCapacity
) -> tuple[CapacityShare, ...] | None:
    """What an allocation takes of all capacities of a device; None if the request is impossible.

    It is if it names a capacity that the device does not have, or asks for an amount that the
    policy of the capacity does not allow.
    """
    amounts = dict(requested)
    if not amounts.keys() <= capacity.keys():
        return None
    shares = []
    for name, one in capacity.items():
        amount, text = _consumed(amounts.get(name), one)
        if one.request_policy is not None and _violates(amount, one.request_policy):
            return None
        shares.append(CapacityShare(name, amount.nano, parse_quantity(one.value).nano, text))
    return tuple(shares)


def fits(
    shares: Sequence[CapacityShare],
    used: Mapping[str, int] | None,
    ours: Sequence[Sequence[CapacityShare]],
) -> bool:
    """Whether there is enough left of a device's capacities.

    Args:
        shares: what is to be taken; alone, it is no more than the device has.
        used: what claims have taken of the device, if any.
        ours: what other requests of the same pod have taken, of the same capacities in order.
    """
    if used is None and not ours:
        return True
    taken = used or {}
    return all(
        one.amount + taken.get(one.name, 0) + sum(other[index].amount for other in ours)
        <= one.limit
        for index, one in enumerate(shares)
    )


def _consumed(requested: _Text | None, capacity: DeviceCapacity) -> tuple[Quantity, str]:
    """What is taken, given what is asked for, if anything."""
    policy = capacity.request_policy
    if requested is None:
        default = policy.default if policy is not None else None
        return _read(capacity.value if default is None else default)
    if policy is None:
        return _read(requested)
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _rounded_up(requested, policy.valid_range.min, policy.valid_range.step)
    amount = parse_quantity(requested)
    for valid in policy.valid_values or ():
        if amount <= parse_quantity(valid):
            return _read(valid)
    return _read(requested)


def _read(text: _Text) -> tuple[Quantity, str]:
    return parse_quantity(text), str(text)


def _rounded_up(requested: _Text, least: _Text, step: _Text | None) -> tuple[Quantity, str]:
    """An amount that is at least the least, and a number of whole steps away from it."""
    if parse_quantity(requested) < parse_quantity(least):
        return _read(least)
    if step is None:
        return _read(requested)
    start, width = parse_quantity(least).value, parse_quantity(step).value
    steps = -(-(parse_quantity(requested).value - start) // width) if width else 0
    whole = start + width * steps
    return Quantity(whole * _NANO), _in_binary_units(whole)


def _in_binary_units(whole: int) -> str:
    if abs(whole) < 1024:
        return str(whole)
    unit = 0
    while whole % 1024 == 0 and unit < len(_BINARY) - 1:
        whole, unit = whole // 1024, unit + 1
    return f"{whole}{_BINARY[unit]}"


def _violates(amount: Quantity, policy: CapacityRequestPolicy) -> bool:
    if policy.default is not None and amount == parse_quantity(policy.default):
        return False
    if policy.valid_range is not None:
        return _outside(amount, policy.valid_range)
    values = policy.valid_values
    return bool(values) and all(amount != parse_quantity(one) for one in values or ())


def _outside(amount: Quantity, valid: CapacityRequestPolicyRange) -> bool:
    if valid.max is not None and amount > parse_quantity(valid.max):
        return True
    if valid.step is None or valid.min is None:
        return False
    width = parse_quantity(valid.step).value
    return width != 0 and (amount.value - parse_quantity(valid.min).value) % width != 0
