"""The devices of one pod in one decision: what its claims get on each node, or why they get none.

Made by DynamicResources before any node is looked at. Owns the order of checks on a node, and what
was found there for those who reserve and score.
"""

# parity v1.36.4: plugins/dynamicresources/dynamicresources.go Filter, PostFilter, computeScore

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import msgspec
import numpy as np

from mooring.errors import AllocationError
from mooring.framework.arrays import Amounts, Mask
from mooring.framework.nodes import Nodes
from mooring.framework.verdict import ACCEPT, Verdict, fail, reject
from mooring.model.devices.allocation import AllocationResult
from mooring.model.devices.resource_claim import (
    DeviceClaim,
    ResourceClaim,
    ResourceClaimSpec,
)
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.devices.allocator import Allocator
from mooring.plugins.devices.binding_conditions import BindingConditions
from mooring.plugins.devices.claim_plans import ClaimReservation
from mooring.plugins.devices.claim_tracker import ClaimTracker
from mooring.plugins.devices.device_classes import is_device_resource
from mooring.plugins.devices.extended_requests import (
    IN_MEMORY,
    ExtendedRequests,
    extended_requests,
    named_claim,
)
from mooring.plugins.devices.node_answers import NodeAnswers, NodesPart
from mooring.plugins.devices.node_devices import CandidateOrder
from mooring.plugins.devices.pod_claims import is_reserved_for
from mooring.plugins.devices.requests import PreparedClaim
from mooring.plugins.devices.search_limit import SearchLimit
from mooring.plugins.devices.shape_answers import NOT_ENOUGH, score_of
from mooring.state.columns import Columns

_NOT_HERE: Final = reject("resourceclaim not available on the node", unresolvable=True)
_STALE: Final = reject("cannot schedule extended resource claim", unresolvable=True)
_NO_RESOURCE: Final = reject("cannot fit resource", unresolvable=True)


