"""Which changes of pods and nodes help a pod that PodTopologySpread rejected.

Called by PodTopologySpread alone, with the constraints that the pod has to keep. It compares one
change with the constraints; how even the spread is then is found out when the pod is tried again.
"""

from collections.abc import Mapping, Sequence

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.plugins.pod_changes import is_assigned_or_nominated, is_same_pod
from mooring.plugins.spread.constraints import SpreadConstraint

# parity v1.36.4: plugins/podtopologyspread/plugin.go


def pod_counts_differently(
    pod: Pod, old: Pod | None, new: Pod | None, constraints: Sequence[SpreadConstraint]
) -> bool:
    """Whether a pod that came, changed or is gone makes a difference to one of the constraints."""
    if any(one is not None and not _is_involved(one, pod) for one in (old, new)):
        return False
    if old is None or new is None:
        changed = old if new is None else new
        return changed is not None and any(one.matches(changed.labels) for one in constraints)
    if (
        is_same_pod(pod, new)
        and old.tolerations != new.tolerations
        and any(one.honors_taints for one in constraints)
    ):
        return True
    return old.labels != new.labels and any(
        one.matches(old.labels) != one.matches(new.labels) for one in constraints
    )


def _is_involved(changed: Pod, pod: Pod) -> bool:
    """Whether a pod is one of those that may be spread together with the pending pod."""
    return is_same_pod(pod, changed) or (
        is_assigned_or_nominated(changed) and changed.namespace == pod.namespace
    )


def changes_domains(
    old: Node | None, new: Node | None, constraints: Sequence[SpreadConstraint]
) -> bool:
    """Whether a node joins or leaves the domains of the constraints, or moves among them."""
    was_in = old is not None and _has_keys(old.labels, constraints)
    is_in = new is not None and _has_keys(new.labels, constraints)
    if old is None or new is None or was_in != is_in:
        return was_in or is_in
    return is_in and (
        old.taints != new.taints
        or any(
            old.labels.get(one.topology_key) != new.labels.get(one.topology_key)
            for one in constraints
        )
    )


def _has_keys(labels: Mapping[str, str], constraints: Sequence[SpreadConstraint]) -> bool:
    return all(one.topology_key in labels for one in constraints)
