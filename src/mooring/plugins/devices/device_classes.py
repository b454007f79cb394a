"""Which extended resources come from classes of devices, and whom a change of a class concerns.

NodeResourcesFit leaves such resources to DynamicResources on nodes that do not have them of their
own, from a device plugin; there, DynamicResources allocates devices of the class. Reads the catalog
and keeps nothing but the names.
"""

# parity v1.36.4: dynamic-resource-allocation/deviceclass/extendedresourcecache,
# plugins/noderesources/fit.go, plugins/dynamicresources/extendeddynamicresources.go

from collections.abc import Mapping
from typing import Final

from mooring.model.devices.device_class import DEVICE_CLASS_PREFIX, DeviceClass
from mooring.model.pod import Pod
from mooring.model.resource_names import is_extended
from mooring.state.catalog import Catalog

_NONE: Final[Mapping[str, str]] = {}


class ExtendedResourceCache:
    """The extended resources that classes of devices provide, read anew when a class changes.

    Attributes:
        classes: the name of the class for each resource, as read last.
    """

    def __init__(self) -> None:
        self.classes: Mapping[str, str] = _NONE
        self._catalog: Catalog | None = None
        self._version = 0

    def read(self, catalog: Catalog) -> Mapping[str, str]:
        """The name of the class for each resource; of several, the newest, then the first name."""
        version = catalog.version(DeviceClass)
        if version != self._version or catalog is not self._catalog:
            self._catalog, self._version = catalog, version
            found: dict[str, DeviceClass] = {}
            for one in catalog.all(DeviceClass).values():
                rival = found.get(one.spec.extended_resource_name or "")
                # v1.36.4: a class that comes second in this gets no implicit name either.
                if rival is None or _wins(one, rival):
                    found.update(dict.fromkeys(one.extended_resources, one))
            self.classes = {name: one.name for name, one in found.items()}
        return self.classes

    def requested_by(self, pod: Pod, catalog: Catalog) -> dict[str, str]:
        """The resources a pod asks for that come from devices, with their classes."""
        classes = self.read(catalog)
        if not classes:
            return {}
        return {
            name: classes[name]
            for name, amount in sorted(pod.requests.items())
            if amount and name in classes and is_device_resource(name)
        }


def _wins(one: DeviceClass, rival: DeviceClass) -> bool:
    """Whether a class is the newer of two, or has the first name of two that are equally old."""
    created, other = (thing.metadata.creation_timestamp or "" for thing in (one, rival))
    return created > other or (created == other and one.name < rival.name)


def is_device_resource(name: str) -> bool:
    """Whether a resource may come from devices, by its name."""
    return is_extended(name) or name.startswith(DEVICE_CLASS_PREFIX)


def provides_resource(pod: Pod, old: DeviceClass | None, new: DeviceClass) -> bool:
    """Whether a class that is new or changed provides a resource that a pending pod asks for."""
    requests = pod.requests
    before = old.extended_resources if old is not None else ()
    return any(name in requests for name in new.extended_resources if name not in before)
