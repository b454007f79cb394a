import mooring as mr

policy = mr.Policy("night-batch")


@policy.filter
def quiet(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
    batch = pod.labels.get("workload") == "batch"
    day = node.annotations.get("example.com/shift") == "day"
    return mr.accept_if(not (batch and day), "no batch pods by day")


@policy.score(max_score=10)
def few_pods(pod: mr.Pod, node: mr.Node) -> float:
    return max(0, 10 - len(node.pods))
