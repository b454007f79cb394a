"""What devices a pod could have if other pods left their nodes: for preemption, which is opt-in.

Owns `DeviceTrial`, made by DynamicResources for a decision in which pods come and go in thought:

    a pod leaves  ──> the claims that nobody else uses give back their devices
    it comes back ──> they have them again
    a nominated pod comes ──> it gets devices, which the pod of the decision then cannot have

The devices really in use do not change by that. Once victims are gone, it is the resource claim
controller that deallocates their claims.
"""

from collections.abc import Callable, Iterator
from typing import Final

from mooring.framework.verdict import Verdict, reject
from mooring.model.devices.allocation import AllocationResult
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.devices.claim_tracker import ClaimTracker
from mooring.plugins.devices.pod_devices import PodDevices
from mooring.plugins.devices.shape_answers import NOT_ENOUGH
from mooring.state.cluster import Cluster

#: Without enough devices, the pods that have them may make room.
_RESOLVABLE: Final = reject(NOT_ENOUGH.reason)
_POD: Final = "pods"


def resolvable(verdict: Verdict) -> Verdict:
    """The verdict on a node if preemption may free devices there."""
    return _RESOLVABLE if verdict == NOT_ENOUGH else verdict


class TrialTracker(ClaimTracker):
    """Devices and claims of a cluster, with other devices in use."""

    def __init__(self, tracker: ClaimTracker) -> None:
        self.__dict__.update(tracker.__dict__)
        self.state = tracker.state.copy()

    def held_by(self, pod: Pod) -> Iterator[tuple[str, AllocationResult]]:
        """The claims of a pod that are allocated, or are being allocated."""
        for key in self._keys(pod):
            allocation = self._counted.get(key)
            if allocation is not None:
                yield key, allocation

    def names(self, pod: Pod, key: str) -> bool:
        """Whether a claim is one of a pod's."""
        return key in self._keys(pod)

    def idle(self, cluster: Cluster) -> Iterator[tuple[str, AllocationResult]]:
        """The allocated claims all of whose pods are gone: they will be deallocated."""
        for key, allocation in self._counted.items():
            claim = self.catalog.get(ResourceClaim, key)
            if (
                claim is not None
                and claim.status.allocation is not None
                and not any(
                    one.resource != _POD or cluster.pod_by_uid(one.uid) is not None
                    for one in claim.status.reserved_for or ()
                )
            ):
                yield key, allocation

    def users(self, key: str) -> set[str]:
        """The unique ids of those that a claim is reserved for."""
        claim = self.catalog.get(ResourceClaim, key)
        reserved = claim.status.reserved_for if claim is not None else None
        return {one.uid for one in reserved or ()}

    def _keys(self, pod: Pod) -> set[str]:
        generated = {
            one.name: one.resource_claim_name for one in pod.status.resource_claim_statuses or ()
        }
        names = {
            one.resource_claim_name or generated.get(one.name)
            for one in pod.spec.resource_claims or ()
        }
        keys = {f"{pod.namespace}/{name}" for name in names if name}
        extended = self.extended_resource_claim(pod)
        if extended is not None:
            keys.add(extended.key)
        return keys.union(key for (_, key), uid in self._created.items() if uid == pod.uid)


class DeviceTrial:
    """The devices of one pod while others come and go in thought.

    Args:
        real: its devices with nothing changed.
        tracker: devices and claims of the cluster.
        prepare: finds out what claims another pod has; None if it has none that can be met.
    """

    def __init__(
        self,
        real: PodDevices,
        tracker: ClaimTracker,
        prepare: Callable[[Pod], PodDevices | None],
    ) -> None:
        self._real = real
        self._prepare = prepare
        self._tracker = TrialTracker(tracker)
        #: The claims that the pod has itself stay as they are.
        self._own = {one.key for one in real.claims}
        self._gone: set[str] = set()
        self._freed: dict[str, AllocationResult] = {}
        self._nominated: dict[str, list[AllocationResult]] = {}
        self._changed: PodDevices | None = None

    @property
    def devices(self) -> PodDevices:
        """The pod's devices as they are now in thought."""
        if not self._freed and not any(self._nominated.values()):
            return self._real
        if self._changed is None:
            self._changed = self._real.on(self._tracker)
        return self._changed

    def release_idle(self, cluster: Cluster) -> bool:
        """Free the claims of pods that are gone, in this whole trial; whether there are any."""
        found = [one for one in self._tracker.idle(cluster) if one[0] not in self._own]
        for key, allocation in found:
            self._free(key, allocation)
        return bool(found)

    def remove_pod(self, pod: Pod, cluster: Cluster, row: int) -> None:
        """A pod has left the node in a row."""
        if pod.key in self._nominated:
            for allocation in self._nominated.pop(pod.key):
                self._tracker.state.remove(allocation)
            self._changed = None
            return
        self._gone.add(pod.uid)
        for key, allocation in self._tracker.held_by(pod):
            if (
                key not in self._own
                and self._tracker.users(key) <= self._gone
                and not any(self._tracker.names(one, key) for one in cluster.pods_on(row))
            ):
                self._free(key, allocation)

    def add_pod(self, pod: Pod, node: Node) -> None:
        """A pod has come back to its node, or a nominated one has come."""
        if pod.uid not in self._gone:
            self._nominated[pod.key] = self._allocate(pod, node)
            return
        self._gone.remove(pod.uid)
        for key, _ in self._tracker.held_by(pod):
            allocation = self._freed.pop(key, None)
            if allocation is not None:
                self._tracker.state.add(allocation)
                self._changed = None

    def _free(self, key: str, allocation: AllocationResult) -> None:
        if key not in self._freed:
            self._freed[key] = allocation
            self._tracker.state.remove(allocation)
            self._changed = None

    def _allocate(self, pod: Pod, node: Node) -> list[AllocationResult]:
        """Give a nominated pod its devices on a node, as far as there are any."""
        prepared = self._prepare(pod)
        if prepared is None:
            return []
        there = prepared.on(self._tracker)
        found = there.allocation(node.name) if there.verdict(node).accepted else None
        results = list(found.results) if found is not None else []
        for allocation in results:
            self._tracker.state.add(allocation)
        self._changed = None
        return results