class NodeAllocation(msgspec.Struct, frozen=True):
    """What a pod gets on a node.

    Attributes:
        results: the allocations of the claims that are not allocated yet, in order.
        extended: what is asked for by the claim for extended resources, if one is made.
        claims: what these claims ask for, if they were searched for node by node.
    """

    results: Sequence[AllocationResult]
    extended: ExtendedRequests | None = None
    claims: Sequence[PreparedClaim] = ()


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
        answers: the answers about all nodes at once, if they can be had.
        reserved: the keys of the claims whose allocation is counted for the chosen node.
        order: the order in which devices are tried; None is that of kube-scheduler.
        in_thought: other devices are in use than really are.
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
        self.answers: NodeAnswers | None = None
        self.reserved: list[str] = []
        self.order: CandidateOrder | None = None
        self.in_thought = False
        self._tracker = tracker
        self._new_share_id = new_share_id
        self._limit = limit
        self._classes = tracker.extended_resources.requested_by(pod, tracker.catalog)
        self._failed = [
            one.status.allocation is not None and bool(conditions.failure(one))
            for one in self.claims
        ]
        self._allocations: dict[str, NodeAllocation] = {}
        self._allocators: dict[frozenset[str], tuple[Allocator, ExtendedRequests | None]] = {}
        self._verdicts: dict[str, Verdict] = {}

    def on(self, tracker: ClaimTracker) -> "PodDevices":
        """The same pod where other devices are in use; nothing has been looked at there yet."""
        made = copy.copy(self)
        made.answers, made.reserved, made.in_thought = None, [], True
        vars(made).update(_tracker=tracker, _allocations={}, _allocators={}, _verdicts={})
        return made

    @property
    def one_by_one(self) -> bool:
        """Whether nodes have to be looked at one by one: what is kept is not for this."""
        return self.in_thought or self.order is not None

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

    def verdicts(self, nodes: Nodes) -> list[Verdict]:
        """The same for some nodes, looked at one by one."""
        self._limit.go_on_without([one.name for one in nodes])
        return [self.verdict(one) for one in nodes]

    def answer_all(self, columns: Columns) -> NodeAnswers | None:
        """The verdicts on all nodes, from what is kept; None if each has to be looked at."""
        if self.answers is None and not self.one_by_one and not self._is_stale:
            self.answers = self._answers(columns)
        return self.answers

    def allocation(self, node: str) -> NodeAllocation | None:
        """What the pod gets on a node that was accepted; None if there is nothing to allocate."""
        found = self._allocations.get(node)
        if found is None and self.answers is not None:
            known = self.answers.allocation(node, self._new_share_id)
            if known is not None:
                found = self._allocations[node] = NodeAllocation(*known)
        return found

    def unavailable(self, nodes: Iterable[Node]) -> Iterator[tuple[str, list[int]]]:
        """The nodes rejected because of allocated claims that cannot be used, with these claims."""
        if self.answers is not None:
            names = set(self.answers.rejected_with(_NOT_HERE))
        else:
            names = {name for name, one in self._verdicts.items() if one == _NOT_HERE}
        for node in nodes:
            if node.name in names:
                yield node.name, self._unusable(node)

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
        allocation = self.allocation(node)
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

    def scores(self, nodes: Nodes) -> Amounts:
        """(n_nodes,) how good the ways are in which requests with several ways are met."""
        if not self.to_allocate:
            return np.zeros(len(nodes), np.int64)
        claims = [(one, one.status.allocation) for one in self.own_claims]
        more = score_of([(claim, found) for claim, found in claims if found is not None])
        if self.answers is not None:
            return nodes.take(self.answers.scores(more))
        return np.fromiter((self._score(one.name, more) for one in nodes), np.int64, len(nodes))

    def _score(self, node: str, more: int) -> int:
        allocation = self._allocations.get(node)
        if allocation is None:
            return 0
        return more + score_of(zip(self.to_allocate, allocation.results, strict=True))

    @property
    def _is_stale(self) -> bool:
        """Whether a claim for extended resources of an earlier attempt is in the way."""
        return self.extended is not None and bool(self.extended.spec.devices.requests)

    def _answers(self, columns: Columns) -> NodeAnswers | None:
        tracker = self._tracker
        tracker.kept.groups.refresh(columns)
        answers = NodeAnswers(columns, tracker.kept.groups.of_row)
        for resources, mask in self._by_resources(columns):
            if resources is None:
                if mask is not None:
                    answers.reject(mask, _NO_RESOURCE)
                continue
            nothing = self.extended is not None and not resources and not self.own_claims
            if not self.to_allocate or nothing:
                continue
            claims, extended = self._claims_with(resources)
            shape = tracker.kept.of(claims, columns, self._limit.begin)
            if shape is None:
                return None
            answers.add(NodesPart(mask, shape, extended))
        for index, claim in enumerate(self.claims):
            usable = self._usable_on(columns, index, claim)
            if usable is not None:
                answers.reject(~usable, _NOT_HERE)
        return answers

    def _by_resources(self, columns: Columns) -> list[tuple[frozenset[str] | None, Mask | None]]:
        """The nodes by the resources that they have to provide by devices; see `_from_devices`."""
        if self.extended is None:
            return [(frozenset(), None)]
        names = [one for one, amount in self.pod.requests.items() if amount]
        names = [one for one in names if is_device_resource(one)]
        kinds = np.zeros(len(columns), np.int64)
        impossible = np.zeros(len(columns), np.bool_)
        for place, name in enumerate(names):
            without = columns.allocatable(name) == 0
            if name in self._classes:
                kinds |= without.astype(np.int64) << place
                continue
            for row in without.nonzero()[0].tolist():
                impossible[row] |= name not in columns.nodes[row].allocatable
        found: list[tuple[frozenset[str] | None, Mask | None]] = []
        if impossible.any():
            found.append((None, impossible))
            kinds[impossible] = -1
        for kind in np.unique(kinds).tolist():
            if kind >= 0:
                resources = frozenset(name for place, name in enumerate(names) if kind >> place & 1)
                mask = kinds == kind
                found.append((resources, None if mask.all() else mask))
        return found

    def _usable_on(self, columns: Columns, index: int, claim: ResourceClaim) -> Mask | None:
        """(n,) the nodes where a claim can be used; None if that is everywhere."""
        allocation = claim.status.allocation
        if allocation is None:
            return None
        if self._failed[index]:
            return np.zeros(len(columns), np.bool_)
        selector = allocation.node_selector
        return columns.selector_mask(selector) if selector is not None else None

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
        unavailable = self._unusable(node)
        allocation = None
        if self.to_allocate:
            allocator, extended = self._allocator(from_devices)
            self._limit.start(node.name)
            results = allocator.allocate(node, self._new_share_id)
            if results is None:
                return NOT_ENOUGH
            allocation = NodeAllocation(results, extended, allocator.claims)
        if unavailable:
            return _NOT_HERE
        if allocation is not None:
            self._allocations[node.name] = allocation
        return ACCEPT

    def _unusable(self, node: Node) -> list[int]:
        """The allocated claims that cannot be used on a node."""
        return [
            index for index, claim in enumerate(self.claims) if not self._usable(index, claim, node)
        ]

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

    def _claims_with(
        self, resources: frozenset[str]
    ) -> tuple[list[ResourceClaim], ExtendedRequests | None]:
        """The claims to allocate on nodes that provide some resources by devices."""
        claims, extended = self.to_allocate, None
        if self.extended is not None and self.extended.status.allocation is None:
            extended = extended_requests(
                self.pod, {name: self._classes[name] for name in resources}
            )
            devices = DeviceClaim(requests=list(extended.requests) or None)
            claim = msgspec.structs.replace(self.extended, spec=ResourceClaimSpec(devices=devices))
            claims = [*claims[:-1], claim]
        return claims, extended

    def _allocator(self, resources: frozenset[str]) -> tuple[Allocator, ExtendedRequests | None]:
        """What allocates the claims on nodes that provide some resources by devices."""
        found = self._allocators.get(resources)
        if found is None:
            tracker = self._tracker
            claims, extended = self._claims_with(resources)
            allocator = Allocator(
                claims,
                tracker.find_class,
                tracker.inventory,
                tracker.selectors,
                tracker.state,
                self._limit.check,
            )
            allocator.order = self.order
            found = self._allocators[resources] = (allocator, extended)
        return found
