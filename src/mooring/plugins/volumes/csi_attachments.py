"""Which CSI volumes count on which node, and how many a node can have.

Owns an index by row, kept up to date from the pods, claims, volumes, attachments and CSI nodes of
the state; only what changed is looked at again. Called by NodeVolumeLimits alone.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Set
from typing import Final, NamedTuple, TypeVar

import numpy as np

from mooring.framework.arrays import Amounts, Mask
from mooring.model.pod import Pod
from mooring.model.storage import CSINode, PersistentVolume, VolumeAttachment
from mooring.plugins.volumes.csi_handles import (
    UncountableVolumes,
    VolumeHandle,
    VolumeHandles,
    has_attachable_volumes,
)
from mooring.state.changes.change_tracking import CatalogChanges, RowChanges
from mooring.state.cluster import Cluster
from mooring.state.pod_info import PodInfo

K = TypeVar("K")
V = TypeVar("V")
#: Stands for "no limit"; more than any count.
_UNLIMITED: Final = 2**62


class _NodeAttachments(NamedTuple):
    """What counts on one node.

    Attributes:
        attached: the volumes of its pods.
        used: those, and volumes that are attached for any other reason; how many, by driver.
        limits: how many volumes it can have, by driver.
        claims: the claims of its pods.
    """

    attached: frozenset[VolumeHandle]
    used: dict[str, int]
    limits: dict[str, int]
    claims: frozenset[str]


class _DriverColumns:
    """A number for each row, for each driver."""

    def __init__(self, default: int) -> None:
        self._default = default
        self._columns: dict[str, Amounts] = {}
        # In how many rows a driver has a number; its column goes with the last one.
        self._rows: Counter[str] = Counter()

    def get(self, driver: str, size: int) -> Amounts | None:
        column = self._columns.get(driver)
        return None if column is None else self._grown(driver, column, size)[:size]

    def set(self, row: int, numbers: dict[str, int]) -> None:
        for driver, number in numbers.items():
            column = self._columns.get(driver)
            if column is None:
                column = np.full(row + 1, self._default, np.int64)
            self._grown(driver, column, row + 1)[row] = number
            self._rows[driver] += 1

    def unset(self, row: int, drivers: Iterable[str]) -> None:
        for driver in drivers:
            self._columns[driver][row] = self._default
            self._rows[driver] -= 1
            if not self._rows[driver]:
                del self._rows[driver], self._columns[driver]

    def _grown(self, driver: str, column: Amounts, size: int) -> Amounts:
        if len(column) < size:
            more = np.full(max(size, 2 * len(column)) - len(column), self._default, np.int64)
            column = np.concatenate([column, more])
        self._columns[driver] = column
        return column


class AttachedVolumes:
    """The volumes that count on every node of a cluster.

    Attributes:
        handles: the volumes of pods as CSI drivers know them.
        failures: for some rows, why the volumes of their pods cannot be counted.
    """

    def __init__(self, cluster: Cluster) -> None:
        catalog = cluster.catalog
        self._columns = cluster.columns
        self._catalog = catalog
        self.handles = VolumeHandles(catalog)
        self.failures: dict[int, UncountableVolumes] = {}
        self._row_changes = RowChanges(cluster.columns)
        self._node_changes = CatalogChanges(catalog, CSINode)
        self._attachment_changes = CatalogChanges(catalog, VolumeAttachment)
        self._rows: dict[int, _NodeAttachments] = {}
        self._rows_of_claim: defaultdict[str, set[int]] = defaultdict(set)
        self._rows_of_handle: defaultdict[VolumeHandle, set[int]] = defaultdict(set)
        self._attachments_on: defaultdict[str, set[str]] = defaultdict(set)
        self._attachments_of: defaultdict[str | None, set[str]] = defaultdict(set)
        self._used = _DriverColumns(0)
        self._limits = _DriverColumns(_UNLIMITED)
        self._has_node: Mask = np.zeros(0, np.bool_)
        self._is_limited: Mask = np.zeros(0, np.bool_)

    @property
    def has_csi_node(self) -> Mask:
        """(n,) the nodes that have reported their CSI drivers."""
        return self._has_node[: len(self._columns)]

    @property
    def is_limited(self) -> Mask:
        """(n,) the nodes that have a limit for any driver."""
        return self._is_limited[: len(self._columns)]

    def refresh(self) -> None:
        """Take over what changed in the state."""
        dirty = set(self._row_changes.pop_rows())
        names: set[str] = {name for name, _, _ in self._node_changes.pop_changes()}
        for key, before, now in self._attachment_changes.pop_changes():
            if before is not None:
                names.add(before.spec.node_name)
                _discard(self._attachments_on, before.spec.node_name, key)
                _discard(self._attachments_of, before.spec.source.persistent_volume_name, key)
            if now is not None:
                names.add(now.spec.node_name)
                self._attachments_on[now.spec.node_name].add(key)
                self._attachments_of[now.spec.source.persistent_volume_name].add(key)
        stale, volumes = self.handles.refresh()
        for volume in volumes:
            for attachment in self._attachments(self._attachments_of.get(volume, ())):
                names.add(attachment.spec.node_name)
        dirty |= {row for row in map(self._columns.row_of.get, names) if row is not None}
        if stale is None:
            dirty.update(range(len(self._columns)))
        else:
            for key in stale:
                dirty |= self._rows_of_claim.get(key, set())
        if len(self._has_node) < len(self._columns):
            more = max(len(self._columns) - len(self._has_node), len(self._has_node))
            self._has_node = np.concatenate([self._has_node, np.zeros(more, np.bool_)])
            self._is_limited = np.concatenate([self._is_limited, np.zeros(more, np.bool_)])
        for row in dirty:
            self._forget(row)
            if row < len(self._columns):
                self._index_row(row)

    def exceeded(self, new: Set[VolumeHandle]) -> Mask:
        """(n,) the nodes that would have too many volumes with some more."""
        # parity v1.36.4: plugins/nodevolumelimits/csi.go Filter
        size = len(self._columns)
        exceeded = np.zeros(size, np.bool_)
        for driver, count in Counter(one.driver for one in new).items():
            limits = self._limits.get(driver, size)
            if limits is not None:
                used = self._used.get(driver, size)
                exceeded |= (count if used is None else used + count) > limits
        # A volume that a pod of the node has already is not new there. One that is only attached
        # counts as used and as new, as it does in kube-scheduler.
        for row in {row for one in new for row in self._rows_of_handle.get(one, ())}:
            exceeded[row] = self.exceeded_at(row, new)
        return exceeded

    def exceeded_at(self, row: int, new: Set[VolumeHandle]) -> bool:
        """Whether one node would have too many volumes with some more."""
        here = self._rows[row]
        count_by_driver = Counter(one.driver for one in new - here.attached)
        return any(
            here.used.get(driver, 0) + count > here.limits.get(driver, _UNLIMITED)
            for driver, count in count_by_driver.items()
        )

    def _index_row(self, row: int) -> None:
        name = self._columns.nodes[row].name
        node = self._catalog.get(CSINode, name)
        limits = {} if node is None else node.limits
        self._has_node[row] = node is not None
        self._is_limited[row] = bool(limits)
        attached: set[VolumeHandle] = set()
        claims: set[str] = set()
        for info in self._columns.usage(row).infos:
            if _counts(info):
                pod = info.pod
                claims |= _claims(pod)
                handles = self.handles.of_existing(pod)
                if isinstance(handles, UncountableVolumes):
                    self.failures[row] = handles
                    break
                attached |= handles
        used = dict(Counter(one.driver for one in attached | self._attached_to(name)))
        self._rows[row] = _NodeAttachments(frozenset(attached), used, limits, frozenset(claims))
        for key in claims:
            self._rows_of_claim[key].add(row)
        for one in attached:
            self._rows_of_handle[one].add(row)
        self._used.set(row, used)
        self._limits.set(row, limits)

    def _forget(self, row: int) -> None:
        self.failures.pop(row, None)
        old = self._rows.pop(row, None)
        if old is None:
            return
        for key in old.claims:
            _discard(self._rows_of_claim, key, row)
        for one in old.attached:
            _discard(self._rows_of_handle, one, row)
        self._used.unset(row, old.used)
        self._limits.unset(row, old.limits)

    def _attached_to(self, node: str) -> set[VolumeHandle]:
        # parity v1.36.4: plugins/nodevolumelimits/csi.go getNodeVolumeAttachmentInfo
        found = set()
        for attachment in self._attachments(self._attachments_on.get(node, ())):
            spec = attachment.spec
            if spec.attacher and spec.source.persistent_volume_name is not None:
                volume = self._catalog.get(PersistentVolume, spec.source.persistent_volume_name)
                if volume is not None and volume.spec.csi is not None:
                    found.add(VolumeHandle(spec.attacher, volume.spec.csi.volume_handle))
        return found

    def _attachments(self, keys: Iterable[str]) -> Iterable[VolumeAttachment]:
        known = self._catalog.all(VolumeAttachment)
        return [known[key] for key in keys]


def _counts(info: PodInfo) -> bool:
    """Whether any volume of the pod can count; most pods have none."""
    if not info.pod.spec.volumes:
        return False
    data = info.shape.data
    known = data.get(_counts)
    if known is None:
        known = data[_counts] = has_attachable_volumes(info.pod)
    return bool(known)


def _claims(pod: Pod) -> set[str]:
    names = (one.claim_for(pod.name) for one in pod.spec.volumes or ())
    return {f"{pod.namespace}/{name}" for name in names if name is not None}


def _discard(sets: dict[K, set[V]], key: K, value: V) -> None:
    """Take a value out of the set of a key, and the key if nothing is left."""
    found = sets[key]
    found.discard(value)
    if not found:
        del sets[key]
