"""Best fit: which devices, and which nodes, leave the least unused; it is opt-in.

Owns `BestFit`, which DynamicResources has if its argument ``best_fit`` is on. It puts the devices
that a request could get in another order than kube-scheduler, and scores nodes by what is left:

    score = 50 x (1 - waste) + 50 / (1 + left)

`waste` is the part of the pod's devices that it gets and does not ask for, from 0 to 1; `left` is
how many devices that match its requests stay free on the node. Both count a device by its
capacities, each relative to the largest one in the cluster. All arithmetic is exact.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from mooring.model.devices.resource_slice import ResourceSlice
from mooring.model.node import Node
from mooring.model.quantity import parse_quantity
from mooring.plugins.devices.allocated_state import AllocatedState, DeviceID, device_id
from mooring.plugins.devices.claim_tracker import ClaimTracker
from mooring.plugins.devices.consumable_capacity import CapacityShare, RequestedCapacity
from mooring.plugins.devices.counters import AvailableCounters
from mooring.plugins.devices.node_devices import NodeDevices
from mooring.plugins.devices.opt_in.device_sizes import DeviceSizes, capacity_of, mean
from mooring.plugins.devices.pod_devices import NodeAllocation, PodDevices
from mooring.plugins.devices.pooled_device import CounterID, PooledDevice
from mooring.plugins.devices.pools import Pool
from mooring.plugins.devices.requests import PreparedRequest
from mooring.plugins.devices.selectors import DeviceCandidate
from mooring.state.devices.published_pools import PoolID

#: The best score; each of the two parts has half of it.
BEST: Final = 100
_HALF: Final = BEST // 2
_NONE: Final = Fraction(0)
_WHOLE: Final = Fraction(1)
#: What so many requests waste of devices is remembered.
_MOST_WASTED: Final = 65_536


class _Taken(NamedTuple):
    """A device that a pod gets, for which request, and what it takes of a shared one."""

    device: PooledDevice
    request: PreparedRequest
    shares: Sequence[CapacityShare]


class BestFit:
    """Orders devices and scores nodes by what they leave unused."""

    def __init__(self) -> None:
        self._sizes = DeviceSizes(())
        self._version = -1
        #: What requests waste of devices that they get for themselves.
        self._wasted: dict[tuple[DeviceID, RequestedCapacity], Fraction] = {}

    def refresh(self, tracker: ClaimTracker) -> "BestFit":
        """Know the devices as they are published now; returns itself."""
        version = tracker.catalog.version(ResourceSlice)
        if version != self._version:
            self._version = version
            self._sizes = DeviceSizes(tracker.inventory.slices)
            self._wasted.clear()
        return self

    def order(
        self, devices: NodeDevices, request: PreparedRequest, candidates: Sequence[DeviceCandidate]
    ) -> list[DeviceCandidate]:
        """The devices that a request could get, those that leave the least unused first.

        As with kube-scheduler, pools with binding conditions come last. So do devices for which a
        selector fails: another one may do.
        """
        available = AvailableCounters(devices.state)

        def key(candidate: DeviceCandidate) -> tuple[bool, bool, Fraction, Fraction]:
            device = candidate.device
            pool = devices.pool(device)
            started = _NONE
            if device.counters:
                counters = available.of(pool).counters
                started = mean(
                    _ratio(counters[name], pool.limits[name]) for name, _ in device.counters
                )
            return (
                candidate.failure is not None,
                pool.binding_conditions,
                self._left_over(device, request, devices.state, pool),
                started,
            )

        return sorted(candidates, key=key)

    def score(self, state: PodDevices, node: Node, tracker: ClaimTracker) -> int:
        """From 0 to 100, how little of devices a pod leaves unused on a node."""
        allocation = state.allocation(node.name)
        if allocation is None:
            return 0
        pools = tracker.inventory.pools(node)
        # The filter has asked the selectors, so that nothing here takes long.
        devices = NodeDevices(node, pools, tracker.selectors, tracker.state, lambda: None)
        taken = list(_taken(allocation, devices))
        if not taken:
            return 0
        waste = mean(self._waste(one.device, one.request.capacity, one.shares) for one in taken)
        left = self._left(devices, taken)
        return int(_HALF * (1 - waste) + _HALF / (1 + left))

    # -- one device

    def _left_over(
        self, device: PooledDevice, request: PreparedRequest, state: AllocatedState, pool: Pool
    ) -> Fraction:
        """What is unused of a device if a request gets it."""
        capacity = capacity_of(device)
        if device.shareable:
            if not capacity:
                return _NONE if state.in_use(device.id) else _WHOLE
            used = state.consumed.get(device.id, {})
            taken = {one.name: one.amount for one in device.shares(request.capacity) or ()}
            return self._sizes.part(
                device,
                {
                    name: amount - used.get(name, 0) - taken.get(name, 0)
                    for name, amount in capacity.items()
                },
            )
        if not capacity:
            return mean(_ratio(amount, pool.limits[name]) for name, amount in device.counters)
        return self._waste(device, request.capacity, ())

    def _waste(
        self,
        device: PooledDevice,
        requested: RequestedCapacity,
        shares: Sequence[CapacityShare],
    ) -> Fraction:
        """What a request gets of a device and did not ask for."""
        key = (device.id, requested)
        if not shares and key in self._wasted:
            return self._wasted[key]
        asked = {name: parse_quantity(text).nano for name, text in requested}
        gets = {one.name: one.amount for one in shares} if shares else capacity_of(device)
        waste = self._sizes.part(
            device, {name: amount - asked.get(name, 0) for name, amount in gets.items()}
        )
        if not shares:
            if len(self._wasted) >= _MOST_WASTED:
                self._wasted.clear()
            self._wasted[key] = waste
        return waste

    # -- one node

    def _left(self, devices: NodeDevices, taken: Sequence[_Taken]) -> Fraction:
        """How many devices that match the requests of a pod stay free on a node."""
        state, available = devices.state, AvailableCounters(devices.state)
        mine = {one.device.id for one in taken}
        used = {one: dict(state.consumed.get(one, {})) for one in mine}
        for one in taken:
            amounts = used[one.device.id]
            for share in one.shares:
                amounts[share.name] = amounts.get(share.name, 0) + share.amount
        left, seen = _NONE, set()
        partitions: dict[tuple[PoolID, str], dict[str, Fraction]] = {}
        for request in {id(one.request): one.request for one in taken}.values():
            for device, failure in devices.matching(request.selection):
                if failure is not None or device.id in seen:
                    continue
                seen.add(device.id)
                if device.counters:
                    pool = devices.pool(device)
                    after = _counters_after(available.of(pool).counters, pool, taken, state)
                    for counter, _ in device.counters:
                        ratio = _ratio(after[counter], pool.limits[counter])
                        partitions.setdefault((pool.id, counter[0]), {})[counter[1]] = ratio
                elif device.shareable:
                    in_use = state.in_use(device.id) or device.id in mine
                    consumed = used.get(device.id) or state.consumed.get(device.id, {})
                    left += self._rest(device, consumed, in_use=in_use)
                elif device.id not in state.devices and device.id not in mine:
                    # What is wasted of a device by whoever asks for nothing is all of it.
                    left += self._waste(device, (), ()) if device.device.capacity else 1
        # Partitions of one device count together as one, by what is left of it.
        return left + sum((mean(one.values()) for one in partitions.values()), _NONE)

    def _rest(self, device: PooledDevice, consumed: Mapping[str, int], *, in_use: bool) -> Fraction:
        """What of a device nobody has."""
        capacity = capacity_of(device)
        if not capacity:
            return _NONE if in_use else _WHOLE
        return self._sizes.part(
            device, {name: amount - consumed.get(name, 0) for name, amount in capacity.items()}
        )


def _taken(allocation: NodeAllocation, devices: NodeDevices) -> Iterator[_Taken]:
    """The devices that a pod gets and others then cannot have, with what they are for."""
    for claim, result in zip(allocation.claims, allocation.results, strict=True):
        ways = {
            way.full_name: way
            for listed in claim.requests
            for way in listed
            if isinstance(way, PreparedRequest) and not way.admin_access
        }
        found = {
            (name, candidate.device.id): candidate.device
            for name in {one.request for one in result.devices.results or ()} & ways.keys()
            for candidate in devices.matching(ways[name].selection)
        }
        for one in result.devices.results or ():
            device = found.get((one.request, device_id(one.driver, one.pool, one.device)))
            if device is not None:
                way = ways[one.request]
                shares = device.shares(way.capacity) if device.shareable else None
                yield _Taken(device, way, shares or ())


def _counters_after(
    left: Mapping[CounterID, int], pool: Pool, taken: Sequence[_Taken], state: AllocatedState
) -> dict[CounterID, int]:
    """What is left of a pool's counters when a pod has its devices."""
    after = dict(left)
    for device in {one.device.id: one.device for one in taken}.values():
        if device.pool_id == pool.id and not state.in_use(device.id):
            for counter, amount in device.counters:
                after[counter] -= amount
    return after


def _ratio(amount: int, limit: int) -> Fraction:
    return Fraction(min(max(amount, 0), limit), limit) if limit > 0 else _NONE
