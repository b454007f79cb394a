"""GPU pods fill one node before the next, and each is told which devices are its own."""

import numpy as np

import mooring as mr

GPU = "nvidia.com/gpu"
DEVICES = "mooring.example/gpu-devices"

policy = mr.Policy("gpu-packing", description="Pack GPU pods and hand out device numbers.")


@policy.filter(reason="too few free GPUs")
def enough_gpus(pod: mr.Pod, node: mr.Node) -> bool:
    """Keep nodes with enough GPUs that no pod has asked for."""
    return node.free[GPU] >= pod.requests[GPU]


@policy.score_nodes
def pack(pod: mr.Pod, nodes: mr.Nodes) -> mr.Scores:
    """Give 100 to the node that will have the largest part of its GPUs in use, less to others."""
    if not pod.requests[GPU] or not len(nodes):
        return np.zeros(len(nodes))
    part = (nodes.used[GPU] + pod.requests[GPU]) / np.maximum(nodes.allocatable[GPU], 1)
    return 100 * part / float(part.max())


@policy.bind
def pick_devices(binding: mr.Binding) -> mr.Binding | str:
    """Write the lowest device numbers that no other pod on the node has into an annotation."""
    pod, node = binding.pod, binding.node
    if pod is None or node is None:
        return "pod or node is not known to the extender yet"
    others = (other for other in node.pods if other.uid != pod.uid)
    taken = {number for other in others for number in device_numbers(other)}
    free = [number for number in range(node.allocatable[GPU]) if number not in taken]
    wanted = pod.requests[GPU]
    if len(free) < wanted:
        return f"node {node.name} has too few free GPU devices"
    return binding.annotate({DEVICES: ",".join(map(str, free[:wanted]))}) if wanted else binding


def device_numbers(pod: mr.Pod) -> set[int]:
    """The devices a pod was given, such as {0, 1} for "0,1"."""
    numbers = pod.annotations.get(DEVICES, "").split(",")
    return {int(number) for number in numbers if number.strip().isdecimal()}
