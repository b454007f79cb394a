"""Who has which devices: the claims that they are allocated to, and the pods that use these.

Owns `DeviceHolders`, made anew for every question.
"""

from typing import Final, NamedTuple

from mooring.model.devices.resource_claim import ResourceClaim
from mooring.plugins.devices.allocated_state import DeviceID, device_id
from mooring.plugins.devices.claim_tracker import ClaimTracker

_PODS: Final = "pods"


class Holder(NamedTuple):
    """A claim that has devices.

    Attributes:
        claim: the claim, as ``namespace/name``.
        pods: the pods that it is reserved for, as ``namespace/name``.
        shown: how sentences call it.
    """

    claim: str
    pods: tuple[str, ...]

    @property
    def shown(self) -> str:
        """The pods and the claim, as in ``ml/train-7 (claim gpu-x2k7)``."""
        namespace, _, name = self.claim.rpartition("/")
        if not self.pods:
            return f"the claim {self.claim}, which no pod uses"
        more = f" and {len(self.pods) - 1} more" if self.pods[1:] else ""
        known = self.pods[0].startswith(f"{namespace}/")
        return f"{self.pods[0]}{more} (claim {name if known else self.claim})"


class DeviceHolders:
    """The claims that have each device.

    Args:
        tracker: the claims of the cluster.
    """

    def __init__(self, tracker: ClaimTracker) -> None:
        self._tracker = tracker
        self._claims: dict[DeviceID, list[str]] = {}
        for key, allocation in tracker.allocations.items():
            for one in allocation.devices.results or ():
                if not one.admin_access:
                    device = device_id(one.driver, one.pool, one.device)
                    self._claims.setdefault(device, []).append(key)

    def of(self, device: DeviceID) -> tuple[Holder, ...]:
        """The claims that have a device, each once."""
        return tuple(map(self._holder, dict.fromkeys(self._claims.get(device, ()))))

    def used_by(self, pods: tuple[str, ...]) -> list[str]:
        """The allocated claims that are reserved for exactly these pods."""
        return [key for key in self._tracker.allocations if self._holder(key).pods == pods]

    def _holder(self, key: str) -> Holder:
        claim = self._tracker.catalog.get(ResourceClaim, key)
        namespace = key.rpartition("/")[0]
        users = (claim.status.reserved_for or ()) if claim is not None else ()
        return Holder(
            key, tuple(f"{namespace}/{one.name}" for one in users if one.resource == _PODS)
        )
