"""The claims of a cluster as decisions see them, and the devices in use by them.

Owns what DynamicResources keeps between decisions, for each cluster: the inventory of devices, the
answers of selectors, the devices in use, and the allocations that are not in the API server yet:

    unallocated ──reserve──> in flight ──the claim arrives with an allocation──> allocated
         ^                       │
         └───────unreserve───────┘

An allocation in flight counts until its claim is seen allocated, its pod is bound, or it is given
back. An update of the claim without an allocation, such as one that adds a finalizer, ends nothing:
the device would be free for a moment. All profiles of a scheduler share one tracker.
"""

# parity v1.36.4: plugins/dynamicresources/dra_manager.go claimTracker

import weakref
from collections.abc import Mapping

from mooring.model.devices.allocation import AllocationResult
from mooring.model.devices.device_class import DeviceClass
from mooring.model.devices.resource_claim import ResourceClaim
from mooring.model.devices.resource_slice import ResourceSlice
from mooring.model.pod import Pod
from mooring.plugins.devices.allocated_state import AllocatedState
from mooring.plugins.devices.device_classes import ExtendedResourceCache
from mooring.plugins.devices.pools import DeviceInventory
from mooring.plugins.devices.selectors import DeviceSelectors, Matches
from mooring.plugins.devices.shape_answers import ClaimShapes
from mooring.state.assume_cache import AssumeCache
from mooring.state.catalog import Catalog
from mooring.state.changes.change_tracking import CatalogChanges
from mooring.state.cluster import Cluster


class ClaimTracker:
    """What is known of devices and claims of one cluster.

    Attributes:
        inventory: the devices.
        selectors: which devices match.
        scoring_selectors: the same for scores, where no device can be shared.
        state: which devices are in use.
        kept: what claims get on each node, kept for claims that ask for the same.
        extended_resources: the resources that classes of devices provide.
        catalog: classes, slices and claims as they are stored.
    """

    def __init__(self, catalog: Catalog, assume_cache: AssumeCache) -> None:
        self.inventory = DeviceInventory()
        self.selectors = DeviceSelectors(_device_selector)
        self.scoring_selectors = DeviceSelectors(_scoring_selector)
        self.state = AllocatedState()
        self.kept = ClaimShapes(self.inventory, self.selectors, self.state, catalog)
        self.extended_resources = ExtendedResourceCache()
        self.catalog = catalog
        self._slices_version = -1
        self._changes = CatalogChanges(catalog, ResourceClaim)
        #: The allocations that are counted, by the key of their claim.
        self._counted: dict[str, AllocationResult] = {}
        #: The allocations that are not in the API server yet, by the key of their claim.
        self._assume_cache = assume_cache
        self._in_flight = assume_cache.in_flight
        #: The claims that are to be created, with the unique ids of their pods.
        self._created = assume_cache.created_for
        self._pods_gone = -1
        #: The claims for extended resources, by the unique id of their pod.
        self._extended: dict[str, ResourceClaim] = {}
        for kind, key in self._in_flight:
            if kind is ResourceClaim:
                self._count(key)

    def refresh(self, cluster: Cluster) -> None:
        """Take over what changed in the cluster."""
        if self._created and self._pods_gone != cluster.pods_gone:
            self._pods_gone = cluster.pods_gone
            for (_, key), pod in list(self._created.items()):
                if cluster.pod_by_uid(pod) is None:
                    # The claim may have come and gone unseen.
                    self.unreserve(key)
        for _, key in self._assume_cache.pop_ended():
            # Allocated and released again, perhaps, with no decision in between.
            self._count(key)
        version = self.catalog.version(ResourceSlice)
        if version != self._slices_version:
            self._slices_version = version
            self.inventory.update(self.catalog.all(ResourceSlice).values())
        for key, old, new in self._changes.pop_changes():
            self._index(old, new)
            if new is None or new.status.allocation is not None:
                self._in_flight.pop((ResourceClaim, key), None)
                self._created.pop((ResourceClaim, key), None)
            self._count(key)

    @property
    def allocations(self) -> Mapping[str, AllocationResult]:
        """The allocations that are counted, by the key of their claim."""
        return self._counted

    def find_class(self, name: str) -> DeviceClass | None:
        """The class of a name; None if there is none."""
        return self.catalog.get(DeviceClass, name)

    def extended_resource_claim(self, pod: Pod) -> ResourceClaim | None:
        """The claim that was made for a pod's extended resources before, if it is there still."""
        return self._extended.get(pod.uid)

    def is_in_flight(self, claim: ResourceClaim) -> bool:
        """Whether a claim is being allocated for a pod that is about to be bound."""
        return (ResourceClaim, claim.key) in self._in_flight

    def reserve(
        self, claim: ResourceClaim, allocation: AllocationResult, pod: Pod, *, created: bool = False
    ) -> None:
        """Count an allocation that is to be written.

        Args:
            claim: the claim.
            allocation: what it gets.
            pod: before whose binding it is written.
            created: the claim is created for the pod.
        """
        key = claim.key
        if created:
            self._created[ResourceClaim, key] = pod.uid
        else:
            things = self._assume_cache.written_for.setdefault(pod.uid, [])
            things.append((ResourceClaim, key, claim.resource_version))
        self._in_flight[ResourceClaim, key] = allocation
        self._count(key)

    def unreserve(self, key: str) -> None:
        """No longer count an allocation that was not written; harmless if it was."""
        self._created.pop((ResourceClaim, key), None)
        if self._in_flight.pop((ResourceClaim, key), None) is not None:
            self._count(key)

    def _index(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        for one in (old, new):
            if one is None or not one.for_extended_resources:
                continue
            owner = one.controller
            if owner is None:
                continue
            if one is new:
                self._extended[owner.uid] = one
            elif self._extended.get(owner.uid) is one:
                del self._extended[owner.uid]

    def _count(self, key: str) -> None:
        """Count the allocation of a claim as it is now, and no longer what it was."""
        claim = self.catalog.get(ResourceClaim, key)
        allocation = claim.status.allocation if claim is not None else None
        if allocation is None:
            found = self._in_flight.get((ResourceClaim, key))
            allocation = found if isinstance(found, AllocationResult) else None
        before = self._counted.get(key)
        if before is allocation:
            return
        if before is not None:
            self.state.remove(before)
            del self._counted[key]
        if allocation is not None:
            self.state.add(allocation)
            self._counted[key] = allocation


_trackers: "weakref.WeakKeyDictionary[Cluster, ClaimTracker]" = weakref.WeakKeyDictionary()


def tracker_of(cluster: Cluster) -> ClaimTracker:
    """What is known of devices and claims of a cluster, as it is now."""
    found = _trackers.get(cluster)
    if found is None:
        found = _trackers[cluster] = ClaimTracker(cluster.catalog, cluster.assume_cache)
    found.refresh(cluster)
    return found


# Importing the language takes 25 ms, and most clusters have no selector.


def _device_selector(expression: str) -> Matches:
    from mooring.plugins.devices import cel_selectors  # noqa: PLC0415 - see above

    return cel_selectors.compile_device_selector(expression)


def _scoring_selector(expression: str) -> Matches:
    from mooring.plugins.devices import cel_selectors  # noqa: PLC0415 - see above

    return cel_selectors.compile_scoring_selector(expression)
