"""Which devices match is found out once, also if there was no time to ask about all at once."""

from collections.abc import Callable, Iterator

import pytest

from mooring.errors import AllocationError
from mooring.model.devices.resource_slice import ResourceSlice
from mooring.plugins.devices.pooled_device import PooledDevice, PreparedSlice
from mooring.plugins.devices.selectors import DeviceSelectors

SELECTION = ((), ("even",))


@pytest.fixture
def one() -> PreparedSlice:
    return PreparedSlice(
        ResourceSlice.from_dict(
            {
                "metadata": {"name": "one"},
                "spec": {
                    "driver": "gpu.example.com",
                    "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1},
                    "nodeName": "a",
                    "devices": [{"name": f"d-{number}"} for number in range(6)],
                },
            }
        )
    )


class Asked:
    """Selects devices with even numbers, and keeps who was asked about."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def compile(self, expression: str) -> Callable[[PooledDevice], bool]:
        assert expression == "even"

        def matches(device: PooledDevice) -> bool:
            name = device.device.name
            self.names.append(name)
            return int(name[-1]) % 2 == 0

        return matches


def in_time_for(devices: int) -> Callable[[], None]:
    left: Iterator[int] = iter(range(devices))

    def check() -> None:
        if next(left, None) is None:
            raise AllocationError("timed out")

    return check


def test_who_has_no_time_leaves_the_rest_to_the_next(one: PreparedSlice) -> None:
    asked = Asked()
    selectors = DeviceSelectors(asked.compile)
    for _ in range(2):
        with pytest.raises(AllocationError, match="timed out"):
            selectors.candidates(one, SELECTION, in_time_for(2))
    found = selectors.candidates(one, SELECTION, in_time_for(2))
    assert [candidate.device.device.name for candidate in found] == ["d-0", "d-2", "d-4"]
    assert asked.names == [f"d-{number}" for number in range(6)]
    assert selectors.candidates(one, SELECTION) == found
    assert len(asked.names) == 6


def test_other_expressions_start_at_the_first_device(one: PreparedSlice) -> None:
    asked = Asked()
    selectors = DeviceSelectors(asked.compile)
    with pytest.raises(AllocationError):
        selectors.candidates(one, SELECTION, in_time_for(4))
    found = selectors.candidates(one, (("even",), ()))
    assert [candidate.device.device.name for candidate in found] == ["d-0", "d-2", "d-4"]
