import numpy as np

import mooring as mr

policy = mr.Policy("gpu-pack")
GPU = "nvidia.com/gpu"


@policy.filter_nodes(reason="kept for pods that need GPUs")
def keep_gpus(pod: mr.Pod, nodes: mr.Nodes) -> mr.Mask:
    return (nodes.allocatable[GPU] < 1) | (pod.requests[GPU] > 0)


@policy.score_nodes
def pack(pod: mr.Pod, nodes: mr.Nodes) -> mr.Scores:
    return 100 * nodes.used[GPU] / np.maximum(nodes.allocatable[GPU], 1)
