"""The allocator: which devices the claims of a pod get on a node.

Owns `Allocator`. The plugin makes one for every pod it looks at and asks it node by node; the
answer for a node says what is to be written into the claims. It decides nothing about nodes and
changes nothing: inventory, selectors and state outlive it.
"""

# parity v1.36.4: dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go
# Allocate

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from mooring.errors import AllocationError
from mooring.model.devices.allocation import AllocationResult
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.node import Node
from mooring.plugins.devices.allocated_state import AllocatedState
from mooring.plugins.devices.allocation_results import NewShareID, allocation_result
from mooring.plugins.devices.allocation_search import (
    MOST_DEVICES,
    AllocatedDevice,
    AllocationSearch,
)
from mooring.plugins.devices.counters import AvailableCounters
from mooring.plugins.devices.node_devices import CandidateOrder, NodeDevices
from mooring.plugins.devices.pools import DeviceInventory
from mooring.plugins.devices.requests import (
    FindClass,
    PreparedClaim,
    PreparedRequest,
    prepare_claim,
)
from mooring.plugins.devices.selectors import DeviceSelectors


class Allocator:
    """Allocates devices for the claims of one pod.

    Args:
        claims: the claims that are not allocated yet, in the order of the pod.
        find_class: the class of a name.
        inventory: the devices of the cluster.
        selectors: which devices match.
        state: which devices are in use; it must not change while the allocator is used.
        check_time: called now and then; it raises an error if a search takes too long.

    Attributes:
        claims: what the claims ask for.
        order: the order in which devices are tried; None is that of kube-scheduler.
    """

    def __init__(
        self,
        claims: Iterable[ResourceClaim],
        find_class: FindClass,
        inventory: DeviceInventory,
        selectors: DeviceSelectors,
        state: AllocatedState,
        check_time: Callable[[], object] = lambda: None,
    ) -> None:
        self.claims = [prepare_claim(one, find_class) for one in claims]
        self.order: CandidateOrder | None = None
        self._inventory = inventory
        self._selectors = selectors
        self._state = state
        self._check_time = check_time
        self._available = AvailableCounters(state)

    def allocate(self, node: Node, new_share_id: NewShareID) -> list[AllocationResult] | None:
        """The allocation of each claim on a node; None if there are not enough devices.

        Args:
            node: the node.
            new_share_id: makes a unique id for every share of a device that is allocated.

        Raises:
            AllocationError: a claim, class, selector or pool is wrong.
        """
        pools = self._inventory.pools(node)
        devices = NodeDevices(node, pools, self._selectors, self._state, self._check_time)
        devices.order = self.order
        found = find_devices(self.claims, devices, self._available, self._check_time)
        if found is None:
            return None
        return allocation_results(self.claims, found, node.name, new_share_id)


class FoundDevices(NamedTuple):
    """What a search found.

    Attributes:
        devices: the devices of each claim.
        chosen: for each claim, the way in which each of its requests is met.
    """

    devices: Sequence[Sequence[AllocatedDevice]]
    chosen: Sequence[Sequence[PreparedRequest]]


def find_devices(
    claims: Sequence[PreparedClaim],
    devices: NodeDevices,
    available: AvailableCounters,
    check_time: Callable[[], object],
) -> FoundDevices | None:
    """The devices that claims get on a node; None if there are not enough.

    Args:
        claims: what they ask for.
        devices: the devices that the node can use.
        available: what is left of counters.
        check_time: called now and then; it raises an error if the search takes too long.

    Raises:
        AllocationError: a claim, class, selector or pool is wrong.
    """
    for claim in claims:
        _check(claim, devices)
    search = AllocationSearch(claims, devices, available, check_time)
    if search.run():
        chosen = [_chosen(claim, index, search) for index, claim in enumerate(claims)]
        return FoundDevices(search.found, chosen)
    if devices.invalid:
        raise AllocationError("invalid resource pools were encountered", only_this_node=True)
    return None


def allocation_results(
    claims: Sequence[PreparedClaim], found: FoundDevices, node: str, new_share_id: NewShareID
) -> list[AllocationResult]:
    """What is written into claims that get what was found on a node.

    Raises:
        AllocationError: a slice is for nodes that cannot be written there.
    """
    parts = zip(claims, found.chosen, found.devices, strict=True)
    return [allocation_result(*one, node, new_share_id) for one in parts]


def _check(claim: PreparedClaim, devices: NodeDevices) -> None:
    """Check what a claim asks for, in kube-scheduler's order."""
    least = 0
    for ways in claim.requests:
        least += min([_count(way, devices) for way in ways])
    if least > MOST_DEVICES:
        raise AllocationError(
            f"claim {claim.name}: number of requested devices {least} exceeds the claim limit of "
            f"{MOST_DEVICES}"
        )
    if claim.constraint_problem is not None:
        raise claim.constraint_problem


def _count(way: PreparedRequest | AllocationError, devices: NodeDevices) -> int:
    if isinstance(way, AllocationError):
        raise way
    return len(devices.candidates(way)) if way.count is None else way.count


def _chosen(
    claim: PreparedClaim, index: int, search: AllocationSearch
) -> Sequence[PreparedRequest]:
    """For each request of a claim, the way in which it is met."""
    chosen = []
    for number, ways in enumerate(claim.requests):
        way = ways[search.chosen[index, number]]
        if isinstance(way, PreparedRequest):
            chosen.append(way)
    return chosen
