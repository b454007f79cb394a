"""The devices of one pod in one decision: what its claims get on each node, or why they get none.

Made by DynamicResources before any node is looked at. Owns the order of checks on a node, and what
was found there for those who reserve and score.
"""

# parity v1.36.4: plugins/dynamicresources/dynamicresources.go Filter, PostFilter, computeScore

import copy
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from mooring.errors import AllocationError
from mooring.framework.verdict import ACCEPT, Verdict, fail, reject
from mooring.model.devices.allocation import AllocationResult
from mooring.model.devices.resource_claim import (
    DeviceClaim,
    DeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from mooring.model.meta import ObjectMeta
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.devices.allocator import Allocator
from mooring.plugins.devices.binding_conditions import BindingConditions
from mooring.plugins.devices.claim_plans import ClaimReservation
from mooring.plugins.devices.claim_tracker import ClaimTracker
from mooring.plugins.devices.device_classes import is_device_resource
from mooring.plugins.devices.extended_requests import ExtendedRequests, extended_requests
from mooring.plugins.devices.node_devices import CandidateOrder
from mooring.plugins.devices.pod_claims import is_reserved_for
from mooring.plugins.devices.requests import PreparedClaim

#: The name of a claim that does not exist yet.
IN_MEMORY: Final = "<extended-resources>"
#: The most characters of a name that the API server generates.
_MOST_CHARACTERS: Final = 63
#: A request that is met in the first way scores so much, and one less for each way down.
_BEST: Final = 8
NOT_ENOUGH: Final = reject("cannot allocate all claims", unresolvable=True)
_NOT_HERE: Final = reject("resourceclaim not available on the node", unresolvable=True)
_STALE: Final = reject("cannot schedule extended resource claim", unresolvable=True)
_NO_RESOURCE: Final = reject("cannot fit resource", unresolvable=True)


class NodeAllocation(msgspec.Struct, frozen=True):
    """What a pod gets on a node.

    Attributes:
        results: the allocations of the claims that are not allocated yet, in order.
        extended: what is asked for by the claim for extended resources, if one is made.
        claims: what these claims ask for.
    """

    results: Sequence[AllocationResult]
    extended: ExtendedRequests | None = None
    claims: Sequence[PreparedClaim] = ()


def named_claim(pod: Pod, requests: Sequence[DeviceRequest], suffix: str) -> ResourceClaim:
    """The claim for a pod's extended resources as it is created."""
    # parity v1.36.4: apiserver/pkg/storage/names/generate.go
    start = f"{pod.name}-extended-resources-"[: _MOST_CHARACTERS - len(suffix)]
    return ResourceClaim(
        metadata=ObjectMeta(name=start + suffix, namespace=pod.namespace),
        spec=ResourceClaimSpec(devices=DeviceClaim(requests=list(requests) or None)),
    )


class SearchLimit:
    """How long the search for devices on one node may take.

    Args:
        now_ns: the clock.
        timeout_ns: how long; 0 for as long as it takes.
    """

    def __init__(self, now_ns: Callable[[], int], timeout_ns: int) -> None:
        self._now_ns = now_ns
        self._timeout_ns = timeout_ns
        self._node = ""
        self._end = 0
        self._problem = ""

    def start(self, node: str) -> None:
        """The search on a node begins, unless it took too long on another one.

        Raises:
            AllocationError: it did; this ends the attempt, and other nodes would only cost time.
        """
        if self._problem:
            raise AllocationError(self._problem)
        self._node = node
        self._end = self._now_ns() + self._timeout_ns

    def check(self) -> None:
        """Raise an error if it takes too long."""
        if self._timeout_ns and self._now_ns() > self._end:
            self._problem = f"node {self._node}: timed out trying to allocate devices"
            raise AllocationError(self._problem)


def in_memory_claim(pod: Pod) -> ResourceClaim:
    """A claim for a pod's extended resources, which is created when a node was chosen."""
    return ResourceClaim(metadata=ObjectMeta(name=IN_MEMORY, namespace=pod.namespace))


class PodDevices:
    """The claims of a pod, and what they get.

    Args:
        pod: the pod.
        own_claims: the claims that it names.
        extended: the claim for its extended resources; None if it asks for none.
        tracker: devices and claims of the cluster.
        conditions: whether allocated devices are ready.
        new_share_id: makes ids for shares of devices.
        limit: how long the search on one node may take.

    Attributes:
        claims: all claims of the pod; that for extended resources comes last.
        to_allocate: those of them that are not allocated yet.
        allocations: what the pod gets on the nodes that were accepted.
        unavailable: the allocated claims that cannot be used, on nodes rejected because of that.
        reserved: the keys of the claims whose allocation is counted for the chosen node.
        order: the order in which devices are tried; None is that of kube-scheduler.
    """

    def __init__(
        self,
        pod: Pod,
        own_claims: Sequence[ResourceClaim] = (),
        extended: ResourceClaim | None = None,
        *,
        tracker: ClaimTracker,
        conditions: BindingConditions,
        new_share_id: Callable[[], str],
        limit: SearchLimit,
    ) -> None:
        self.pod = pod
        self.own_claims = own_claims
        self.extended = extended
        self.claims = [*own_claims, extended] if extended is not None else list(own_claims)
        self.to_allocate = [one for one in self.claims if one.status.allocation is None]
        self.allocations: dict[str, NodeAllocation] = {}
        self.unavailable: dict[str, list[int]] = {}
        self.reserved: list[str] = []
        self.order: CandidateOrder | None = None
        self._tracker = tracker
        self._new_share_id = new_share_id
        self._limit = limit
        self._classes = tracker.extended_resources.requested_by(pod, tracker.catalog)
        self._failed = [
            one.status.allocation is not None and bool(conditions.failure(one))
            for one in self.claims
        ]
        self._asked: dict[frozenset[str], tuple[Allocator, ExtendedRequests | None]] = {}
        self._verdicts: dict[str, Verdict] = {}

    def on(self, tracker: ClaimTracker) -> "PodDevices":
        """The same pod where other devices are in use; nothing has been looked at there yet."""
        made = copy.copy(self)
        made.allocations, made.unavailable, made.reserved = {}, {}, []
        vars(made).update(_tracker=tracker, _asked={}, _verdicts={})
        return made

    def verdict(self, node: Node) -> Verdict:
        """Whether the pod's claims have, or can have, devices on a node."""
        found = self._verdicts.get(node.name)
        if found is None:
            try:
                found = self._check(node)
            except AllocationError as error:
                text = str(error)
                found = reject(text, unresolvable=True) if error.only_this_node else fail(text)
            self._verdicts[node.name] = found
        return found

    def allocation(self, node: str) -> NodeAllocation | None:
        """What the pod gets on a node that was accepted; None if there is nothing to allocate."""
        return self.allocations.get(node)

    @property
    def prioritized(self) -> bool:
        """Whether a request can be met in several ways."""
        return any(
            request.first_available
            for claim in self.own_claims
            for request in claim.spec.devices.requests or ()
        )

    @property
    def stale(self) -> ResourceClaim | None:
        """The claim for extended resources that was made for an earlier attempt, if any."""
        extended = self.extended
        return extended if extended is not None and extended.name != IN_MEMORY else None

    def reservations(self, node: str, suffix: str) -> list[ClaimReservation]:
        """The claims that are to be reserved for the pod, with what they get on a node.

        Args:
            node: the name of the node.
            suffix: ends the name of the claim for extended resources.
        """
        allocation = self.allocations.get(node)
        if self.to_allocate and allocation is None:
            return []  # a device plugin provides all extended resources there
        results = iter(allocation.results if allocation is not None else ())
        found = []
        for claim in self.claims:
            if claim.status.allocation is not None:
                if not is_reserved_for(claim, self.pod):
                    found.append(ClaimReservation(claim))
                continue
            result = next(results)
            extended = allocation.extended if allocation is not None else None
            if claim is not self.extended or extended is None:
                found.append(ClaimReservation(claim, result))
                continue
            made = named_claim(self.pod, extended.requests, suffix)
            found.append(ClaimReservation(made, result, created=True, mappings=extended.mappings))
        return found

    def may_deallocate(self, index: int) -> bool:
        """Whether a claim can be deallocated because nobody but the pod may be using it."""
        claim = self.claims[index]
        users = claim.status.reserved_for or ()
        return (
            claim is not self.extended
            and len(users) <= 1
            and all(one.uid == self.pod.uid for one in users)
        )

    def score(self, node: str) -> int:
        """How good the ways are in which requests with several ways are met on a node."""
        allocation = self.allocations.get(node)
        if allocation is None:
            return 0
        results = iter(allocation.results)
        score = 0
        for claim in self.claims:
            found = claim.status.allocation or next(results)
            names = {one.request for one in found.devices.results or ()}
            for request in claim.spec.devices.requests or ():
                for index, one in enumerate(request.first_available or ()):
                    if f"{request.name}/{one.name}" in names:
                        score += _BEST - index
        return score

    def _check(self, node: Node) -> Verdict:
        from_devices: frozenset[str] = frozenset()
        if self.extended is not None:
            if self.extended.spec.devices.requests:
                return _STALE
            found = self._from_devices(node)
            if found is None:
                return _NO_RESOURCE
            from_devices = found
            if not from_devices and not self.own_claims:
                return ACCEPT
        unavailable = [
            index for index, claim in enumerate(self.claims) if not self._usable(index, claim, node)
        ]
        allocation = None
        if self.to_allocate:
            allocator, extended = self._allocator(from_devices)
            self._limit.start(node.name)
            results = allocator.allocate(node, self._new_share_id)
            if results is None:
                return NOT_ENOUGH
            allocation = NodeAllocation(results, extended, allocator.claims)
        if unavailable:
            self.unavailable[node.name] = unavailable
            return _NOT_HERE
        if allocation is not None:
            self.allocations[node.name] = allocation
        return ACCEPT

    def _usable(self, index: int, claim: ResourceClaim, node: Node) -> bool:
        """Whether a claim can be used on a node, as far as it is allocated."""
        allocation = claim.status.allocation
        if allocation is None:
            return True
        selector = allocation.node_selector
        if selector is not None and not selector.matches(node.labels, node.name):
            return False
        return not self._failed[index]

    def _from_devices(self, node: Node) -> frozenset[str] | None:
        """The resources that a node has to provide by devices; None if it cannot provide one."""
        needed = set()
        for name, amount in self.pod.requests.items():
            if not amount or not is_device_resource(name):
                continue
            if name in self._classes and not node.allocatable[name]:
                needed.add(name)
            elif name not in node.allocatable:
                return None
        return frozenset(needed)

    def _allocator(self, resources: frozenset[str]) -> tuple[Allocator, ExtendedRequests | None]:
        """What allocates the claims on nodes that provide some resources by devices."""
        found = self._asked.get(resources)
        if found is not None:
            return found
        claims, extended = self.to_allocate, None
        if self.extended is not None and self.extended.status.allocation is None:
            extended = extended_requests(
                self.pod, {name: self._classes[name] for name in resources}
            )
            devices = DeviceClaim(requests=list(extended.requests) or None)
            claim = msgspec.structs.replace(self.extended, spec=ResourceClaimSpec(devices=devices))
            claims = [*claims[:-1], claim]
        tracker = self._tracker
        allocator = Allocator(
            claims,
            tracker.find_class,
            tracker.inventory,
            tracker.selectors,
            tracker.state,
            self._limit.check,
        )
        allocator.order = self.order
        self._asked[resources] = (allocator, extended)
        return allocator, extended
