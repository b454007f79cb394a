"""Which request of a pod's claims cannot be met on a node: the first one that fails, and why.

Owns `Shortage` and `ShortageFinder`. The allocator itself is asked about ever more of the claims;
the request with which it first fails is the one to talk about.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from mooring.errors import AllocationError
from mooring.model.devices.resource_claim import DeviceConstraint, ResourceClaim
from mooring.model.node import Node
from mooring.plugins.devices.allocator import Allocator
from mooring.plugins.devices.claim_tracker import ClaimTracker
from mooring.plugins.devices.diagnosis.changed_claims import with_requests, without_constraint
from mooring.plugins.devices.diagnosis.device_survey import DeviceSurvey, SurveyedDevices
from mooring.plugins.devices.diagnosis.wanted_claims import NodeClaims
from mooring.plugins.devices.requests import PreparedRequest, prepare_claim

#: So often one search may ask whether it has taken too long, which is every few hundred steps.
_PATIENCE: Final = 40


class Shortage(msgspec.Struct, frozen=True):
    """A request that cannot be met on a node.

    Attributes:
        claim: the claim.
        request: the name of the request.
        place: the number of the claim and that of the request; later ones are closer to success.
        resource: the extended resource that it is for, if it is for one.
        ways: the ways to meet the request, and what there is for each.
        constraint: the constraint of the claim without which it could be met.
        together: it could be met by itself, but not with what comes before it.
    """

    claim: ResourceClaim
    request: str
    place: tuple[int, int]
    resource: str
    ways: Sequence[SurveyedDevices]
    constraint: DeviceConstraint | None = None
    together: bool = False


class ShortageFinder:
    """Finds out what is short for a pod.

    Args:
        tracker: devices and claims of the cluster, which do not change meanwhile.
    """

    def __init__(self, tracker: ClaimTracker) -> None:
        self._tracker = tracker
        self._survey = DeviceSurvey(tracker)

    def find(self, wanted: NodeClaims, node: Node) -> Shortage | None:
        """The first request that fails; None if none does by what comes before it.

        Args:
            wanted: the claims that cannot all be allocated.
            node: the node.
        """
        claims = wanted.claims
        place = self._place(claims, node)
        if place is None:
            return None
        number, index = place
        claim = claims[number]
        request = (claim.spec.devices.requests or [])[index]
        prepared = prepare_claim(claim, self._tracker.find_class)
        ways = [
            self._survey.of(claim, one, node)
            for one in prepared.requests[index]
            if isinstance(one, PreparedRequest)
        ]
        resource = ""
        if number == len(claims) - 1:  # which is the one for extended resources, if there is one
            resource = wanted.resources.get(request.name, "")
        found = Shortage(claim, request.name, place, resource, ways)
        if not any(one.enough for one in ways):
            return found
        constraint = self._constraint(claims, place, node)
        return replace(found, constraint=constraint, together=constraint is None)

    def fits(self, claims: Sequence[ResourceClaim], node: Node) -> bool:
        """Whether claims can be allocated on a node; not if that takes long to find out."""
        tracker, limit = self._tracker, _Patience()
        allocator = Allocator(
            claims, tracker.find_class, tracker.inventory, tracker.selectors, tracker.state,
            limit.check,
        )  # fmt: skip
        try:
            return allocator.allocate(node, lambda: "") is not None
        except AllocationError:
            return False

    def _place(self, claims: Sequence[ResourceClaim], node: Node) -> tuple[int, int] | None:
        places = [
            (number, index)
            for number, claim in enumerate(claims)
            for index in range(len(claim.spec.devices.requests or ()))
        ]
        if len(places) == 1:
            return places[0]
        return next((one for one in places if not self.fits(_until(claims, one), node)), None)

    def _constraint(
        self, claims: Sequence[ResourceClaim], place: tuple[int, int], node: Node
    ) -> DeviceConstraint | None:
        """The first constraint without which the request can be met."""
        for number, one in enumerate(claims[place[0]].spec.devices.constraints or ()):
            until = _until(claims, place)
            until[-1] = without_constraint(until[-1], number)
            if self.fits(until, node):
                return one
        return None


class _Patience:
    """Ends a search after some time, without a clock."""

    def __init__(self) -> None:
        self._left = _PATIENCE

    def check(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise AllocationError("it takes too long to find out")


def _until(claims: Sequence[ResourceClaim], place: tuple[int, int]) -> list[ResourceClaim]:
    """The claims up to and including a request."""
    number, index = place
    claim = claims[number]
    requests = (claim.spec.devices.requests or [])[: index + 1]
    return [*claims[:number], with_requests(claim, requests)]
