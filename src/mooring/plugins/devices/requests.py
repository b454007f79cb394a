"""What claims ask for, in the form in which the allocator looks at it, prepared once for all nodes.

Owns `PreparedClaim` and `PreparedRequest`. What is wrong with a request is kept and not raised: the
allocator meets it in the order in which it looks at requests.
"""

# parity v1.36.4: dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go
# validateDeviceRequest

from collections.abc import Callable, Iterable, Sequence

import msgspec

from mooring.errors import AllocationError
from mooring.model.devices.device_class import DeviceClass, DeviceSelector
from mooring.model.devices.resource_claim import (
    ALL,
    EXACT_COUNT,
    DeviceConstraint,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
)
from mooring.model.taints import Toleration
from mooring.plugins.devices.constraints import Constraint, DistinctAttribute, MatchAttribute
from mooring.plugins.devices.consumable_capacity import RequestedCapacity
from mooring.plugins.devices.selectors import Selection, SelectorFailure

#: The class of a name; None if there is none.
FindClass = Callable[[str], DeviceClass | None]


class PreparedRequest(msgspec.Struct, frozen=True):
    """One way to meet a request.

    Attributes:
        claim: how errors call the claim.
        request: the name of the request.
        name: the name of this way: of the subrequest, or of the request if it has none.
        full_name: the name in results: ``request`` or ``request/subrequest``.
        device_class: the class of the devices.
        selection: the expressions that devices have to match.
        count: how many devices; None means all.
        admin_access: whether devices may be in use by others.
        tolerations: which taints devices may have.
        capacity: what is asked of the devices' capacities.
    """

    claim: str
    request: str
    name: str
    full_name: str
    device_class: DeviceClass
    selection: Selection
    count: int | None
    admin_access: bool
    tolerations: Sequence[Toleration]
    capacity: RequestedCapacity

    def error(self, problem: str) -> AllocationError:
        """An error that names claim and request."""
        return AllocationError(f"claim {self.claim}, request {self.name}{problem}")

    def selector_error(self, failure: SelectorFailure) -> AllocationError:
        """The error for a selector that fails."""
        owner = f"class {self.device_class.name}" if failure.of_class else f"claim {self.claim}"
        return AllocationError(f"{owner}: selector #{failure.number}: {failure.problem}")


class PreparedClaim(msgspec.Struct, frozen=True):
    """What a claim asks for.

    Attributes:
        claim: the claim.
        name: how errors call it.
        requests: the ways to meet each request, the preferred one first.
        constraint_problem: what is wrong with the constraints, if anything.
    """

    claim: ResourceClaim
    name: str
    requests: Sequence[Sequence[PreparedRequest | AllocationError]]
    constraint_problem: AllocationError | None

    @property
    def constraints(self) -> list[Constraint]:
        """The constraints, with no device added yet."""
        found = [_constraint(one) for one in self.claim.spec.devices.constraints or ()]
        return [one for one in found if one is not None]


def prepare_claim(claim: ResourceClaim, find_class: FindClass) -> PreparedClaim:
    """What a claim asks for; whatever is wrong with it becomes an error in its place."""
    name = _shown(claim)
    requests = [_ways(name, request, find_class) for request in claim.spec.devices.requests or ()]
    problem = next(
        (
            AllocationError(
                f"claim {name}, constraint #{index}: empty constraint "
                f"(unsupported constraint type?)"
            )
            for index, one in enumerate(claim.spec.devices.constraints or ())
            if _constraint(one) is None
        ),
        None,
    )
    return PreparedClaim(claim, name, requests, problem)


def _shown(claim: ResourceClaim) -> str:
    namespace = claim.metadata.namespace
    return f"{namespace}/{claim.name}" if namespace else claim.name


def _ways(
    claim: str, request: DeviceRequest, find_class: FindClass
) -> list[PreparedRequest | AllocationError]:
    if request.first_available:
        return [
            _way(claim, request.name, one, find_class, one.name) for one in request.first_available
        ]
    exactly = request.exactly or ExactDeviceRequest()
    return [_way(claim, request.name, exactly, find_class)]


def _way(
    claim: str,
    request: str,
    way: ExactDeviceRequest | DeviceSubRequest,
    find_class: FindClass,
    subrequest: str = "",
) -> PreparedRequest | AllocationError:
    name = subrequest or request
    start = f"claim {claim}, request {name}"
    for index, selector in enumerate(way.selectors or ()):
        if selector.cel is None:
            return AllocationError(
                f"{start}, selector #{index}: CEL expression empty (unsupported selector type?)"
            )
    if not way.device_class_name:
        return AllocationError(f"{start}: missing device class name (unsupported request type?)")
    device_class = find_class(way.device_class_name)
    if device_class is None:
        return AllocationError(
            f"{start}: could not retrieve device class {way.device_class_name}: "
            f'deviceclass.resource.k8s.io "{way.device_class_name}" not found'
        )
    if way.allocation_mode not in (EXACT_COUNT, ALL):
        return AllocationError(f"{start}: unsupported count mode {way.allocation_mode}")
    requested = way.capacity.requests if way.capacity is not None else None
    return PreparedRequest(
        claim=claim,
        request=request,
        name=name,
        full_name=f"{request}/{subrequest}" if subrequest else request,
        device_class=device_class,
        selection=(
            _expressions(device_class.spec.selectors or ()),
            _expressions(way.selectors or ()),
        ),
        count=way.count if way.allocation_mode == EXACT_COUNT else None,
        admin_access=isinstance(way, ExactDeviceRequest) and bool(way.admin_access),
        tolerations=way.tolerations or (),
        capacity=tuple(sorted((requested or {}).items())),
    )


def _expressions(selectors: Iterable[DeviceSelector]) -> tuple[str, ...]:
    return tuple(one.cel.expression if one.cel is not None else "" for one in selectors)


def _constraint(one: DeviceConstraint) -> Constraint | None:
    if one.match_attribute is not None:
        return MatchAttribute(one.match_attribute, one.requests or ())
    if one.distinct_attribute is not None:
        return DistinctAttribute(one.distinct_attribute, one.requests or ())
    return None
