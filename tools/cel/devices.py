"""The devices that selectors of the corpus are asked about, as JSON and as mooring reads them."""

from typing import Any, Final

from mooring.cel.device_selector import DeviceInput, InvalidAttribute
from mooring.cel.libraries.semver import Version

DEVICES: Final[dict[str, dict[str, Any]]] = {
    "gpu": {
        "driver": "gpu.example.com",
        "attributes": {
            "model": {"string": "A100-SXM4"},
            "index": {"int": 3},
            "healthy": {"bool": True},
            "driverVersion": {"version": "535.104.5"},
            "uuid": {"string": "GPU-7d1c9f52-13b4-4b0e-9a66-1c2f8b5f0a11"},
            "empty": {"string": ""},
            "negative": {"int": -42},
            "other.example.com/numa": {"int": 1},
            "other.example.com/name": {"string": "Ünïcode ✓"},
            "other.example.com/address": {"string": "10.1.2.3"},
        },
        "capacity": {"memory": "80Gi", "cores": "108", "other.example.com/share": "500m"},
        "allowMultipleAllocations": True,
    },
    "nic": {
        "driver": "nic.example.com",
        "attributes": {
            "speed": {"int": 100},
            "rdma": {"bool": False},
            "firmware": {"version": "1.2.3-rc.1+build.5"},
            "model": {"string": "ConnectX-7"},
            "gpu.example.com/model": {"string": "none"},
        },
        "capacity": {"bandwidth": "100G", "gpu.example.com/memory": "1.5Gi"},
        "allowMultipleAllocations": False,
    },
    "bare": {"driver": "bare.example.com", "attributes": {}, "capacity": {}},
    "broken": {
        "driver": "gpu.example.com",
        "attributes": {"model": {"string": "A100"}, "driverVersion": {"version": "1.2"}},
        "capacity": {},
    },
    "odd": {
        "driver": "gpu.example.com",
        "attributes": {"model": {}, "index": {"int": 1}},
        "capacity": {},
    },
}


def device_input(described: dict[str, Any]) -> DeviceInput:
    """A device of the corpus for mooring."""
    return DeviceInput(
        described["driver"],
        attributes={name: _attribute(value) for name, value in described["attributes"].items()},
        capacity=described["capacity"],
        allow_multiple_allocations=described.get("allowMultipleAllocations", False),
    )


def _attribute(value: dict[str, Any]) -> Any:
    if "version" in value:
        try:
            return Version(value["version"])
        except ValueError as error:
            return InvalidAttribute(str(error))
    return next(iter(value.values()), InvalidAttribute())
