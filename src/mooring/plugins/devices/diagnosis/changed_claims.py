"""Changed copies of claims: for fewer devices, of another class, without a selector, and so on."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from mooring.model.devices.device_class import CELDeviceSelector, DeviceSelector
from mooring.model.devices.resource_claim import (
    CapacityRequirements,
    DeviceConstraint,
    DeviceRequest,
    ResourceClaim,
    ResourceClaimStatus,
)
from mooring.model.taints import Taint, Toleration
from mooring.plugins.devices.requests import PreparedRequest


def with_requests(claim: ResourceClaim, requests: Sequence[DeviceRequest]) -> ResourceClaim:
    """A claim with other requests."""
    devices = replace(claim.spec.devices, requests=list(requests) or None)
    return replace(claim, spec=replace(claim.spec, devices=devices))


def without_constraint(claim: ResourceClaim, number: int) -> ResourceClaim:
    """A claim without one of its constraints."""
    constraints = claim.spec.devices.constraints or []
    left: list[DeviceConstraint] = [*constraints[:number], *constraints[number + 1 :]]
    devices = replace(claim.spec.devices, constraints=left or None)
    return replace(claim, spec=replace(claim.spec, devices=devices))


def freed(claim: ResourceClaim) -> ResourceClaim:
    """A claim that is not allocated any more."""
    return replace(claim, status=ResourceClaimStatus())


def selectors_of(claim: ResourceClaim, wanted: PreparedRequest) -> list[DeviceSelector]:
    """The selectors of the request itself, without those of its class."""
    for request in claim.spec.devices.requests or ():
        if request.name != wanted.request:
            continue
        if request.exactly is not None:
            return list(request.exactly.selectors or ())
        for one in request.first_available or ():
            if one.name == wanted.name:
                return list(one.selectors or ())
    return []


def with_way(claim: ResourceClaim, request: str, way: str, **fields: Any) -> ResourceClaim:
    """A claim with a request that asks for something else.

    Args:
        claim: the claim.
        request: the name of the request.
        way: the name of the subrequest, if it lists several.
        fields: what is asked for instead.
    """
    requests = []
    for one in claim.spec.devices.requests or ():
        changed = one
        if one.name == request and one.first_available:
            ways = [
                replace(sub, **fields) if sub.name == way else sub for sub in one.first_available
            ]
            changed = replace(one, first_available=ways)
        elif one.name == request and one.exactly is not None:
            changed = replace(one, exactly=replace(one.exactly, **fields))
        requests.append(changed)
    return with_requests(claim, requests)


def with_selector(
    claim: ResourceClaim, wanted: PreparedRequest, number: int, expression: str
) -> ResourceClaim:
    """A claim with another selector in the place of one; without it if that is empty."""
    selectors = selectors_of(claim, wanted)
    selectors[number : number + 1] = (
        [DeviceSelector(cel=CELDeviceSelector(expression))] if expression else []
    )
    return with_way(claim, wanted.request, wanted.name, selectors=selectors or None)


def tolerating(
    claim: ResourceClaim, wanted: PreparedRequest, taints: Iterable[Taint]
) -> ResourceClaim:
    """A claim with a request that tolerates some more taints of devices."""
    more = [
        Toleration(key=one.key, operator="Equal", value=one.value, effect=one.effect)
        if one.value
        else Toleration(key=one.key, operator="Exists", effect=one.effect)
        for one in taints
    ]
    return with_way(claim, wanted.request, wanted.name, tolerations=[*wanted.tolerations, *more])


def with_capacity(
    claim: ResourceClaim, wanted: PreparedRequest, name: str, amount: str
) -> ResourceClaim:
    """A claim with a request that asks for another amount of a capacity."""
    requests = {**dict(wanted.capacity), name: amount}
    return with_way(
        claim, wanted.request, wanted.name, capacity=CapacityRequirements(requests=requests)
    )
