"""NodeVolumeLimits: a node can have only so many volumes of a CSI driver.

What counts where is the business of `csi_handles` and `csi_attachments`; this module asks
them and makes verdicts of the answers.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from mooring.framework.cycle import Cycle
from mooring.framework.hook import (
    SKIP,
    Action,
    FilterNodes,
    PreFilter,
    PreFilterAnswer,
    RequeueHint,
    Requeues,
    Sign,
)
from mooring.framework.nodes import Nodes
from mooring.framework.scope import Scope
from mooring.framework.verdict import ACCEPT, Verdict, Verdicts, fail, reject
from mooring.model.pod import Pod
from mooring.model.storage import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from mooring.plugins.pod_changes import is_assigned_or_nominated
from mooring.plugins.volumes.csi_attachments import AttachedVolumes
from mooring.plugins.volumes.csi_handles import (
    UncountableVolumes,
    VolumeHandle,
    has_attachable_volumes,
)
from mooring.plugins.volumes.csi_translation import in_tree_plugin, inline_handle
from mooring.plugins.volumes.details import VolumeDetails
from mooring.plugins.volumes.pod_claims import uses_claims
from mooring.plugins.volumes.remedies import VolumeRemedies
from mooring.plugins.volumes.requeue_hints import has_higher_limit, uses_claim
from mooring.state.cluster import Cluster

#: The volumes of a pod, or why they cannot be counted.
PodVolumeHandles = set[VolumeHandle] | UncountableVolumes
#: For so many nodes, asking one after the other is faster.
_FEW: Final = 4
_TOO_MANY: Final = reject("node(s) exceed max volume count")


class NodeVolumeLimits(PreFilter, FilterNodes, Requeues, VolumeDetails, VolumeRemedies, Sign):
    """Keeps a pod away from nodes that cannot take more volumes of its CSI drivers."""

    name = "NodeVolumeLimits"
    reads = (
        CSIDriver,
        CSINode,
        PersistentVolume,
        PersistentVolumeClaim,
        StorageClass,
        VolumeAttachment,
    )
    filter_scope = Scope.ROW

    def __init__(self) -> None:
        self._attachments: tuple[Cluster, AttachedVolumes] | None = None

    def pre_filter(self, cycle: Cycle) -> PreFilterAnswer:
        """Go on only if the pod has volumes that a CSI driver attaches."""
        return None if has_attachable_volumes(cycle.pod) else SKIP

    def filter_nodes(self, pod: Pod, nodes: Nodes) -> Verdicts:
        """Reject nodes that would have more volumes than they can have."""
        attachments = self._attachments_of(nodes.cycle.cluster)
        # In-tree volumes count only where a node has reported its CSI drivers; elsewhere there is
        # no limit, but a claim must exist all the same.
        new = attachments.handles.of_new(pod, inline=True)
        elsewhere = attachments.handles.of_new(pod, inline=False)
        if nodes.rows is not None and len(nodes.rows) <= _FEW:
            rows: list[int] = nodes.rows.tolist()
            return Verdicts.each([_verdict_at(row, attachments, new, elsewhere) for row in rows])
        table: list[Verdict] = [ACCEPT, _TOO_MANY]
        choice = np.zeros(len(nodes.columns), np.int32)
        if isinstance(new, UncountableVolumes):
            choice[attachments.has_csi_node] = len(table)
            table.append(_verdict(new))
        elif new:
            choice[attachments.exceeded(new) & attachments.is_limited] = 1
            for row, problem in attachments.failures.items():
                if attachments.is_limited[row]:
                    choice[row] = len(table)
                    table.append(_verdict(problem))
        if isinstance(elsewhere, UncountableVolumes):
            choice[~attachments.has_csi_node] = len(table)
            table.append(_verdict(elsewhere))
        return Verdicts(nodes.take(choice), table)

    def requeue_on(self) -> Sequence[RequeueHint]:
        """Volumes detached, pods gone that had some, higher limits, or a claim that was missing."""
        return (
            RequeueHint(CSINode, Action.ADD),
            RequeueHint(CSINode, Action.UPDATE, has_higher_limit),
            RequeueHint(Pod, Action.DELETE, _frees_volume),
            RequeueHint(PersistentVolumeClaim, Action.ADD, uses_claim),
            RequeueHint(VolumeAttachment, Action.DELETE, _frees_attachment),
        )

    def sign(self, pod: Pod) -> tuple[()] | None:
        """Nothing, if no CSI driver attaches anything for the pod; what counts changes."""
        return None if has_attachable_volumes(pod) else ()

    def _attachments_of(self, cluster: Cluster) -> AttachedVolumes:
        if self._attachments is None or self._attachments[0] is not cluster:
            self._attachments = (cluster, AttachedVolumes(cluster))
        self._attachments[1].refresh()
        return self._attachments[1]


def _verdict_at(
    row: int, attachments: AttachedVolumes, new: PodVolumeHandles, elsewhere: PodVolumeHandles
) -> Verdict:
    """The verdict for one node."""
    here = new if attachments.has_csi_node[row] else elsewhere
    if isinstance(here, UncountableVolumes):
        return _verdict(here)
    if not here or not attachments.is_limited[row]:
        return ACCEPT
    problem = attachments.failures.get(row)
    if problem is not None:
        return _verdict(problem)
    return _TOO_MANY if attachments.exceeded_at(row, here) else ACCEPT


def _verdict(problem: UncountableVolumes) -> Verdict:
    if problem.missing:
        return reject(problem.reason, unresolvable=True)
    return fail(problem.reason)


def _frees_volume(pod: Pod, old: Pod, new: None) -> bool:  # noqa: ARG001
    """Whether a pod that is gone had a volume that counted."""
    return is_assigned_or_nominated(old) and has_attachable_volumes(old)


def _frees_attachment(pod: Pod, old: VolumeAttachment, new: None) -> bool:  # noqa: ARG001
    """Whether a volume that is detached may have counted against the pod's own."""
    # v1.36.4 overlooks claims that are made for the pod.
    if uses_claims(pod):
        return True
    for volume in pod.spec.volumes or ():
        plugin = in_tree_plugin(volume)
        if plugin is not None and (
            plugin.driver == old.spec.attacher or inline_handle(volume, plugin).problem
        ):
            return True
    return False
