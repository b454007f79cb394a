"""What the Go extender does, as a mooring policy; served by `moor serve` in both parts."""

import mooring as mr

policy = mr.Policy("bench", usage=False)


@policy.filter
def ssd(pod: mr.Pod, node: mr.Node) -> bool | str:
    """Keep nodes with an SSD."""
    return node.labels.get("disktype") == "ssd" or "node has no SSD"


@policy.score(max_score=10)
def by_name(pod: mr.Pod, node: mr.Node) -> float:
    """Score by the last letter of the name."""
    return ord(node.name[-1]) % 11


@policy.score(max_score=10)
def image_score(pod: mr.Pod, node: mr.Node) -> float:
    """Count the pod's containers whose image is part of the name of an image on the node."""
    return sum(any(image in name for name in node.images) for image in pod.images)
