import mooring as mr

policy = mr.Policy("gpu-pack")
GPU = "nvidia.com/gpu"


@policy.filter
def enough_gpus(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
    return mr.accept_if(node.free[GPU] >= pod.requests[GPU], "too few free GPUs")


@policy.score
def pack(pod: mr.Pod, node: mr.Node) -> float:  # 0 (worst) to 100 (best)
    return 100 * node.used[GPU] / max(node.allocatable[GPU], 1)
