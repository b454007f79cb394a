"""Files with devices for tests."""

from pathlib import Path
from typing import Any

from mooring.embedded.devices.device_file import read_drivers
from mooring.embedded.devices.forms import DriverForm
from mooring.typed_yaml import convert

NAME = "gpu.example.com"


def driver(*devices: dict[str, Any], **pool: Any) -> DriverForm:
    """A driver with one pool."""
    return convert({"name": NAME, "pools": [{"devices": list(devices), **pool}]}, DriverForm)


def read(folder: Path, text: str) -> tuple[DriverForm, ...]:
    file = folder / "devices.yaml"
    file.write_text(text)
    return read_drivers(file)
