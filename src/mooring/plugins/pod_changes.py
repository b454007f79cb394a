"""What plugins ask about a pod that changed, before they say whether that helps a pending pod.

Called by the `requeue_on` parts of plugins. It looks at the two pods and at nothing else.
"""

from mooring.model.pod import Pod


def is_assigned_or_nominated(pod: Pod) -> bool:
    """Whether a pod counts on a node: because it is there, or because the node is nominated."""
    return bool(pod.node_name or pod.status.nominated_node_name)


def is_same_pod(pod: Pod, changed: Pod) -> bool:
    """Whether the pod that changed is the pending pod."""
    return pod.uid == changed.uid
