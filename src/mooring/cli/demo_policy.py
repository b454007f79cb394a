"""The policy that ``moor demo`` shows."""

import mooring as mr

policy = mr.Policy("fast-disks", usage=False)


@policy.filter
def fast_disk(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
    """Pods labelled disk=ssd go to nodes with an SSD only."""
    wanted = pod.labels.get("disk", "any")
    fits = wanted in ("any", node.labels.get("disktype"))
    return mr.accept_if(fits, "node has no SSD")


@policy.filter
def licensed(pod: mr.Pod, node: mr.Node) -> str | None:
    """A licence is bound to one rack."""
    rack = pod.annotations.get("example.com/licence-rack")
    if rack and node.labels.get("rack") != rack:
        return "no licence in this rack"
    return None


@policy.score(max_score=10)
def image_here(pod: mr.Pod, node: mr.Node) -> float:
    """Prefer nodes that have the pod's images already."""
    found = sum(image in node.images for image in pod.images)
    return 10 * found / len(pod.images)
