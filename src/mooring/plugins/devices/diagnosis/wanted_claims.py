"""The claims of a pod as explanations look at them: node by node, and without deciding anything.

Owns `WantedClaims`. What a decision keeps about a pod is made to be fast; this is made anew for
every question.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from mooring.framework.verdict import Verdict
from mooring.model.devices.resource_claim import DeviceClaim, ResourceClaim, ResourceClaimSpec
from mooring.model.meta import ObjectMeta
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.devices.binding_conditions import readiness
from mooring.plugins.devices.claim_tracker import ClaimTracker
from mooring.plugins.devices.device_classes import is_device_resource
from mooring.plugins.devices.extended_requests import extended_requests
from mooring.plugins.devices.pod_claims import check_classes, claims_of

_MADE_UP: Final = "<extended-resources>"


class NodeClaims(msgspec.Struct, frozen=True):
    """The claims that have to be allocated on a node.

    Attributes:
        claims: the claims, in order; that for extended resources comes last.
        resources: the extended resource that each of its requests is for.
    """

    claims: Sequence[ResourceClaim]
    resources: Mapping[str, str] = {}


class WantedClaims:
    """The claims of a pod that can be used or allocated.

    Args:
        pod: the pod.
        claims: the claims that it names.
        tracker: devices and claims of the cluster.

    Attributes:
        pod: the pod.
        stale: the claim for extended resources that was made for an earlier attempt, if any.
    """

    def __init__(self, pod: Pod, claims: Sequence[ResourceClaim], tracker: ClaimTracker) -> None:
        self.pod = pod
        self._claims = claims
        self._classes = tracker.extended_resources.requested_by(pod, tracker.catalog)
        known = tracker.extended_resource_claim(pod) if self._classes else None
        self.stale = known if known is not None and known.status.allocation is None else None
        self._allocated = [one for one in claims if one.status.allocation is not None]
        if known is not None and known is not self.stale:
            self._allocated.append(known)

    def unavailable(self, node: Node) -> list[ResourceClaim]:
        """The allocated claims that cannot be used on a node, or that may be too late."""
        found = [one for one in self._allocated if not is_here(one, node) or not_ready(one)]
        # One that is somewhere else, or has failed, is the cause; one that waits may be.
        found.sort(key=lambda one: (is_here(one, node), readiness(one) is False))
        return found

    def may_deallocate(self, claim: ResourceClaim) -> bool:
        """Whether a claim can be deallocated because nobody but the pod may be using it."""
        users = claim.status.reserved_for or ()
        return claim in self._claims and all(one.uid == self.pod.uid for one in users)

    def to_allocate(self, node: Node) -> NodeClaims:
        """The claims that have to be allocated on a node, with all that they ask for there."""
        own = [one for one in self._claims if one.status.allocation is None]
        if self.stale is not None or not self._classes:
            return NodeClaims([] if self.stale is not None else own)
        needed = [
            name
            for name, amount in self.pod.requests.items()
            if amount
            and is_device_resource(name)
            and name in self._classes
            and not node.allocatable[name]
        ]
        if not needed:
            return NodeClaims(own)
        asked = extended_requests(self.pod, {name: self._classes[name] for name in needed})
        made = ResourceClaim(
            metadata=ObjectMeta(name=_MADE_UP, namespace=self.pod.namespace),
            spec=ResourceClaimSpec(devices=DeviceClaim(requests=list(asked.requests) or None)),
        )
        resources = {one.request_name: one.resource_name for one in asked.mappings}
        return NodeClaims([*own, made], resources)


def wanted_claims(pod: Pod, tracker: ClaimTracker) -> WantedClaims | None:
    """The claims of a pod; None if one of them can be used on no node."""
    claims = claims_of(pod, tracker.catalog)
    if isinstance(claims, Verdict):
        return None
    for one in claims:
        if one.status.allocation is None and (
            tracker.is_in_flight(one) or check_classes(one, tracker.find_class) is not None
        ):
            return None
    return WantedClaims(pod, claims, tracker)


def not_ready(claim: ResourceClaim) -> str:
    """Why the devices of an allocated claim are not ready; empty if they are."""
    ready = readiness(claim)
    if isinstance(ready, str):
        return ready
    return "" if ready else f"device binding timeout: claim={claim.name}"


def is_here(claim: ResourceClaim, node: Node) -> bool:
    """Whether the devices of an allocated claim can be used on a node."""
    allocation = claim.status.allocation
    selector = allocation.node_selector if allocation is not None else None
    return selector is None or selector.matches(node.labels, node.name)
