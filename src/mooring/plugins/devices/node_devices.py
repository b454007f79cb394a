"""The devices that one node can use, as one search sees them.

Owns `NodeDevices`: which devices match a request, in the order in which they are tried, and which
make up "all" devices.
"""

# parity v1.36.4: dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go
# validateDeviceRequest, isSelectable

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from mooring.model.node import Node
from mooring.plugins.devices.allocated_state import AllocatedState
from mooring.plugins.devices.consumable_capacity import RequestedCapacity, fits
from mooring.plugins.devices.pooled_device import AttributeValue, PooledDevice
from mooring.plugins.devices.pools import Pool
from mooring.plugins.devices.requests import PreparedRequest
from mooring.plugins.devices.selectors import DeviceCandidate, DeviceSelectors, Selection
from mooring.state.devices.published_pools import PoolID, is_for

#: Puts the devices that a request could get in the order in which they are tried.
CandidateOrder = Callable[
    ["NodeDevices", PreparedRequest, Sequence[DeviceCandidate]], list[DeviceCandidate]
]
#: So many combinations of expressions are remembered from one search to the next.
_MOST_SELECTIONS: Final = 8


class _ByValue(NamedTuple):
    """Candidates by the value of an attribute; incomplete if looking at one of them fails."""

    places: dict[AttributeValue | None, list[int]]
    complete: bool


class NodeDevices:
    """The devices of the pools that a node sees.

    Args:
        node: the node.
        pools: these pools.
        selectors: which devices match.
        state: what is in use.
        check_time: called now and then; it raises an error if the search takes too long.

    Attributes:
        state: what is in use.
        order: the order in which devices are tried; None is that of kube-scheduler.
    """

    def __init__(
        self,
        node: Node,
        pools: Sequence[Pool],
        selectors: DeviceSelectors,
        state: AllocatedState,
        check_time: Callable[[], object],
    ) -> None:
        self.state = state
        self.order: CandidateOrder | None = None
        self._node = node
        self._pools = pools
        self._selectors = selectors
        self._check_time = check_time
        self._by_id: dict[PoolID, Pool] = {}
        self._matching: dict[Selection, list[DeviceCandidate]] = {}
        self._all: dict[int, list[DeviceCandidate]] = {}
        self._ordered: dict[tuple[Selection, RequestedCapacity], list[DeviceCandidate]] = {}
        self._by_value: dict[tuple[Selection, RequestedCapacity, str], _ByValue] = {}

    def begin(self, check_time: Callable[[], object]) -> None:
        """Another search begins: devices are in use that were not, or no longer.

        Args:
            check_time: called now and then from now on.
        """
        self._check_time = check_time
        self._all.clear()
        if len(self._matching) > _MOST_SELECTIONS:
            self._matching.clear()
            self._by_value.clear()

    @property
    def invalid(self) -> bool:
        """Whether a pool that the node sees contradicts itself."""
        return any(pool.problem for pool in self._pools)

    def pool(self, device: PooledDevice) -> Pool:
        """The pool of a device."""
        if not self._by_id:
            self._by_id = {pool.id: pool for pool in self._pools}
        return self._by_id[device.pool_id]

    def candidates(self, request: PreparedRequest) -> Sequence[DeviceCandidate]:
        """The devices to try for a request, or all there are if it asks for "all" devices.

        Raises:
            AllocationError: it asks for "all" devices, and which these are cannot be said.
        """
        if request.count is None:
            key = id(request)  # requests outlive this
            if key not in self._all:
                self._all[key] = list(self._everything(request))
            return self._all[key]
        if self.order is None:
            return self.matching(request.selection)
        asked = (request.selection, request.capacity)
        if asked not in self._ordered:
            self._ordered[asked] = self.order(self, request, self.matching(request.selection))
        return self._ordered[asked]

    def matching(self, selection: Selection) -> Sequence[DeviceCandidate]:
        """The devices that match, in the order of pools, slices and devices."""
        found = self._matching.get(selection)
        if found is None:
            found = self._matching[selection] = []
            for pool in self._pools:
                if pool.usable:
                    self._extend(found, pool, selection)
        return found

    def with_value(
        self, request: PreparedRequest, attribute: str, value: AttributeValue
    ) -> Sequence[int] | None:
        """The places in `candidates` of devices with a value; None if all have to be looked at.

        Looking at a candidate may fail, and then it has to.
        """
        key = (request.selection, request.capacity if self.order is not None else (), attribute)
        index = self._by_value.get(key)
        if index is None:
            index = self._by_value[key] = self._index(request, attribute)
        return index.places.get(value, ()) if index.complete else None

    def _index(self, request: PreparedRequest, attribute: str) -> _ByValue:
        places: dict[AttributeValue | None, list[int]] = {}
        candidates = self.candidates(request)
        for place, one in enumerate(candidates):
            places.setdefault(one.device.attribute(attribute), []).append(place)
        return _ByValue(places, all(one.failure is None for one in candidates))

    def _extend(self, found: list[DeviceCandidate], pool: Pool, selection: Selection) -> None:
        """Add the devices of a pool that match, and those for which a selector fails."""
        for one in pool.slices:
            matching = self._selectors.candidates(one, selection, self._check_time)
            if one.spec.per_device_node_selection:
                matching = [
                    candidate
                    for candidate in matching
                    if candidate.failure or is_for(candidate.device.device, self._node)
                ]
            found += matching

    def _everything(self, request: PreparedRequest) -> Iterator[DeviceCandidate]:
        for pool in self._pools:
            if not pool.usable:
                state = "being updated" if pool.incomplete else "invalid"
                raise request.error(
                    f": asks for all devices, but resource pool {pool} is currently {state}"
                )
            found: list[DeviceCandidate] = []
            self._extend(found, pool, request.selection)
            for one in found:
                if one.failure is not None:
                    raise request.selector_error(one.failure)
                shares = one.device.shares(request.capacity)
                used = self.state.consumed.get(one.device.id)
                if shares is not None and fits(shares, used, ()):
                    yield one
