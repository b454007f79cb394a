import mooring as mr

policy = mr.Policy("gpu-pack")
GPU = "nvidia.com/gpu"


@policy.filter
def keep_gpus(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
    fits = pod.requests[GPU] or not node.allocatable[GPU]
    return mr.accept_if(fits, "kept for pods that need GPUs")


@policy.score
def pack(pod: mr.Pod, node: mr.Node) -> float:  # 0 (worst) to 100 (best)
    return 100 * node.used[GPU] / max(node.allocatable[GPU], 1)
