"""A small made-up cluster and two pods, to try a policy on; for ``moor check``.

Half of it is plain. The other half has what the policy reads: its resources, labels and
annotations, so that the policy has something to say. Two of the four nodes have pods on them.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from mooring.framework.policy_checks.policy_reads import Keys, PolicyReads

Object = dict[str, Any]

ZONE: Final = "topology.kubernetes.io/zone"
_HOSTNAME: Final = "kubernetes.io/hostname"
_COMMON: Final = {
    "topology.kubernetes.io/region": "r1",
    "kubernetes.io/arch": "amd64",
    "kubernetes.io/os": "linux",
}
#: Labels that are what they are, whatever the policy compares them with.
_FIXED: Final = (_HOSTNAME, ZONE, "app")
_DEVICES: Final = 4
_PRIORITY: Final = 100


class SampleCluster(NamedTuple):
    """Objects as parsed JSON.

    Attributes:
        nodes: the nodes.
        running: the pods on them.
        pods: the pods to ask about, which are pending.
    """

    nodes: list[Object]
    running: list[Object]
    pods: list[Object]


def sample_cluster(reads: PolicyReads, scheduler_name: str) -> SampleCluster:
    """A cluster that has what a policy reads.

    Args:
        reads: that.
        scheduler_name: the scheduler that the pending pods ask for.
    """
    extended = [one for one in reads.resources if "/" in one]
    devices, one_of_each = dict.fromkeys(extended, str(_DEVICES)), dict.fromkeys(extended, "1")
    zone = next(iter(reads.node_labels.get(ZONE, ())), "a")
    other_zone = "b" if zone != "b" else "a"
    small, large = {"cpu": "8", "memory": "32Gi"}, {"cpu": "16", "memory": "64Gi"}
    first, second = _chosen(reads.node_labels, 0), _chosen(reads.node_labels, 1)
    notes = _chosen(reads.node_annotations, 0)
    nodes = [
        _node("node-a1", zone, small),
        _node("node-a2", zone, {**small, **devices}, first, notes),
        _node("node-b1", other_zone, large),
        _node("node-b2", other_zone, {**large, **devices}, second, notes),
    ]
    labels, notes = _chosen(reads.pod_labels, 0), _chosen(reads.pod_annotations, 0)
    running = [
        _pod("web-1", {"cpu": "2", "memory": "4Gi"}, node="node-a2"),
        _pod("batch-1", {"cpu": "1", "memory": "8Gi", **one_of_each}, labels, node="node-a2"),
        _pod("web-2", {"cpu": "1", "memory": "1Gi"}, node="node-b1"),
    ]
    pods = [
        _pod("plain", {"cpu": "500m", "memory": "512Mi"}),
        _pod("special", {"cpu": "2", "memory": "4Gi", **one_of_each}, labels, notes),
    ]
    pods[1]["spec"]["priority"] = _PRIORITY
    for pod in pods:
        pod["spec"]["schedulerName"] = scheduler_name
    return SampleCluster(nodes, running, pods)


def special_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels of a node or pod of the sample that not all of them have."""
    return {
        key: value
        for key, value in labels.items()
        if key not in _FIXED and _COMMON.get(key) != value
    }


def _chosen(read: Keys, place: int) -> dict[str, str]:
    """One value for each key; the last one where there are not so many."""
    return {
        key: values[min(place, len(values) - 1)]
        for key, values in read.items()
        if key not in _FIXED
    }


def _node(
    name: str,
    zone: str,
    resources: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Object:
    allocatable = {**resources, "pods": "110", "ephemeral-storage": "100Gi"}
    image = {"names": ["docker.io/library/app:1"], "sizeBytes": 50_000_000}
    common = {_HOSTNAME: name, ZONE: zone, **_COMMON}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "labels": {**common, **(labels or {})},
            "annotations": dict(annotations or {}),
        },
        "status": {
            "capacity": allocatable,
            "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": "True"}],
            "images": [image] if labels is not None else [],
        },
    }


def _pod(
    name: str,
    requests: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    node: str = "",
) -> Object:
    extended = {key: value for key, value in requests.items() if "/" in key}
    resources = {"requests": dict(requests), "limits": extended}
    container = {"name": "app", "image": "docker.io/library/app:1", "resources": resources}
    spec: Object = {"containers": [container]}
    if node:
        spec["nodeName"] = node
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "labels": {"app": name.partition("-")[0], **(labels or {})},
            "annotations": dict(annotations or {}),
        },
        "spec": spec,
        "status": {"phase": "Running" if node else "Pending"},
    }
