"""Builders for pods and nodes, for tests of policies.

Everything has a sensible default; give only what the test is about.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.state.node_info import NodeInfo
from mooring.state.pod_info import PodInfo
from mooring.state.shapes import Shapes
from mooring.state.usage import NodeUsage


def make_pod(
    name: str = "pod",
    *,
    namespace: str = "default",
    requests: Mapping[str, str | int] | None = None,
    images: Sequence[str] = ("app:1",),
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    node: str = "",
    priority: int = 0,
    spec: Mapping[str, Any] | None = None,
) -> Pod:
    """A pod as the API server would store it.

    Args:
        name: its name; the UID is derived from namespace and name.
        namespace: its namespace.
        requests: what the first container requests, such as ``{"cpu": "500m"}``.
        images: one container for each image.
        labels: its labels.
        annotations: its annotations.
        node: the node it is bound to; empty if it is pending.
        priority: its priority.
        spec: further fields of the spec, as spelled in Kubernetes.
    """
    containers: list[dict[str, Any]] = [
        {"name": f"c{number}", "image": image} for number, image in enumerate(images)
    ]
    if requests and containers:
        containers[0]["resources"] = {"requests": dict(requests)}
    body: dict[str, Any] = {"containers": containers, "priority": priority}
    if node:
        body["nodeName"] = node
    return Pod.from_dict(
        {
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": f"uid-{namespace}-{name}",
                "labels": dict(labels or {}),
                "annotations": dict(annotations or {}),
            },
            "spec": {**body, **(spec or {})},
            "status": {"phase": "Running" if node else "Pending"},
        }
    )


def make_node(
    name: str = "node",
    *,
    cpu: str = "8",
    memory: str = "32Gi",
    extended: Mapping[str, str | int] | None = None,
    labels: Mapping[str, str] | None = None,
    images: Sequence[str] = (),
    taints: Sequence[Mapping[str, str]] = (),
    unschedulable: bool = False,
    pods: Sequence[Pod] | None = None,
) -> Node:
    """A ready node.

    Args:
        name: its name.
        cpu: its allocatable cores.
        memory: its allocatable memory.
        extended: further allocatable resources, such as ``{"nvidia.com/gpu": 4}``.
        labels: its labels, in addition to the host name.
        images: the names of the images on it.
        taints: its taints, each with key, value and effect.
        unschedulable: whether it is cordoned.
        pods: the pods on it; if given (even an empty list), `node.used` and `node.free` are
        available.
    """
    resources = {"cpu": cpu, "memory": memory, "pods": "110"}
    resources |= {key: str(value) for key, value in (extended or {}).items()}
    spec: dict[str, Any] = {}
    if taints:
        spec["taints"] = [dict(taint) for taint in taints]
    if unschedulable:
        spec["unschedulable"] = True
    node = Node.from_dict(
        {
            "metadata": {
                "name": name,
                "uid": f"uid-{name}",
                "labels": {"kubernetes.io/hostname": name, **(labels or {})},
            },
            "spec": spec,
            "status": {
                "capacity": dict(resources),
                "allocatable": dict(resources),
                "conditions": [{"type": "Ready", "status": "True"}],
                "images": [{"names": [image], "sizeBytes": 50_000_000} for image in images],
            },
        }
    )
    if pods is not None:
        usage, shapes = NodeUsage(), Shapes()
        for pod in pods:
            usage.add(pod.key, PodInfo(pod, shapes))
        return NodeInfo.of(node, usage)
    return node
