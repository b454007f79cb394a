"""Whether the devices of an allocated claim are ready for a pod: conditions that drivers set.

Owns the rules for binding conditions, binding failure conditions and their time limit.
"""

# parity v1.36.4: plugins/dynamicresources/dynamicresources.go: isClaimReadyForBinding,
# isClaimTimeout

from collections.abc import Callable, Iterable
from datetime import datetime

import msgspec

from mooring.model.devices.allocation import DeviceRequestAllocationResult
from mooring.model.devices.resource_claim import DeviceCondition, ResourceClaim

_TRUE = "True"


class BindingConditions(msgspec.Struct, frozen=True):
    """Says of claims whether they are ready.

    Attributes:
        timeout_ns: how long devices may take to become ready.
        now_ns: the clock.
    """

    timeout_ns: int
    now_ns: Callable[[], int]

    def failure(self, claim: ResourceClaim) -> str:
        """Why the devices of a claim will never be ready; empty if they may be."""
        ready = readiness(claim)
        if isinstance(ready, str):
            return ready
        if not ready and self.timed_out(claim):
            return f"device binding timeout: claim={claim.name}"
        return ""

    def timed_out(self, claim: ResourceClaim) -> bool:
        """Whether the devices of a claim have taken too long."""
        allocation = claim.status.allocation
        if allocation is None or allocation.allocation_timestamp is None:
            return False
        if all(one.binding_conditions is None for one in allocation.devices.results or ()):
            return False
        since = datetime.fromisoformat(allocation.allocation_timestamp).timestamp()
        return int(since) * 10**9 + self.timeout_ns < self.now_ns()


def readiness(claim: ResourceClaim) -> bool | str:
    """Whether the devices of an allocated claim are ready, or why one has failed."""
    for one in _conditional(claim):
        conditions = _conditions_of(claim, one)
        if conditions is None:
            return False
        for name in one.binding_failure_conditions or ():
            found = conditions.get(name)
            if found is not None and found.status == _TRUE:
                return (
                    f"device binding failed: claim={claim.name}, reason={found.reason}, "
                    f'message="{found.message}"'
                )
        for name in one.binding_conditions or ():
            found = conditions.get(name)
            if found is None or found.status != _TRUE:
                return False
    return True


def has_binding_conditions(results: Iterable[DeviceRequestAllocationResult]) -> bool:
    """Whether a pod has to wait for any of the devices."""
    return any(one.binding_conditions for one in results)


def _conditional(claim: ResourceClaim) -> list[DeviceRequestAllocationResult]:
    allocation = claim.status.allocation
    results = allocation.devices.results if allocation is not None else None
    return [one for one in results or () if one.binding_conditions]


def _conditions_of(
    claim: ResourceClaim, result: DeviceRequestAllocationResult
) -> dict[str, DeviceCondition] | None:
    """The conditions that a device's driver has set; None if it has set none."""
    for one in claim.status.devices or ():
        if (one.device, one.driver, one.pool) == (result.device, result.driver, result.pool):
            return {condition.type: condition for condition in one.conditions or ()}
    return None
