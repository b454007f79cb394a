"""On which nodes the claims of a pod have volumes or can get them, for all nodes at once.

Called by VolumeBinding once for each decision: what it says depends on nodes, volumes and claims,
never on the pods that are on the nodes.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from mooring.framework.arrays import Choice, Mask
from mooring.framework.verdict import ACCEPT, Verdict, Verdicts, fail
from mooring.model.csi_migration import InTreePlugin
from mooring.model.quantity import Quantity
from mooring.model.storage import (
    SELECTED_NODE,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
)
from mooring.plugins.volumes.claim_bindings import ClaimBindings, bind_volume, provision_volume
from mooring.plugins.volumes.csi_translation import (
    in_tree_plugin,
    translated_selector,
    volume_handle,
)
from mooring.plugins.volumes.pod_claims import PodClaims
from mooring.plugins.volumes.provisioning import provisioner_of
from mooring.plugins.volumes.reachable_nodes import mask_of, reach_of_volume
from mooring.plugins.volumes.volume_finder import NONE, MatchingVolumes, finder_of
from mooring.state.cluster import Cluster
from mooring.state.columns import Columns

#: What can be in the way on a node; a node's reasons are a sum of their bits.
_REASONS: Final = (
    "node(s) didn't match PersistentVolume's node affinity",
    "node(s) didn't find available persistent volumes to bind",
    "node(s) did not have enough free storage",
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
)
_AFFINITY: Final = 1
_NO_VOLUME: Final = 2
_NO_SPACE: Final = 4
_LOST: Final = 8
_ZERO: Final = Quantity(0)


def _verdict(bits: int) -> Verdict:
    if not bits:
        return ACCEPT
    first, *more = (reason for place, reason in enumerate(_REASONS) if bits >> place & 1)
    return Verdict(accepted=False, reason=first, also=tuple(more), unresolvable=True)


_TABLE: Final = tuple(_verdict(bits) for bits in range(1 << len(_REASONS)))


class PodVolumes(msgspec.Struct, frozen=True):
    """Where a pod's claims have volumes or can get them.

    Attributes:
        verdicts: the answer for every node.
        static_bindings: the existing volumes that claims get.
        dynamic_provisions: the claims for which volumes are to be made, with the nodes where they
            are.
    """

    verdicts: Verdicts
    static_bindings: Sequence[MatchingVolumes] = ()
    dynamic_provisions: Sequence[tuple[PersistentVolumeClaim, Mask]] = ()

    def on(self, node: str, row: int) -> ClaimBindings:
        """How the claims get their volumes on one of the accepted nodes."""
        claims = []
        for found in self.static_bindings:
            volume = found.volume_at(row)
            if volume is not None:
                claims.append(bind_volume(found.claim, volume))
        claims.extend(
            provision_volume(claim, node) for claim, mask in self.dynamic_provisions if mask[row]
        )
        return ClaimBindings(node, tuple(claims))


class _PodVolumesSearch:
    """One search; every step narrows what is left to ask."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._columns = cluster.columns
        size = len(self._columns)
        self._bits: Choice = np.zeros(size, np.uint8)
        self._failed = np.zeros(size, np.uint8)
        self._failures: list[Verdict] = [ACCEPT]

    def find(self, claims: PodClaims) -> PodVolumes:
        # parity v1.36.4: volumebinding/binder.go FindPodVolumes
        self._check_bound(claims.bound)
        if not claims.waiting:
            return PodVolumes(self._verdicts())
        left = self._failed == 0
        chosen = [one for one in claims.waiting if SELECTED_NODE in one.annotations]
        for claim in chosen:
            here = self._columns.row_of.get(claim.annotations[SELECTED_NODE])
            elsewhere = np.ones(len(left), np.bool_)
            if here is not None:
                elsewhere[here] = False
            self._bits[left & elsewhere] |= _NO_VOLUME
            left &= ~elsewhere
        found: list[MatchingVolumes] = []
        needed = [(claim, left) for claim in chosen]
        finder = finder_of(self._cluster)
        free = [one for one in claims.waiting if SELECTED_NODE not in one.annotations]
        for claim in sorted(free, key=lambda one: one.request or _ZERO):
            one = finder.find(self._columns, claim, found)
            found.append(one)
            needed.append((claim, left & (one.choice == NONE)))
        self._check_provisioning(needed)
        return PodVolumes(self._verdicts(), found, needed)

    def _check_bound(self, claims: Sequence[PersistentVolumeClaim]) -> None:
        # parity v1.36.4: volumebinding/binder.go checkBoundClaims: the first problem counts
        left = np.ones(len(self._columns), np.bool_)
        assumed = self._cluster.assume_cache
        for claim in claims:
            name = claim.spec.volume_name
            volume = assumed.get(PersistentVolume, name) if name else None
            if volume is None:
                self._bits[left] |= _LOST
                return
            plugin = in_tree_plugin(volume.spec)
            if plugin is not None and plugin.counted:
                reach = self._translated_reach(volume, plugin, left)
            elif volume.node_selector is None:
                continue
            else:
                reach = mask_of(self._columns, reach_of_volume(self._columns, volume.node_selector))
            left &= self._failed == 0
            self._bits[left & ~reach] |= _AFFINITY
            left &= reach

    def _translated_reach(self, volume: PersistentVolume, plugin: InTreePlugin, left: Mask) -> Mask:
        """(n,) from where an in-tree volume can be reached, which the node's CSI driver decides."""
        columns = self._columns
        reach = mask_of(columns, reach_of_volume(columns, volume.node_selector))
        migrated = _migrated(self._cluster, plugin)
        if not migrated.any():
            return reach
        problem = volume_handle(volume, plugin).problem
        if problem:
            self._fail(left & migrated, fail(f"could not translate pv: {problem}"))
            return reach
        selector = translated_selector(volume, plugin)
        translated = mask_of(columns, reach_of_volume(columns, selector))
        return np.where(migrated, translated, reach)

    def _check_provisioning(self, needed: Sequence[tuple[PersistentVolumeClaim, Mask]]) -> None:
        # parity v1.36.4: volumebinding/binder.go checkVolumeProvisions: the first problem counts
        provisioner = provisioner_of(self._cluster)
        fine = np.ones(len(self._columns), np.bool_)
        for claim, mask in needed:
            asked = mask & fine
            if not asked.any():
                continue
            where = provisioner.check(self._columns, claim)
            if where.failure is not None:
                self._fail(asked, where.failure)
                fine &= ~asked
                continue
            self._bits[asked & ~where.allowed] |= _NO_VOLUME
            fine &= ~asked | where.allowed
            if where.enough is not None:
                self._bits[asked & where.allowed & ~where.enough] |= _NO_SPACE
                fine &= ~asked | where.enough

    def _fail(self, where: Mask, verdict: Verdict) -> None:
        self._failed[where] = len(self._failures)
        self._failures.append(verdict)

    def _verdicts(self) -> Verdicts:
        if len(self._failures) == 1:
            return Verdicts(self._bits, _TABLE)
        choice = np.where(self._failed > 0, self._failed + len(_TABLE) - 1, self._bits)
        return Verdicts(choice, (*_TABLE, *self._failures[1:]))


def find_pod_volumes(cluster: Cluster, claims: PodClaims) -> PodVolumes:
    """Where the claims of a pod have volumes or can get them."""
    return _PodVolumesSearch(cluster).find(claims)


def _migrated(cluster: Cluster, plugin: InTreePlugin) -> Mask:
    """(n,) the nodes on which a CSI driver handles the volumes of an in-tree plugin."""
    columns: Columns = cluster.columns
    catalog = cluster.catalog

    def compute() -> Mask:
        mask = np.zeros(len(columns), np.bool_)
        for name, node in catalog.all(CSINode).items():
            row = columns.row_of.get(name)
            if row is not None and plugin.name in node.migrated:
                mask[row] = True
        return mask

    return columns.remember(("volume migration", plugin.name, catalog.version(CSINode)), compute)
