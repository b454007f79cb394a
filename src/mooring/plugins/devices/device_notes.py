"""What a record says of devices: what would be written into claims on each node.

Plain data in the form of the API.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from mooring.framework.verdict import ERROR
from mooring.model.devices.allocation import AllocationResult
from mooring.plugins.devices.binding_conditions import has_binding_conditions
from mooring.plugins.devices.claim_plans import no_mappings
from mooring.plugins.devices.extended_requests import IN_MEMORY
from mooring.plugins.devices.pod_devices import PodDevices


def device_notes(state: PodDevices, nodes: Sequence[str]) -> dict[str, Any]:
    """The allocations of a pod's claims on the nodes where it fits, and what follows from them."""
    allocations, extended, waits, fails = {}, {}, [], {}
    allocated = [one.status.allocation for one in state.claims]
    waits_anyway = _has_conditions([one for one in allocated if one is not None])
    for node in nodes:
        found = state.allocation(node)
        results = found.results if found is not None else ()
        if found is not None and found.extended is not None and not found.extended.mappings:
            fails[node] = {"code": ERROR, "reasons": [no_mappings(state.pod.key)]}
        elif waits_anyway or _has_conditions(results):
            waits.append(node)
        if found is None:
            continue
        allocations[node] = {
            IN_MEMORY if claim is state.extended else claim.key: msgspec.to_builtins(result)
            for claim, result in zip(state.to_allocate, found.results, strict=True)
        }
        if found.extended is not None:
            extended[node] = {
                "requests": msgspec.to_builtins(found.extended.requests) or None,
                "requestMappings": msgspec.to_builtins(found.extended.mappings) or None,
            }
    notes = {
        "allocations": allocations,
        "extendedResourceClaims": extended,
        "bindingWait": sorted(waits),
        "preBind": fails,
    }
    return {key: value for key, value in notes.items() if value}


def _has_conditions(allocations: Iterable[AllocationResult]) -> bool:
    return any(has_binding_conditions(one.devices.results or ()) for one in allocations)
