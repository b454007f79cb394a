"""What plugins ask about a pod that changed, or is to change, before they say whether that helps.

Called by the `requeue_on` parts of plugins and by their remedies. It looks at pods alone.
"""

from typing import Final

from mooring.model.pod import Pod

#: The priority of system-cluster-critical.
_SYSTEM_CRITICAL: Final = 2_000_000_000


def is_assigned_or_nominated(pod: Pod) -> bool:
    """Whether a pod counts on a node: because it is there, or because the node is nominated."""
    return bool(pod.node_name or pod.status.nominated_node_name)


def is_same_pod(pod: Pod, changed: Pod) -> bool:
    """Whether the pod that changed is the pending pod."""
    return pod.uid == changed.uid


def stays_away(pod: Pod) -> bool:
    """Whether a pod that is taken off its node stays away, and the cluster can do without it there.

    Pods of DaemonSets and static pods come back at once; critical pods are not for moving.
    """
    owners = pod.metadata.owner_references or ()
    comes_back = any(one.kind in ("DaemonSet", "Node") for one in owners)
    return not comes_back and pod.priority < _SYSTEM_CRITICAL
