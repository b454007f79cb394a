import numpy as np

import mooring as mr

policy = mr.Policy("fair-gpus")
GPU = "nvidia.com/gpu"


@policy.filter_nodes(reason="namespace would use more than half of the GPUs")
def share(pod: mr.Pod, nodes: mr.Nodes) -> mr.Mask:
    team = [[p.requests[GPU] for p in node.pods if p.namespace == pod.namespace] for node in nodes]
    return np.array([sum(gpus) for gpus in team]) + pod.requests[GPU] <= nodes.allocatable[GPU] / 2


@policy.score_nodes
def pack(pod: mr.Pod, nodes: mr.Nodes) -> mr.Scores:
    return np.where((nodes.used[GPU] > 0) & (pod.requests[GPU] > 0), 100.0, 0.0)
