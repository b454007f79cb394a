import mooring as mr

policy = mr.Policy("frugal", usage=False)
WATTS = {"a100": 400, "h100": 700}


@policy.score(pure=True)  # a dict could change, but nobody changes WATTS
def frugal(pod: mr.Pod, node: mr.Node) -> float:
    return 100 - WATTS.get(node.labels.get("gpu", ""), 0) / 10
