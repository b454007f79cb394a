import mooring as mr

policy = mr.Policy("answers", usage=False)


@policy.filter
def verdict(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
    return mr.reject("node is cordoned", unresolvable=True) if node.unschedulable else mr.accept()


@policy.filter(reason="wrong rack")
def truth(pod: mr.Pod, node: mr.Node) -> bool:
    return node.labels.get("rack") == pod.labels.get("rack")


@policy.filter
def reason_or_none(pod: mr.Pod, node: mr.Node) -> str | None:
    taint = mr.untolerated(node.taints, pod.tolerations)
    return f"taint {taint.key} is not tolerated" if taint else None


@policy.score(weight=2, max_score=10)
def zone(pod: mr.Pod, node: mr.Node) -> float:
    return 10 if node.labels.get("topology.kubernetes.io/zone") == "a" else 0
