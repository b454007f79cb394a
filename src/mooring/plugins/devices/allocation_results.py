"""What is written into claims: the devices that were found, their configuration and their nodes.

Owns how an `AllocationResult` is made from the outcome of a search.
"""

# parity v1.36.4: dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go
# Allocate (from "Populate configs" on), createNodeSelector

from collections.abc import Callable, Iterable, Sequence

from mooring.errors import AllocationError
from mooring.model.devices.allocation import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
)
from mooring.model.selectors import NodeSelector, NodeSelectorTerm, Requirement
from mooring.plugins.devices.allocation_search import AllocatedDevice
from mooring.plugins.devices.requests import PreparedClaim, PreparedRequest

_FROM_CLASS = "FromClass"
_FROM_CLAIM = "FromClaim"
#: Makes a unique id for a share of a device.
NewShareID = Callable[[], str]


def allocation_result(
    claim: PreparedClaim,
    chosen: Sequence[PreparedRequest],
    devices: Sequence[AllocatedDevice],
    node: str,
    new_share_id: NewShareID,
) -> AllocationResult:
    """The allocation of a claim.

    Args:
        claim: the claim.
        chosen: for each of its requests, the way in which it is met.
        devices: the devices that were found, in order.
        node: the name of the node.
        new_share_id: makes ids for shares of devices.
    """
    config = [*_class_configs(chosen), *_claim_configs(claim, chosen)]
    return AllocationResult(
        devices=DeviceAllocationResult(
            results=[_result(one, new_share_id) for one in devices] or None, config=config or None
        ),
        node_selector=_node_selector(claim, devices, node),
    )


def _result(one: AllocatedDevice, new_share_id: NewShareID) -> DeviceRequestAllocationResult:
    device = one.device.device
    shared = one.device.shareable
    return DeviceRequestAllocationResult(
        request=one.request.full_name,
        driver=one.device.driver,
        pool=one.device.pool,
        device=device.name,
        admin_access=True if one.request.admin_access else None,
        tolerations=list(one.request.tolerations) or None,
        binding_conditions=device.binding_conditions,
        binding_failure_conditions=device.binding_failure_conditions,
        share_id=new_share_id() if shared else None,
        consumed_capacity={share.name: share.text for share in one.shares} or None
        if shared
        else None,
    )


def _class_configs(chosen: Sequence[PreparedRequest]) -> Iterable[DeviceAllocationConfiguration]:
    """The configurations of the classes, each once, with the requests it is for."""
    requests: dict[str, list[PreparedRequest]] = {}
    for one in chosen:
        requests.setdefault(one.device_class.name, []).append(one)
    for of_class in requests.values():
        for config in of_class[0].device_class.spec.config or ():
            yield DeviceAllocationConfiguration(
                opaque=config.opaque,
                source=_FROM_CLASS,
                requests=[one.full_name for one in of_class],
            )


def _claim_configs(
    claim: PreparedClaim, chosen: Sequence[PreparedRequest]
) -> Iterable[DeviceAllocationConfiguration]:
    """The configurations of the claim; one that names requests comes once for each it matches."""
    for config in claim.claim.spec.devices.config or ():
        made = DeviceAllocationConfiguration(
            opaque=config.opaque, source=_FROM_CLAIM, requests=config.requests or None
        )
        if not config.requests:
            yield made
            continue
        for one in chosen:
            if one.request in config.requests or one.full_name in config.requests:
                yield made


def _node_selector(
    claim: PreparedClaim, devices: Iterable[AllocatedDevice], node: str
) -> NodeSelector | None:
    """The nodes where all the devices can be used; None if that is everywhere."""
    fields: list[Requirement] = []
    labels: list[Requirement] = []
    for one in devices:
        device, spec = one.device.device, one.device.slice
        part = device if spec.per_device_node_selection else spec
        if part.node_name is not None or device.binds_to_node:
            only = Requirement("metadata.name", "In", [node])
            return NodeSelector([NodeSelectorTerm(match_fields=[only])])
        terms = part.node_selector.node_selector_terms if part.node_selector is not None else None
        if terms and len(terms) > 1:
            raise AllocationError(
                f"create NodeSelector for claim {claim.claim.name}: unsupported "
                f"ResourceSlice.NodeSelector with {len(terms)} terms"
            )
        for term in terms or ():
            _add_new(fields, term.match_fields or ())
            _add_new(labels, term.match_expressions or ())
    if not fields and not labels:
        return None
    term = NodeSelectorTerm(match_expressions=labels or None, match_fields=fields or None)
    return NodeSelector([term])


def _add_new(known: list[Requirement], more: Iterable[Requirement]) -> None:
    for one in more:
        if not any(
            one.key == other.key
            and one.operator == other.operator
            and set(one.values or ()) == set(other.values or ())
            for other in known
        ):
            known.append(one)
