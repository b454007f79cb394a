import mooring as mr

policy = mr.Policy("fair-gpus")
GPU = "nvidia.com/gpu"


@policy.filter
def share(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
    team = [other for other in (pod, *node.pods) if other.namespace == pod.namespace]
    fits = sum(other.requests[GPU] for other in team) <= node.allocatable[GPU] / 2
    return mr.accept_if(fits, "namespace would use more than half of the GPUs")


@policy.score
def pack(pod: mr.Pod, node: mr.Node) -> float:  # 0 (worst) to 100 (best)
    return 100 if pod.requests[GPU] and node.used[GPU] else 0
