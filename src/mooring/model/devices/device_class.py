"""Classes of devices: which devices belong to one, how they are configured, what they are called.

Owns `DeviceClass`, the names of the extended resources that one stands for, and the selectors and
configurations that classes and claims have in common.
"""

from typing import Any, ClassVar, Final

from mooring.model.meta import KubeObject, KubeStruct

#: Every class provides the extended resource of this prefix and its name.
DEVICE_CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"


class CELDeviceSelector(KubeStruct, frozen=True, rename="camel"):
    """A condition on a device in the Common Expression Language."""

    expression: str = ""


class DeviceSelector(KubeStruct, frozen=True, rename="camel"):
    """A condition on a device."""

    cel: CELDeviceSelector | None = None


class OpaqueDeviceConfiguration(KubeStruct, frozen=True, rename="camel"):
    """Parameters that only a driver understands."""

    driver: str = ""
    parameters: Any = None


class DeviceConfiguration(KubeStruct, frozen=True, rename="camel"):
    """How devices are to be configured; the scheduler passes it on."""

    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClassSpec(KubeStruct, frozen=True, rename="camel"):
    """Which devices a class has, how they are configured, and what resource they are offered as."""

    selectors: list[DeviceSelector] | None = None
    config: list[DeviceConfiguration] | None = None
    extended_resource_name: str | None = None


class DeviceClass(KubeObject, frozen=True, rename="camel", dict=True):
    """A class of devices; claims name it, and pods may ask for it as an extended resource."""

    kind_name: ClassVar[str] = "DeviceClass"
    namespaced: ClassVar[bool] = False

    spec: DeviceClassSpec = DeviceClassSpec()

    @property
    def extended_resources(self) -> tuple[str, ...]:
        """The names under which pods may ask for devices of this class."""
        implicit = DEVICE_CLASS_PREFIX + self.name
        explicit = self.spec.extended_resource_name
        return (implicit, explicit) if explicit else (implicit,)
