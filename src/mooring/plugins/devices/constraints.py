"""Constraints of a claim: attributes that must be the same, or differ, between its devices.

Owns `Constraint` and its two kinds. The search adds every device that it takes and removes it when
it goes back; for every successful `add` there is one `remove`.
"""

# parity v1.36.4: dynamic-resource-allocation/structured/internal/incubating: constraint.go and
# matchAttributeConstraint in allocator_incubating.go

from abc import ABC, abstractmethod
from collections.abc import Iterable

from mooring.plugins.devices.pooled_device import AttributeValue, PooledDevice


class Constraint(ABC):
    """A constraint, and what it knows of the devices that were added.

    Args:
        attribute: the full name of the attribute.
        requests: the requests it is for; for all if there are none.
    """

    def __init__(self, attribute: str, requests: Iterable[str]) -> None:
        self._attribute = attribute
        self._requests = frozenset(requests)
        self._devices = 0

    def add(self, request: str, full_name: str, device: PooledDevice) -> bool:
        """Add a device, unless that violates the constraint; whether it was added.

        Args:
            request: the name of the request the device is for.
            full_name: the same, and after a slash the name of the subrequest, if it is for one.
            device: the device.
        """
        if not self._concerns(request, full_name):
            return True
        value = device.attribute(self._attribute)
        if value is None or (self._devices and not self._allows(value)):
            return False
        self._keep(request, value)
        self._devices += 1
        return True

    def remove(self, request: str, full_name: str) -> None:
        """Remove a device that was added for a request."""
        if self._concerns(request, full_name):
            self._forget(request)
            self._devices -= 1

    def _concerns(self, request: str, full_name: str) -> bool:
        names = self._requests
        return not names or request in names or full_name in names

    def demanded(self, request: str, full_name: str) -> tuple[str, AttributeValue] | None:  # noqa: ARG002
        """The attribute and the only value of it that a device for a request may have, if any."""
        return None

    @abstractmethod
    def _allows(self, value: AttributeValue) -> bool:
        """Whether a device with this value may be added to those that were."""

    @abstractmethod
    def _keep(self, request: str, value: AttributeValue) -> None:
        """Remember the value of a device that is added."""

    @abstractmethod
    def _forget(self, request: str) -> None:
        """Forget the value of a device that is removed."""


class MatchAttribute(Constraint):
    """All devices have the same value, which is the first one's."""

    _value: AttributeValue = ("", "")

    def demanded(self, request: str, full_name: str) -> tuple[str, AttributeValue] | None:
        """The value of the devices that were added."""
        if not self._devices or not self._concerns(request, full_name):
            return None
        return self._attribute, self._value

    def _allows(self, value: AttributeValue) -> bool:
        return bool(value[0]) and value == self._value

    def _keep(self, request: str, value: AttributeValue) -> None:  # noqa: ARG002
        if not self._devices:
            self._value = value

    def _forget(self, request: str) -> None:
        """The value stays until the first device of all is added again."""


class DistinctAttribute(Constraint):
    """The devices of different requests have different values.

    v1.36.4 remembers one value for each request: the devices of one request differ only from the
    one before.
    """

    def __init__(self, attribute: str, requests: Iterable[str]) -> None:
        super().__init__(attribute, requests)
        self._values: dict[str, AttributeValue] = {}

    def _allows(self, value: AttributeValue) -> bool:
        if not self._values:
            return True
        return bool(value[0]) and value not in self._values.values()

    def _keep(self, request: str, value: AttributeValue) -> None:
        self._values[request] = value

    def _forget(self, request: str) -> None:
        self._values.pop(request, None)
