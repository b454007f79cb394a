"""Whether the devices of an allocated claim are ready for a pod: conditions that drivers set.

Owns the rules for binding conditions, binding failure conditions and their time limit.
"""

# parity v1.36.4: plugins/dynamicresources/dynamicresources.go: isClaimReadyForBinding,
# isClaimTimeout

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import NamedTuple

import msgspec

from mooring.framework.plans.plan import TOO_LATE
from mooring.model.devices.allocation import DeviceRequestAllocationResult
from mooring.model.devices.resource_claim import DeviceCondition, ResourceClaim

_TRUE = "True"
_TIMEOUT = "device binding timeout"


class ReadyLimit(NamedTuple):
    """How long devices may take to become ready.

    Attributes:
        seconds: from the writes on.
        too_late: what an error says then.
    """

    seconds: float
    too_late: str


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
            return _too_late(claim)
        return ""

    def timed_out(self, claim: ResourceClaim) -> bool:
        """Whether the devices of a claim have taken too long."""
        end = self._end_ns(claim)
        return end is not None and end < self.now_ns()

    def limit(self, claims: Iterable[ResourceClaim]) -> ReadyLimit:
        """How long a pod waits: less than usual for claims that were allocated a while ago."""
        # parity v1.36.4: plugins/dynamicresources PreBind, isPodReadyForBinding
        limit = ReadyLimit(self.timeout_ns / 10**9, f"{_TIMEOUT}: {TOO_LATE}")
        now = self.now_ns()
        for claim in claims:
            end = self._end_ns(claim)
            if end is None or readiness(claim) is True:
                continue
            left = max(end - now, 0) / 10**9
            if left < limit.seconds:
                limit = ReadyLimit(left, _too_late(claim))
        return limit

    def _end_ns(self, claim: ResourceClaim) -> int | None:
        """When the devices of a claim have taken too long; None if they may take for ever."""
        allocation = claim.status.allocation
        if allocation is None or allocation.allocation_timestamp is None:
            return None
        if all(one.binding_conditions is None for one in allocation.devices.results or ()):
            return None
        since = datetime.fromisoformat(allocation.allocation_timestamp).timestamp()
        return int(since) * 10**9 + self.timeout_ns


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


def _too_late(claim: ResourceClaim) -> str:
    return f"{_TIMEOUT}: claim={claim.name}"


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
