"""Whose pods are whose: the workload that a pod belongs to, and whether it is created again.

Read from owner references, as ``kubectl drain`` does. A Deployment is found through the ReplicaSet
of its pods, whether or not that is among the objects.
"""

from typing import Final, NamedTuple

from mooring.errors import InputError
from mooring.model.pod import Pod
from mooring.model.workloads import ReplicaSet
from mooring.state.cluster import Cluster

_MIRROR: Final = "kubernetes.io/config.mirror"
_TEMPLATE_HASH: Final = "pod-template-hash"
_DAEMON_SET, _NODE, _REPLICA_SET, _DEPLOYMENT = "DaemonSet", "Node", "ReplicaSet", "Deployment"
#: What kubectl calls the kinds of workloads.
_KINDS: Final = {
    "deployment": "Deployment", "deployments": "Deployment", "deploy": "Deployment",
    "replicaset": "ReplicaSet", "replicasets": "ReplicaSet", "rs": "ReplicaSet",
    "statefulset": "StatefulSet", "statefulsets": "StatefulSet", "sts": "StatefulSet",
    "daemonset": "DaemonSet", "daemonsets": "DaemonSet", "ds": "DaemonSet",
    "job": "Job", "jobs": "Job",
    "replicationcontroller": "ReplicationController", "rc": "ReplicationController",
    "pod": "Pod", "pods": "Pod", "po": "Pod",
}  # fmt: skip


class PodOwner(NamedTuple):
    """What pods belong to: its kind in Kubernetes, its namespace and its name."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        space = "" if self.namespace == "default" else f" in {self.namespace}"
        return f"{self.kind.lower()}/{self.name}{space}"


def read_workload(text: str, namespace: str) -> PodOwner:
    """A workload as it is typed: ``deployment/web`` or ``NAMESPACE/deployment/web``.

    Raises:
        InputError: it has another form.
    """
    parts = text.split("/")
    kind = _KINDS.get(parts[-2].lower()) if len(parts) in (2, 3) else None
    if kind is None or not all(parts):
        raise InputError(
            f"{text!r} is not a workload; specify KIND/NAME or NAMESPACE/KIND/NAME, such as "
            "deployment/web or shop/statefulset/db"
        )
    return PodOwner(kind, parts[0] if len(parts) == 3 else namespace, parts[-1])


def is_static(pod: Pod) -> bool:
    """Whether a kubelet made the pod from a file: it is there as long as its node."""
    owner = pod.controller
    return _MIRROR in pod.annotations or (owner is not None and owner.kind == _NODE)


def is_daemon(pod: Pod) -> bool:
    """Whether the pod belongs to a DaemonSet, which has one on each node."""
    owner = pod.controller
    return owner is not None and owner.kind == _DAEMON_SET


def stays_with_node(pod: Pod) -> bool:
    """Whether a drain leaves the pod alone, and who removes its node removes it for good."""
    return is_static(pod) or is_daemon(pod)


def comes_back(pod: Pod) -> bool:
    """Whether a controller creates the pod again if it is deleted."""
    return pod.controller is not None and not is_static(pod)


def workload_of(cluster: Cluster, pod: Pod) -> PodOwner:
    """What a pod belongs to; itself if nothing controls it."""
    owner = pod.controller
    if owner is None:
        return PodOwner("Pod", pod.namespace, pod.name)
    if owner.kind == _REPLICA_SET:
        deployment = _deployment_of(cluster, pod, owner.name)
        if deployment:
            return PodOwner(_DEPLOYMENT, pod.namespace, deployment)
    return PodOwner(owner.kind, pod.namespace, owner.name)


def _deployment_of(cluster: Cluster, pod: Pod, replica_set: str) -> str:
    """The Deployment of a pod's ReplicaSet; empty if it has none."""
    known = cluster.catalog.get(ReplicaSet, f"{pod.namespace}/{replica_set}")
    if known is not None:
        owner = known.controller
        return owner.name if owner is not None and owner.kind == _DEPLOYMENT else ""
    # A Deployment names its ReplicaSets after itself and the template that they have.
    template = pod.labels.get(_TEMPLATE_HASH, "")
    name, _, last = replica_set.rpartition("-")
    return name if template and last == template else ""


def pods_of(cluster: Cluster, wanted: PodOwner) -> list[Pod]:
    """The pods of a workload, in the order in which the state has them."""
    return [
        pod
        for pod in cluster.all_pods()
        if pod.namespace == wanted.namespace
        and (
            workload_of(cluster, pod) == wanted
            or (
                wanted.kind == _REPLICA_SET
                and pod.controller is not None
                and (pod.controller.kind, pod.controller.name) == (wanted.kind, wanted.name)
            )
        )
    ]
