"""The nodes, claims and pods of the scenarios, as they are created.

Made from numbers alone; nothing here talks to a server.
"""

from collections.abc import Iterator
from typing import Any, Final

from benchmarks.scheduler.clients import Request, create_pod, post

#: A Kubernetes object as plain JSON.
Object = dict[str, Any]

#: Nobody provisions volumes of this class, and they wait for their first consumer.
STORAGE_CLASS: Final[Object] = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "nobody"},
    "provisioner": "example.com/nobody",
    "volumeBindingMode": "WaitForFirstConsumer",
}
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
TEMPLATES: Final = 5

_IMAGE: Final = "registry.k8s.io/pause:3.10.2"


def namespace(name: str) -> Object:
    """A namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def nodes(count: int) -> Iterator[Request]:
    """Nodes that never get full."""
    for number in range(count):
        amounts = {"cpu": "64", "memory": "256Gi", "pods": "1000"}
        name = node_name(number)
        yield post(
            "/api/v1/nodes",
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
                "status": {
                    "capacity": amounts,
                    "allocatable": amounts,
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            },
        )


def node_name(number: int) -> str:
    """The name of the node with this number."""
    return f"node-{number:03d}"


def claims(count: int, where: str) -> Iterator[Request]:
    """Claims that wait for ever once a pod has a node."""
    for number in range(count):
        claim: Object = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": f"claim-{number}", "namespace": where},
            "spec": {
                "storageClassName": "nobody",
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
        yield post(f"/api/v1/namespaces/{where}/persistentvolumeclaims", claim)


def claiming_pods(count: int, where: str) -> Iterator[Request]:
    """A pod for each of the claims."""
    for number in range(count):
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": f"claim-{number}"}}
        yield create_pod(_pod(f"claiming-{number}", where, volumes=[volume]))


def ordinary_pods(numbers: range, where: str) -> Iterator[Request]:
    """Pods that fit anywhere."""
    for number in numbers:
        yield create_pod(_pod(f"pod-{number}", where))


def hopeless_pods(count: int, where: str) -> Iterator[Request]:
    """Pods of five templates for which no node is large enough.

    A pod that leaves any node is worth another try for all of them, and the try fails.
    """
    for number in range(count):
        template = number % TEMPLATES
        pod = _pod(f"hopeless-{number}", where, cpu=str(1000 + template))
        pod["metadata"]["labels"] = {"template": str(template)}
        yield create_pod(pod)


def _pod(name: str, where: str, cpu: str = "10m", **spec: object) -> Object:
    amounts = {"cpu": cpu, "memory": "16Mi"}
    container = {"name": "pause", "image": _IMAGE, "resources": {"requests": amounts}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": where},
        "spec": {"containers": [container], **spec},
    }
