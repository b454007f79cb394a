"""The devices of a cluster's nodes, and which claims have them: what ``node.devices`` reads.

Part of `Cluster`. Nothing is worked out until somebody asks; then it follows the objects of the
catalog, and a node's devices are looked at again only if a claim got or gave back one in its pools.
An allocation that is being written counts as if it were there.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

from mooring.model.devices.allocation import AllocationResult, DeviceRequestAllocationResult
from mooring.model.devices.device_info import NO_DEVICES, Capacities, DeviceInfo, Devices
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.devices.resource_slice import ResourceSlice
from mooring.model.node import Node
from mooring.model.quantity import Quantity, parse_quantity
from mooring.state.assume_cache import AssumeCache
from mooring.state.catalog import Catalog
from mooring.state.changes.change_tracking import CatalogChanges
from mooring.state.devices.published_pools import (
    DeviceID,
    PoolID,
    PublishedDevice,
    PublishedPool,
    PublishedSlice,
    pools_of,
)

#: What has to be watched so that the devices of nodes are known.
DEVICE_KINDS: Final = (ResourceSlice, ResourceClaim)
#: So many nodes have their devices remembered.
_MOST_NODES: Final = 20_000


class _Users(NamedTuple):
    """A claim that has devices.

    Attributes:
        allocation: which.
        pods: the pods it is reserved for.
    """

    allocation: AllocationResult
    pods: tuple[str, ...]


class _Seen(NamedTuple):
    """The devices of a node as they were found last, and what that depends on."""

    labels: dict[str, str]
    changes: list[tuple[PublishedPool, int]]
    devices: Devices


class ClusterDevices:
    """The devices of all nodes.

    Args:
        catalog: slices and claims as they are stored.
        assume_cache: the allocations that are being written.
    """

    def __init__(self, catalog: Catalog, assume_cache: AssumeCache) -> None:
        self._catalog = catalog
        self._in_flight = assume_cache.in_flight
        self._changes = CatalogChanges(catalog, ResourceClaim)
        self._slices_version = 0
        self._in_flight_version = 0
        self._pools: dict[PoolID, PublishedPool] = {}
        self._by_node: dict[str, list[tuple[PublishedPool, PublishedSlice]]] = {}
        self._shared: list[tuple[PublishedPool, PublishedSlice]] = []
        self._counted: dict[str, _Users] = {}
        self._flying: set[str] = set()
        #: The claims of each device, by key, with what each has of it.
        self._claims: dict[DeviceID, dict[str, DeviceRequestAllocationResult]] = {}
        self._seen: dict[str, _Seen] = {}

    def of(self, node: Node) -> Devices:
        """The devices that a node can use."""
        self._refresh()
        if not self._pools:
            return NO_DEVICES
        seen = self._seen.get(node.name)
        if (
            seen is not None
            and (seen.labels is node.labels or seen.labels == node.labels)
            and all(pool.changes == changes for pool, changes in seen.changes)
        ):
            return seen.devices
        return self._look(node)

    def _look(self, node: Node) -> Devices:
        found: list[DeviceInfo] = []
        pools: dict[int, PublishedPool] = {}
        for pool, slice_ in (*self._by_node.get(node.name, ()), *self._shared):
            devices = slice_.devices_for(node)
            if devices:
                pools[id(pool)] = pool
                found += [self._info(one, pool) for one in devices]
        seen = _Seen(node.labels, [(pool, pool.changes) for pool in pools.values()], Devices(found))
        if len(self._seen) >= _MOST_NODES:
            self._seen.clear()
        self._seen[node.name] = seen
        return seen.devices

    def _info(self, one: PublishedDevice, pool: PublishedPool) -> DeviceInfo:
        claims = self._claims.get(one.id, {})
        left = one.capacity
        if claims:
            left = _left(one, claims.values())
        driver, pool_name, name = one.id
        return DeviceInfo(
            driver=driver,
            pool=pool_name,
            name=name,
            attributes=one.attributes,
            capacity=one.capacity,
            free_capacity=left,
            taints=tuple(one.device.taints or ()),
            shareable=one.shareable,
            free=self._is_free(one, pool, left) if one.shareable or not claims else False,
            claims=tuple(claims),
            pods=tuple(dict.fromkeys(pod for claim in claims for pod in self._counted[claim].pods)),
        )

    def _is_free(self, one: PublishedDevice, pool: PublishedPool, left: Capacities) -> bool:
        if one.id in self._claims:
            return all(amount.nano > 0 for amount in left.values())
        if not one.counters:
            return True
        counters = pool.left(self._claims)
        # As for the allocator: if more of a counter is in use than there is, nothing can be had.
        return min(counters.values(), default=0) >= 0 and all(
            amount <= counters.get(name, 0) for name, amount in one.counters.items()
        )

    # -- following the catalog

    def _refresh(self) -> None:
        version = self._catalog.version(ResourceSlice)
        if version != self._slices_version:
            self._slices_version = version
            self._read_slices()
        for key, _, _ in self._changes.pop_changes():
            self._count(key)
        if self._in_flight.changes != self._in_flight_version:
            self._in_flight_version = self._in_flight.changes
            flying = {key for kind, key in self._in_flight if kind is ResourceClaim}
            for key in flying | self._flying:
                self._count(key)
            self._flying = flying

    def _read_slices(self) -> None:
        self._pools = pools_of(self._catalog.all(ResourceSlice).values())
        by_node: dict[str, list[tuple[PublishedPool, PublishedSlice]]] = defaultdict(list)
        self._shared = []
        for pool in self._pools.values():
            for one in pool.slices:
                node = one.spec.node_name
                (by_node[node] if node else self._shared).append((pool, one))
        self._by_node = by_node
        self._seen.clear()

    def _count(self, key: str) -> None:
        """Count what a claim has now, and no longer what it had."""
        claim = self._catalog.get(ResourceClaim, key)
        allocation = claim.status.allocation if claim is not None else None
        if allocation is None:
            found = self._in_flight.get((ResourceClaim, key))
            allocation = found if isinstance(found, AllocationResult) else None
        now = _Users(allocation, _pods(claim)) if allocation is not None else None
        before = self._counted.pop(key, None)
        if now is not None:
            self._counted[key] = now
        if now == before:
            return
        for one in before.allocation.devices.results or () if before is not None else ():
            device = self._device(one)
            claims = self._claims.get(device, {})
            claims.pop(key, None)
            if not claims:
                self._claims.pop(device, None)
        for one in now.allocation.devices.results or () if now is not None else ():
            if not one.admin_access:
                self._claims.setdefault(self._device(one), {})[key] = one

    def _device(self, one: DeviceRequestAllocationResult) -> DeviceID:
        """A device of an allocation; its pool changes by that."""
        pool = self._pools.get((one.driver, one.pool))
        if pool is not None:
            pool.changes += 1
        return one.driver, one.pool, one.device


def _nothing() -> ClusterDevices:
    catalog = Catalog()
    return ClusterDevices(catalog, AssumeCache(catalog))


#: What the nodes of a cluster show as long as no driver has published anything.
NOTHING_PUBLISHED: Final = _nothing()


def _pods(claim: ResourceClaim | None) -> tuple[str, ...]:
    users = claim.status.reserved_for if claim is not None else None
    return tuple(
        f"{claim.namespace}/{one.name}"
        for one in users or ()
        if claim is not None and one.resource == "pods"
    )


def _left(one: PublishedDevice, results: Iterable[DeviceRequestAllocationResult]) -> Capacities:
    """What claims have left of a device."""
    if not one.shareable:
        return Capacities(dict.fromkeys(one.capacity, Quantity(0)))
    left = dict(one.capacity)
    for result in results:
        for name, amount in (result.consumed_capacity or {}).items():
            full = name if "/" in name else f"{one.id[0]}/{name}"
            left[full] = left.get(full, Quantity(0)) - parse_quantity(amount)
    return Capacities(left)
