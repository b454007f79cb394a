import mooring as mr

policy = mr.Policy("whole-gpus")
DRIVER = "gpu.example.com"
LARGE = mr.parse_quantity("80Gi")


@policy.filter
def quiet(pod: mr.Pod, node: mr.Node) -> mr.Verdict:
    users = {key.split("/")[0] for gpu in node.devices.of(DRIVER).allocated for key in gpu.pods}
    return mr.accept_if(users <= {pod.namespace}, "GPUs are in use by another namespace")


@policy.score
def spare_large(pod: mr.Pod, node: mr.Node) -> float:
    free = node.devices.of(DRIVER).free
    large = [gpu for gpu in free if gpu.capacity[f"{DRIVER}/memory"] >= LARGE]
    return 100 * (1 - len(large) / len(free)) if free else 0
