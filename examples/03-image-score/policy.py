"""Nodes that already have a pod's images start it sooner."""

import mooring as mr

policy = mr.Policy("image-score", usage=False, description="Prefer nodes that have the images.")


@policy.score(max_score=10)
def image_score(pod: mr.Pod, node: mr.Node) -> float:
    """Count the containers whose image is part of the name of an image on the node."""
    there = sum(any(image in name for name in node.images) for image in pod.images)
    return min(there, 10)
