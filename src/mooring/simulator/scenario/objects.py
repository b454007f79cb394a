"""The Kubernetes objects that a scenario's short forms stand for. No I/O; makes plain JSON."""

from typing import Any, Final

from mooring.embedded.fleet import make_node
from mooring.embedded.kubelet.kubelet import RUN_SECONDS
from mooring.embedded.resources import Obj
from mooring.simulator.engine.recorder import ZONE
from mooring.simulator.engine.simulation import WORKLOAD
from mooring.simulator.scenario.schema import NodeGroup, PodForm, WorkloadForm

GROUP: Final = "mooring.dev/node-group"
_API: Final = {"Job": "batch/v1", "Pod": "v1"}
_IMAGE_BYTES: Final = 100_000_000


def node_of(group: NodeGroup, number: int, cluster_number: int) -> Obj:
    """One node of a group.

    Args:
        group: which group.
        number: which node of it, from 1.
        cluster_number: which node of the cluster, from 1.
    """
    resources = {
        "cpu": group.cpu, "memory": group.memory, "ephemeral-storage": group.storage,
        "pods": group.pods, **group.resources,
    }  # fmt: skip
    labels = {GROUP: group.name}
    if group.zones:
        labels[ZONE] = group.zones[(number - 1) % len(group.zones)]
    labels |= group.labels
    amounts = {name: str(amount) for name, amount in resources.items()}
    node = make_node(f"{group.name}-{number}", cluster_number, labels, amounts)
    if group.taints:
        node["spec"]["taints"] = [dict(one) for one in group.taints]
    if group.images:
        node["status"]["images"] = [
            {"names": [one], "sizeBytes": _IMAGE_BYTES} for one in group.images
        ]
    return node


def pod_template(
    workload: WorkloadForm, pod: PodForm, requests: dict[str, str] | None = None
) -> Obj:
    """Metadata and spec of a workload's pods.

    Args:
        workload: whose pods they are.
        pod: what they are like.
        requests: amounts that replace what the form says.
    """
    amounts = {"cpu": str(pod.cpu), "memory": str(pod.memory)}
    amounts |= {name: str(amount) for name, amount in pod.resources.items()}
    amounts |= requests or {}
    # The API wants limits for what cannot be overcommitted.
    limits = {name: one for name, one in amounts.items() if "/" in name}
    resources: dict[str, Any] = {"requests": amounts}
    if limits:
        resources["limits"] = limits
    spec: Obj = {
        "containers": [{"name": "app", "image": pod.image, "resources": resources}],
        **pod.spec,
    }
    if pod.priority_class_name:
        spec["priorityClassName"] = pod.priority_class_name
    if pod.node_selector:
        spec["nodeSelector"] = dict(pod.node_selector)
    if pod.scheduler_name:
        spec["schedulerName"] = pod.scheduler_name
    metadata: Obj = {
        "labels": {"app": workload.name, **pod.labels},
        "annotations": {WORKLOAD: workload.name, **pod.annotations},
    }
    return {"metadata": metadata, "spec": spec}


def workload_object(workload: WorkloadForm, pod: PodForm, name: str, seconds: float | None) -> Obj:
    """The object whose controller creates a workload's pods.

    Args:
        workload: of any kind but Pod.
        pod: what its pods are like.
        name: the object's name.
        seconds: for how long each pod runs; None if that is drawn, or for ever.
    """
    template = pod_template(workload, pod)
    if seconds is not None:
        template["metadata"]["annotations"][RUN_SECONDS] = repr(seconds)
    labels = template["metadata"]["labels"]
    spec: Obj = {"template": template}
    if workload.kind == "Job":
        template["spec"].setdefault("restartPolicy", "Never")
        parallelism = workload.parallelism
        spec["completions"] = workload.replicas
        spec["parallelism"] = workload.replicas if parallelism is None else parallelism
    else:
        spec["selector"] = {"matchLabels": dict(labels)}
        if workload.kind != "DaemonSet":
            spec["replicas"] = workload.replicas
        if workload.kind == "StatefulSet":
            spec["serviceName"] = name
    return {
        "apiVersion": _API.get(workload.kind, "apps/v1"),
        "kind": workload.kind,
        "metadata": {"name": name, "namespace": workload.namespace, "labels": dict(labels)},
        "spec": {**spec, **workload.spec},
    }


def bare_pod(workload: WorkloadForm, template: Obj, name: str) -> Obj:
    """A pod that no controller creates."""
    metadata = {**template["metadata"], "name": name, "namespace": workload.namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
