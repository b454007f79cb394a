"""Pods that ask for an SSD go only to nodes that have one."""

import mooring as mr

policy = mr.Policy("ssd-filter", usage=False)


@policy.filter(reason="node has no SSD", unresolvable=True)
def ssd(pod: mr.Pod, node: mr.Node) -> bool:
    """Keep nodes labelled disktype=ssd for pods annotated mooring.example/disk=ssd."""
    asks = pod.annotations.get("mooring.example/disk") == "ssd"
    return not asks or node.labels.get("disktype") == "ssd"
