"""Checks of what drivers say in a claim's status about the devices that are allocated to it."""

# parity v1.36.4: pkg/apis/resource/validation/validation.go
import ipaddress
import re
from functools import partial
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation.conditions import check_conditions
from mooring.embedded.validation.devices.claim_specs import check_raw
from mooring.embedded.validation.devices.device_names import (
    check_driver_name,
    check_label,
    check_pool_name,
    check_set,
)
from mooring.embedded.validation.field_errors import ErrorList, invalid, too_long, too_many

_CONDITIONS_LIMIT: Final = 8
_ADDRESSES_LIMIT: Final = 16
_LENGTHS: Final = {"interfaceName": 256, "hardwareAddress": 128}
_FIELDS: Final = ("driver", "pool", "device", "shareID")
_uid: Final = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}").fullmatch
_UID_LENGTH: Final = 36

#: Driver, pool, device and share.
DeviceId = tuple[str, ...]


def check_device_statuses(status: Obj, errors: ErrorList) -> None:
    """Check the devices in the status of a claim."""
    devices = (status.get("allocation") or {}).get("devices") or {}
    allocated = frozenset(_device_id(one) for one in devices.get("results") or ())
    check_set(
        status.get("devices") or (),
        -1,
        partial(_check_device, allocated=allocated),
        "status.devices",
        errors,
        key=_device_id,
    )


def check_uid(uid: str, path: str, errors: ErrorList) -> None:
    """Check the id of a share of a device."""
    if len(uid) != _UID_LENGTH:
        text = f"error validating uid: invalid UUID length: {len(uid)}"
        errors.append(invalid(path, uid, text))
    elif not _uid(uid):
        errors.append(invalid(path, uid, "error validating uid: invalid UUID format"))
    elif uid != uid.lower():
        text = (
            "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with "
            "lowercase hexadecimal characters"
        )
        errors.append(invalid(path, uid, text))


def _device_id(part: Obj) -> DeviceId:
    """Which device, or which share of one, this is about."""
    return tuple(part.get(name) or "" for name in _FIELDS)


def _check_device(
    device: Obj, path: str, errors: ErrorList, *, allocated: frozenset[DeviceId]
) -> None:
    check_driver_name(device.get("driver", ""), f"{path}.driver", errors)
    check_pool_name(device.get("pool", ""), f"{path}.pool", errors)
    check_label(device.get("device", ""), f"{path}.device", errors)
    if device.get("shareID") is not None:
        check_uid(device["shareID"], f"{path}.shareID", errors)
    known = _device_id(device)
    if known not in allocated:
        value = dict(zip(("Driver", "Pool", "Device", "ShareID"), known, strict=True))
        errors.append(invalid(path, value, "must be an allocated device in the claim"))
    conditions = device.get("conditions") or ()
    if len(conditions) > _CONDITIONS_LIMIT:
        errors.append(too_many(f"{path}.conditions", len(conditions), _CONDITIONS_LIMIT))
    check_conditions(conditions, f"{path}.conditions", errors)
    if device.get("data") is not None:
        check_raw(device["data"], f"{path}.data", errors)
    network = device.get("networkData")
    if network is not None:
        _check_network(network, f"{path}.networkData", errors)


def _check_network(network: Obj, path: str, errors: ErrorList) -> None:
    for name, limit in _LENGTHS.items():
        if len(network.get(name, "").encode()) > limit:
            errors.append(too_long(f"{path}.{name}", limit))
    addresses = network.get("ips") or ()
    check_set(addresses, _ADDRESSES_LIMIT, _check_address, f"{path}.ips", errors, key=str)


def _check_address(text: str, path: str, errors: ErrorList) -> None:
    address, slash, length = text.partition("/")
    try:
        found = ipaddress.ip_interface(text)
        if not (slash and length.isdecimal()):
            raise ValueError(address)
    except ValueError:
        problem = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
        errors.append(invalid(path, text, problem))
        return
    if text != found.with_prefixlen:
        problem = f'must be in canonical form ("{found.with_prefixlen}")'
        errors.append(invalid(path, text, problem))
