"""The ways in which pods come by devices; used by `claim_workloads` and `claim_task`."""

from collections.abc import Callable
from typing import NamedTuple

from benchmarks.scheduler.devices import Devices
from benchmarks.scheduler.kinds import Object


class ClaimKind(NamedTuple):
    """How pods come by devices.

    Attributes:
        devices: those of the cluster, and what claims ask of them.
        pods_per_claim: how many pods share a claim that was there before; 0 if each has a claim of
            its own, made from a template.
        resource: the extended resource that the pod with a number asks for, in the place of a
            claim.
        own_resources: nodes have that resource themselves; there is no device.
    """

    devices: Devices
    pods_per_claim: int = 0
    resource: Callable[[int], str] | None = None
    own_resources: bool = False

    def containers(self, number: int) -> Object:
        """The resources of the container of a pod."""
        if self.resource is None:
            return {"claims": [{"name": "resource"}]}
        amounts = {self.resource(number): "1"}
        return {"requests": amounts, "limits": amounts}
