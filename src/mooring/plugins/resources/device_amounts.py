"""What nodes have of resources that devices provide there, for scoring.

Where a node has nothing of a resource of its own, the devices of the resource's class count: those
there are, and those in use. Called for pods that ask for such a resource, if it is one that counts.
"""

# parity v1.36.4: plugins/noderesources/resource_allocation.go calculateResourceAllocatableRequest

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mooring.framework.arrays import Amounts
from mooring.plugins.devices.claim_tracker import tracker_of
from mooring.plugins.devices.device_classes import is_device_resource
from mooring.plugins.devices.device_totals import device_totals
from mooring.plugins.resources.scoring_strategies import Capacity, capacity_from
from mooring.state.cluster import Cluster


class DeviceAmount(NamedTuple):
    """What all nodes have of a resource, and what of it is in use."""

    capacity: Capacity
    used: Amounts


def from_classes(classes: Mapping[str, str], names: Iterable[str]) -> list[str]:
    """Those of some resources that a class of devices provides.

    What there is of them changes with claims and slices, and not with nodes and pods alone.
    """
    return [name for name in names if name in classes and is_device_resource(name)]


def device_amounts(
    cluster: Cluster, classes: Mapping[str, str], names: Iterable[str]
) -> dict[str, DeviceAmount]:
    """The amounts of those of some resources that a class of devices provides."""
    wanted = from_classes(classes, names)
    if not wanted:
        return {}
    tracker, columns = tracker_of(cluster), cluster.columns
    found = {}
    for name in wanted:
        device_class = tracker.find_class(classes[name])
        if device_class is None:
            continue
        totals = device_totals(tracker, columns, device_class)
        amounts, used = columns.allocatable(name).copy(), columns.used(name).copy()
        from_devices = (amounts == 0) & (totals.capacity > 0)
        amounts[from_devices] = totals.capacity[from_devices]
        used[from_devices] = totals.allocated[from_devices]
        found[name] = DeviceAmount(capacity_from(amounts), used)
    return found
