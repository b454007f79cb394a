"""VolumeRestrictions: disks and claims that only one pod at a time may use.

Owns the rules for disks that a pod names directly (Google, Amazon, iSCSI, Ceph), which conflict
with the pods of the same node, and for claims with the access mode ReadWriteOncePod, which conflict
with any pod of the cluster.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from mooring.framework.cycle import Cycle
from mooring.framework.decisions.row_answers import SkipsSigned
from mooring.framework.hook import (
    SKIP,
    Action,
    FilterNodes,
    PreFilterAnswer,
    RequeueHint,
    Requeues,
    Sign,
    WhatIf,
)
from mooring.framework.nodes import Nodes
from mooring.framework.scope import Scope
from mooring.framework.verdict import ACCEPT, Verdicts, reject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage import READ_WRITE_ONCE_POD, PersistentVolumeClaim
from mooring.model.volumes import Volume
from mooring.plugins.volumes.details import VolumeDetails
from mooring.plugins.volumes.remedies import VolumeRemedies
from mooring.plugins.volumes.requeue_hints import names_claim
from mooring.state.changes.change_tracking import RowChanges
from mooring.state.cluster import Cluster

_DISK_TAKEN: Final = reject("node(s) had no available disk")
_CLAIM_TAKEN: Final = reject(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "
    "in-use by another pod"
)
#: Equal for volumes that may be the same disk.
_Identity = tuple[str, ...]


class _ExclusiveVolumes:
    """What counts for one pod.

    Attributes:
        disks: the disks it names, with their identities.
        exclusive: the names of the pod's claims that no other pod may use.
        taken: how many uses of them by other pods are counted.
    """

    __slots__ = ("disks", "exclusive", "taken")

    def __init__(
        self, disks: list[tuple[_Identity, Volume]], exclusive: frozenset[str], taken: int
    ) -> None:
        self.disks = disks
        self.exclusive = exclusive
        self.taken = taken


class VolumeRestrictions(
    WhatIf, FilterNodes, Requeues, VolumeDetails, VolumeRemedies, Sign, SkipsSigned
):
    """Keeps a pod away from disks and claims that another pod has for itself."""

    name = "VolumeRestrictions"
    reads = (PersistentVolumeClaim,)
    filter_scope = Scope.CLUSTER  # an exclusive claim may be in use on any node

    def __init__(self) -> None:
        self._disks: tuple[Cluster, _DisksInUse] | None = None

    def pre_filter(self, cycle: Cycle) -> PreFilterAnswer:
        """Look for disks and exclusive claims; reject if a claim does not exist."""
        # parity v1.36.4: plugins/volumerestrictions/volume_restrictions.go
        pod, cluster = cycle.pod, cycle.cluster
        volumes = pod.spec.volumes
        if not volumes:
            return SKIP
        disks = []
        exclusive = set()
        for volume in volumes:
            identity = _identity(volume)
            if identity is not None:
                disks.append((identity, volume))
            if volume.persistent_volume_claim is None:
                continue
            name = volume.persistent_volume_claim.claim_name
            claim = cluster.catalog.get(PersistentVolumeClaim, f"{pod.namespace}/{name}")
            if claim is None:
                return reject(f'persistentvolumeclaim "{name}" not found', unresolvable=True)
            if READ_WRITE_ONCE_POD in (claim.spec.access_modes or ()):
                exclusive.add(name)
        taken = sum(cluster.claim_users(f"{pod.namespace}/{name}") > 0 for name in exclusive)
        if not disks and not taken:
            return SKIP
        cycle.data[self.name] = _ExclusiveVolumes(disks, frozenset(exclusive), taken)
        return None

    def add_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:  # noqa: ARG002
        """Count the claims of another pod."""
        self._count(cycle, pod, 1)

    def remove_pod(self, cycle: Cycle, pod: Pod, row: int) -> None:  # noqa: ARG002
        """Count the claims of another pod no more."""
        self._count(cycle, pod, -1)

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts:  # noqa: ARG002
        """Reject nodes where a disk is in use, and all nodes if an exclusive claim is."""
        cycle = nodes.cycle
        state: _ExclusiveVolumes = cycle.data[self.name]
        table = (ACCEPT, _DISK_TAKEN, _CLAIM_TAKEN)
        choice = np.full(len(nodes.columns), 2 if state.taken > 0 else 0, np.uint8)
        if state.disks:
            disks = self._disks_of(cycle.cluster)
            for identity, disk in state.disks:
                for row in disks.conflicts(identity, disk):
                    choice[row] = 1
        return Verdicts(nodes.take(choice), table)

    def requeue_on(self) -> Sequence[RequeueHint]:
        """A pod gone that had a disk or claim, a new node, or the claim that was missing."""
        return (
            RequeueHint(Pod, Action.DELETE, _frees_volume),
            RequeueHint(Node, Action.ADD),
            RequeueHint(PersistentVolumeClaim, Action.ADD, names_claim),
        )

    def sign(self, pod: Pod) -> tuple[()] | None:
        """Nothing, if the pod has neither disks nor claims; whom they belong to changes."""
        exclusive = any(
            one.persistent_volume_claim is not None or _identity(one) is not None
            for one in pod.spec.volumes or ()
        )
        return None if exclusive else ()

    def _count(self, cycle: Cycle, pod: Pod, sign: int) -> None:
        state: _ExclusiveVolumes | None = cycle.data.get(self.name)
        if state is not None:
            # parity v1.36.4: claims are compared by name here, whatever the namespace
            state.taken += sign * sum(
                one.persistent_volume_claim is not None
                and one.persistent_volume_claim.claim_name in state.exclusive
                for one in pod.spec.volumes or ()
            )

    def _disks_of(self, cluster: Cluster) -> "_DisksInUse":
        if self._disks is None or self._disks[0] is not cluster:
            self._disks = (cluster, _DisksInUse(cluster))
        self._disks[1].refresh()
        return self._disks[1]


class _DisksInUse:
    """The disks that pods name directly, by identity and row."""

    def __init__(self, cluster: Cluster) -> None:
        self._columns = cluster.columns
        self._changes = RowChanges(cluster.columns)
        self._by_row: dict[int, set[_Identity]] = {}
        self._disks: dict[_Identity, dict[int, list[Volume]]] = {}

    def refresh(self) -> None:
        """Look again at the rows that changed."""
        for row in self._changes.pop_rows():
            for old in self._by_row.pop(row, ()):
                rows = self._disks[old]
                del rows[row]
                if not rows:
                    del self._disks[old]
            if row >= len(self._columns):
                continue
            for pod in self._columns.usage(row).pods:
                for volume in pod.spec.volumes or ():
                    identity = _identity(volume)
                    if identity is not None:
                        self._by_row.setdefault(row, set()).add(identity)
                        self._disks.setdefault(identity, {}).setdefault(row, []).append(volume)

    def conflicts(self, identity: _Identity, disk: Volume) -> Iterator[int]:
        """The rows where the disk is in use in a way that keeps others out."""
        for row, others in self._disks.get(identity, {}).items():
            if any(_conflict(disk, other) for other in others):
                yield row


def _identity(volume: Volume) -> _Identity | None:
    if volume.gce_persistent_disk is not None:
        return "gce", volume.gce_persistent_disk.pd_name
    if volume.aws_elastic_block_store is not None:
        return "aws", volume.aws_elastic_block_store.volume_id
    if volume.iscsi is not None:
        return "iscsi", volume.iscsi.iqn
    if volume.rbd is not None:
        return "rbd", volume.rbd.pool, volume.rbd.image
    return None


def _conflict(disk: Volume, other: Volume) -> bool:
    """Whether two uses of what may be the same disk exclude each other."""
    # parity v1.36.4: plugins/volumerestrictions/volume_restrictions.go isVolumeConflict
    if disk.gce_persistent_disk is not None and other.gce_persistent_disk is not None:
        return not (disk.gce_persistent_disk.read_only and other.gce_persistent_disk.read_only)
    if disk.iscsi is not None and other.iscsi is not None:
        return not (disk.iscsi.read_only and other.iscsi.read_only)
    if disk.rbd is not None and other.rbd is not None:
        shared = set(disk.rbd.monitors or ()) & set(other.rbd.monitors or ())
        return bool(shared) and not (disk.rbd.read_only and other.rbd.read_only)
    return True


def _frees_volume(pod: Pod, old: Pod, new: None) -> bool:  # noqa: ARG001
    """Whether a pod that is gone had a disk or a claim that the pending pod wants."""
    # v1.36.4 looks at pods of the same namespace only; disks do not live in namespaces.
    wanted = [(_identity(one), one) for one in pod.spec.volumes or ()]
    had = [(_identity(one), one) for one in old.spec.volumes or ()]
    if any(
        mine is not None and mine == other and _conflict(disk, its)
        for mine, disk in wanted
        for other, its in had
    ):
        return True
    return not _claims(pod).isdisjoint(_claims(old))


def _claims(pod: Pod) -> set[str]:
    """The claims that a pod names, as ``namespace/name``."""
    return {
        f"{pod.namespace}/{one.persistent_volume_claim.claim_name}"
        for one in pod.spec.volumes or ()
        if one.persistent_volume_claim is not None
    }
