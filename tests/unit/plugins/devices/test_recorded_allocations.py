"""Kubernetes' own tests of its allocator, recorded: the same devices, or the same error.

Every case was run by kube-scheduler v1.36.4 with the features that it has on by default.
"""

import gzip
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mooring.errors import AllocationError
from mooring.model.devices.device_class import DeviceClass
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.devices.resource_slice import ResourceSlice
from mooring.model.node import Node
from mooring.model.quantity import parse_quantity
from mooring.plugins.devices.allocated_state import AllocatedState, DeviceID
from mooring.plugins.devices.allocator import Allocator
from mooring.plugins.devices.cel_selectors import compile_device_selector
from mooring.plugins.devices.pools import DeviceInventory
from mooring.plugins.devices.selectors import DeviceSelectors

CASES = [
    msgspec.json.decode(line)
    for line in gzip.decompress(
        Path(__file__).with_name("allocator_cases.ndjson.gz").read_bytes()
    ).splitlines()
]
#: What is compared of an error: not the text of the one who looked for a class, or of CEL.
COMPARED = re.compile(r".*(could not retrieve device class [a-z-]+|CEL (compile|runtime) error)")


def in_use(given: dict[str, Any]) -> AllocatedState:
    state = AllocatedState()
    state.devices = dict.fromkeys(map(DeviceID, given.get("devices") or ()), 1)
    for shared in given.get("sharedDevices") or ():
        state.shared[DeviceID(shared.rpartition("/")[0])] = 1
    for device, amounts in (given.get("consumedCapacity") or {}).items():
        state.consume(
            DeviceID(device),
            [(name, parse_quantity(text).nano) for name, text in amounts.items()],
        )
    return state


def outcome(case: dict[str, Any]) -> dict[str, Any]:
    """The result of a case in the form in which it was recorded."""
    classes = [DeviceClass.from_dict(one) for one in case["classes"] or ()]
    inventory = DeviceInventory()
    inventory.update(ResourceSlice.from_dict(one) for one in case["slices"] or ())
    allocator = Allocator(
        [ResourceClaim.from_dict(one) for one in case["claims"] or ()],
        {one.name: one for one in classes}.get,
        inventory,
        DeviceSelectors(compile_device_selector),
        in_use(case["allocatedState"]),
    )
    try:
        found = allocator.allocate(Node.from_dict(case["node"]), lambda: "<shareID>")
    except AllocationError as error:
        said: dict[str, Any] = {"result": None, "error": str(error)}
        return said | ({"onlyThisNode": True} if error.only_this_node else {})
    return {"result": msgspec.to_builtins(found)}


def comparable(value: Any, key: str = "") -> Any:
    """A value with amounts as numbers and errors cut short."""
    if key == "consumedCapacity":
        return {name: parse_quantity(text).nano for name, text in value.items()}
    if key == "error":
        known = COMPARED.match(value)
        return known[0] if known is not None else value
    if isinstance(value, dict):
        return {name: comparable(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [comparable(one) for one in value]
    return value


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_devices_are_those_of_kube_scheduler(case: dict[str, Any]) -> None:
    assert comparable(outcome(case)) == comparable(case["withDefaultFeatures"])


def test_there_are_all_cases() -> None:
    assert len(CASES) == 206
