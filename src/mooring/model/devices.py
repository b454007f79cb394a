"""Classes of devices, as far as scheduling reads them.

Owns `DeviceClass` and the names of the extended resources that one stands for. Devices themselves
are not modelled yet.
"""

from typing import ClassVar, Final

from mooring.model.meta import KubeObject, KubeStruct

#: Every class provides the extended resource of this prefix and its name.
DEVICE_CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"


class DeviceClassSpec(KubeStruct, frozen=True, rename="camel"):
    """What a class says of its devices; of it, only the resource that they are offered as."""

    extended_resource_name: str | None = None


class DeviceClass(KubeObject, frozen=True, rename="camel", dict=True):
    """A class of devices; pods may ask for them as an extended resource."""

    kind_name: ClassVar[str] = "DeviceClass"
    namespaced: ClassVar[bool] = False

    spec: DeviceClassSpec = DeviceClassSpec()

    @property
    def extended_resources(self) -> tuple[str, ...]:
        """The names under which pods may ask for devices of this class."""
        implicit = DEVICE_CLASS_PREFIX + self.name
        explicit = self.spec.extended_resource_name
        return (implicit, explicit) if explicit else (implicit,)
