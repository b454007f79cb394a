"""The devices that nodes publish themselves, for a new node like one that is there.

Called by the search for suggestions, and where nodes are added to a fork. Devices on a network,
which many nodes can use, stay as they are.
"""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from mooring.model.devices.device_class import DeviceClass
from mooring.model.devices.resource_slice import ResourceSlice
from mooring.state.catalog import Catalog


class PublishedDevices:
    """The slices of each node.

    Args:
        catalog: the objects of the cluster.

    Attributes:
        resources: the extended resources that nodes may provide by devices.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._slices: dict[str, list[ResourceSlice]] = {}
        for one in catalog.all(ResourceSlice).values():
            if one.spec.node_name:
                self._slices.setdefault(one.spec.node_name, []).append(one)
        self.resources = frozenset(
            name for one in catalog.all(DeviceClass).values() for name in one.extended_resources
        )

    def kind(self, node: str) -> object:
        """The same for nodes whose devices are alike."""
        found = [
            (
                one.spec.driver,
                msgspec.json.encode(
                    [(each.attributes, each.capacity, each.taints) for each in one.spec.devices]
                    if one.spec.devices
                    else ()
                ),
            )
            for one in self._slices.get(node, ())
        ]
        return tuple(sorted(found))

    def count(self, node: str) -> int:
        """How many devices a node has."""
        return sum(len(one.spec.devices or ()) for one in self._slices.get(node, ()))

    def like(self, node: str, new: str) -> tuple[ResourceSlice, ...]:
        """The slices that a new node would publish, in pools of their own."""
        return tuple(_renamed(self._slices.get(node, ()), node, new))


def _renamed(slices: Iterable[ResourceSlice], node: str, new: str) -> Iterable[ResourceSlice]:
    for one in slices:
        name = one.spec.pool.name
        pool = replace(one.spec.pool, name=new if name == node else f"{new}-{name}")
        spec = replace(one.spec, node_name=new, pool=pool)
        metadata = replace(one.metadata, name=f"{new}-{one.name}", uid=f"uid--{new}-{one.name}")
        yield replace(one, metadata=metadata, spec=spec)
