"""The part of a selector that rejects a device, and the values that it reads."""

from typing import Any

import pytest

from mooring.model.devices.resource_slice import ResourceSlice
from mooring.plugins.devices.diagnosis.selector_parts import SelectorParts, conjuncts, short
from mooring.plugins.devices.pooled_device import PooledDevice, PreparedSlice
from tests.unit.plugins.devices.device_objects import DRIVER, attribute, device, published


def pooled(**fields: Any) -> PooledDevice:
    made: ResourceSlice = published("a", device("g0", **fields))
    return PreparedSlice(made).devices[0]


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        ("a", ["a"]),
        ("a && b&&c", ["a", "b", "c"]),
        ("a && (b && c)", ["a", "(b && c)"]),
        ("a && [b && c][0]", ["a", "[b && c][0]"]),
        ('a == "x && y" && b', ['a == "x && y"', "b"]),
        ("a || b && c", ["a || b && c"]),
        ("a && b ? c : d", ["a && b ? c : d"]),
        ("a.?b.orValue(c) && d", ["a.?b.orValue(c)", "d"]),
        ("a && (b ? c : d)", ["a", "(b ? c : d)"]),
        ("a && #", ["a && #"]),
    ],
)
def test_conjuncts(expression: str, parts: list[str]) -> None:
    assert conjuncts(expression) == parts


def test_the_first_part_that_is_false() -> None:
    parts, one = SelectorParts(), pooled(size=3, fast=False)
    big, fast, missing = f"{attribute('size')} > 5", attribute("fast"), attribute("gone")
    assert parts.rejecting(f"{big} && {fast}", one) == big
    assert parts.rejecting(f"!{fast} && {big}", one) == big
    # What fails is not what rejects; false && error is false.
    assert parts.rejecting(f"{missing} && {fast}", one) == fast
    either = f"{big} || {fast}"
    assert parts.rejecting(either, one) == either


@pytest.mark.parametrize(
    ("part", "values"),
    [
        (f"{attribute('size')} > 5", "size 3"),
        (f'device.attributes["{DRIVER}"]["size"] > 5', "size 3"),
        (f'device.attributes["{DRIVER}"].?size.orValue(0) > 5', "size 3"),
        (f'"gone" in device.attributes["{DRIVER}"]', "no gone"),
        (f"has({attribute('gone')})", "no gone"),
        ('device.attributes["other.example.com"].x == 1', "no other.example.com/x"),
        (f'device.capacity["{DRIVER}"].memory.isInteger()', "memory 40Gi"),
        ('device.capacity["other.example.com"].memory.isInteger()', "no other.example.com/memory"),
        ('device.driver == "x"', f"driver {DRIVER}"),
        ("device.allowMultipleAllocations", "allowMultipleAllocations false"),
        (f"{attribute('size')} > 5 || {attribute('fast')}", "size 3 and fast true"),
        ("[1].all(one, one > 5)", ""),
        ("1 +", ""),
    ],
)
def test_the_values_that_a_part_reads(part: str, values: str) -> None:
    made = device("g0", "40Gi", size=3, fast=True)
    one = PreparedSlice(published("a", made)).devices[0]
    assert SelectorParts().values(part, one) == values


def test_a_long_part_is_cut_in_the_middle() -> None:
    long = f"{'a' * 200} == {'b' * 200}"
    assert len(short(long)) <= 120
    assert short(long).startswith("aaa")
    assert short(long).endswith("bbb")
    assert short("a\n  && b") == "a && b"
