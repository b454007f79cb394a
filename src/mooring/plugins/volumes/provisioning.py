"""Says on which nodes a volume could be made for a claim.

Owns the storage capacities that CSI drivers report, by storage class. Called by VolumeBinding for
claims that get none of the existing volumes. It decides nothing about existing volumes.
"""

import weakref
from typing import Final

import msgspec
import numpy as np

from mooring.framework.arrays import Amounts, Mask, Rows
from mooring.framework.verdict import Verdict, fail
from mooring.model.storage import (
    NO_PROVISIONER,
    CSIDriver,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    StorageClass,
)
from mooring.plugins.volumes.reachable_nodes import mask_of, reach_of_class, reach_of_labels
from mooring.state.aspects import Aspect
from mooring.state.changes.change_tracking import CatalogChanges
from mooring.state.cluster import Cluster
from mooring.state.columns import Columns

#: Less than the size of any volume.
_NOTHING: Final = -1
_MOST: Final = 2**63 - 1


class Provisioning(msgspec.Struct, frozen=True):
    """Where a volume could be made for a claim.

    Attributes:
        allowed: (n,) the nodes for which the class makes volumes.
        enough: (n,) the nodes with enough storage left; None if nobody counts that.
        failure: why the question cannot be answered, if so.
    """

    allowed: Mask
    enough: Mask | None = None
    failure: Verdict | None = None


class _ClassCapacity:
    """The reported capacities of one storage class.

    Capacities change with every volume that is made, the nodes they are for hardly ever; so the
    rows are kept apart from the sizes.
    """

    def __init__(self) -> None:
        self._capacities: dict[str, CSIStorageCapacity] = {}
        self._place: dict[str, int] = {}
        self._sizes: Amounts = np.zeros(0, np.int64)
        self._pairs: tuple[Columns, int, Rows, Rows] | None = None
        self._largest: Amounts | None = None

    def put(self, key: str, capacity: CSIStorageCapacity) -> None:
        """Add a capacity, or replace it."""
        before = self._capacities.get(key)
        self._capacities[key] = capacity
        self._largest = None
        if before is None or before.node_topology != capacity.node_topology:
            self._pairs = None
        elif self._pairs is not None:
            self._sizes[self._place[key]] = _size(capacity)

    def remove(self, key: str) -> None:
        """Take a capacity out."""
        del self._capacities[key]
        self._pairs = self._largest = None

    def __bool__(self) -> bool:
        return bool(self._capacities)

    def largest(self, columns: Columns) -> Amounts:
        """(n,) the size of the largest volume that could be made for each node."""
        pairs = self._pairs
        if pairs is None or pairs[0] is not columns or pairs[1] != columns.version(Aspect.LABELS):
            pairs = self._pairs = self._paired(columns)
            self._largest = None
        if self._largest is None:
            self._largest = np.full(len(columns), _NOTHING, np.int64)
            np.maximum.at(self._largest, pairs[3], self._sizes[pairs[2]])
        return self._largest

    def _paired(self, columns: Columns) -> tuple[Columns, int, Rows, Rows]:
        self._place = {key: place for place, key in enumerate(self._capacities)}
        self._sizes = np.array([_size(one) for one in self._capacities.values()], np.int64)
        places, rows = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
        for place, capacity in enumerate(self._capacities.values()):
            if capacity.node_topology is not None:
                reach = reach_of_labels(columns, capacity.node_topology)
                rows.append(reach)
                places.append(np.full(len(reach), place, np.intp))
        version = columns.version(Aspect.LABELS)
        return columns, version, np.concatenate(places), np.concatenate(rows)


def _size(capacity: CSIStorageCapacity) -> int:
    return _NOTHING if capacity.limit is None else min(capacity.limit, _MOST)


class Provisioner:
    """Says where volumes can be made in a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._catalog = cluster.catalog
        self._changes = CatalogChanges(cluster.catalog, CSIStorageCapacity)
        self._classes: dict[str, _ClassCapacity] = {}

    def refresh(self) -> None:
        """Take over what changed in the state."""
        for key, before, now in self._changes.pop_changes():
            if before is not None and (
                now is None or now.storage_class_name != before.storage_class_name
            ):
                capacity = self._classes[before.storage_class_name]
                capacity.remove(key)
                if not capacity:
                    del self._classes[before.storage_class_name]
            if now is not None:
                self._classes.setdefault(now.storage_class_name, _ClassCapacity()).put(key, now)

    def check(self, columns: Columns, claim: PersistentVolumeClaim) -> Provisioning:
        """Where a volume could be made for a claim."""
        # parity v1.36.4: volumebinding/binder.go checkVolumeProvisions
        nowhere = np.zeros(len(columns), np.bool_)
        if not claim.class_name:
            return Provisioning(nowhere, failure=fail(f'no class for claim "{claim.key}"'))
        storage_class = self._catalog.get(StorageClass, claim.class_name)
        if storage_class is None:
            failure = fail(f'failed to find storage class "{claim.class_name}"')
            return Provisioning(nowhere, failure=failure)
        if storage_class.provisioner in ("", NO_PROVISIONER):
            return Provisioning(nowhere)
        allowed = mask_of(columns, reach_of_class(columns, storage_class))
        return Provisioning(allowed, self._enough(columns, claim, storage_class))

    def _enough(
        self, columns: Columns, claim: PersistentVolumeClaim, storage_class: StorageClass
    ) -> Mask | None:
        # parity v1.36.4: volumebinding/binder.go hasEnoughCapacity
        if claim.request is None:
            return None
        driver = self._catalog.get(CSIDriver, storage_class.provisioner)
        if driver is None or not driver.spec.storage_capacity:
            return None
        capacity = self._classes.get(storage_class.name)
        if capacity is None:
            return np.zeros(len(columns), np.bool_)
        enough: Mask = capacity.largest(columns) >= min(claim.request.value, _MOST)
        return enough


_provisioners: "weakref.WeakKeyDictionary[Cluster, Provisioner]" = weakref.WeakKeyDictionary()


def provisioner_of(cluster: Cluster) -> Provisioner:
    """The provisioner of a cluster, up to date."""
    found = _provisioners.get(cluster)
    if found is None:
        found = _provisioners[cluster] = Provisioner(cluster)
    found.refresh()
    return found
