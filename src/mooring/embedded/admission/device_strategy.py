"""What the API server works out itself about slices of devices and about claims to devices.

`strategy` calls it, for new slices by way of `kind_strategies`.
"""

from typing import Final

from mooring.embedded.resources import Obj

# What only belongs to gates that are closed.
_LISTS: Final = ("bools", "ints", "strings", "versions")


def complete_slice(device_slice: Obj, now: str) -> None:
    """Complete a new or changed slice, in place: taints count from now on, unless they say when."""
    # parity v1.36.4: pkg/registry/resource/resourceslice/strategy.go dropDisabledFields
    for device in device_slice["spec"].get("devices", ()):
        device.pop("nodeAllocatableResourceMappings", None)
        for attribute in device.get("attributes", {}).values():
            for name in _LISTS:
                attribute.pop(name, None)
        for taint in device.get("taints", ()):
            if now:
                taint.setdefault("timeAdded", now)


def drop_deallocated_devices(claim: Obj, old: Obj) -> None:
    """Drop what drivers said about devices that a claim does not have any more, in place."""
    # parity v1.36.4: pkg/registry/resource/resourceclaim/strategy.go dropDeallocatedStatusDevices
    status = claim["status"]
    gone = _allocated(old) - _allocated(claim)
    kept = [one for one in status.get("devices") or () if _device(one) not in gone]
    if kept:
        status["devices"] = kept
    else:
        status.pop("devices", None)


def _allocated(claim: Obj) -> set[tuple[str, ...]]:
    allocation = claim["status"].get("allocation") or {}
    return {_device(one) for one in (allocation.get("devices") or {}).get("results") or ()}


def _device(part: Obj) -> tuple[str, ...]:
    return tuple(part.get(name) or "" for name in ("driver", "pool", "device", "shareID"))
