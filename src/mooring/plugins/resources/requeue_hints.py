"""Which changes make room for a pod that NodeResourcesFit rejected.

Called by NodeResourcesFit alone. It compares amounts only: what other pods use on a node is found
out when the pod is tried again.
"""

from collections.abc import Container

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.resource_names import is_counted
from mooring.model.resources import PODS
from mooring.plugins.pod_changes import is_assigned_or_nominated, is_same_pod

# parity v1.36.4: plugins/noderesources/fit.go


def frees_resources(pod: Pod, old: Pod, new: Pod | None) -> bool:
    """Whether a pod that is gone, or asks for less, frees something that the pending pod wants."""
    if new is None:
        return is_assigned_or_nominated(old)
    if is_same_pod(pod, new):
        return True
    if not new.node_name:
        return False
    before, after = old.requests, new.requests
    return any(
        amount and is_counted(name) and before[name] > after[name]
        for name, amount in pod.requests.items()
    )


def offers_more(
    wanted: tuple[tuple[str, int], ...],
    old: Node | None,
    new: Node,
    from_devices: Container[str] = (),
) -> bool:
    """Whether an empty node would be big enough, and is new or bigger than before.

    Args:
        wanted: the resources that count for the pending pod, with amounts.
        old: the node before; None if it is new.
        new: the node now.
        from_devices: the resources that devices may provide where a node has none.
    """
    room = new.allocatable
    left = [name for name, _ in wanted if not room[name] and name in from_devices]
    if room[PODS] < 1 or any(room[name] < amount for name, amount in wanted if name not in left):
        return False
    if old is None or left:
        return True
    before = old.allocatable
    return room[PODS] > before[PODS] or any(room[name] > before[name] for name, _ in wanted)
