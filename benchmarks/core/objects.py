"""The nodes and the pods as JSON, made from numbers alone; used by `kinds` and `workloads`.

Shapes are those of Kubernetes' own scheduler_perf: nodes of 4 cores, 32 GiB and 110 pods, pods of
100m and 500 MiB. Objects are as an API server stores them, defaults filled in.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

#: A Kubernetes object, or a part of one, as plain JSON.
Object = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
NAMESPACE = "sched-0"

_PAUSE = "registry.k8s.io/pause:3.10.2"
_APPS = 50
_IMAGES_ON_NODE = 10


class PodParts(NamedTuple):
    """What makes a pod special.

    Attributes:
        labels: its labels.
        spec: fields of its spec.
        image: its container's image.
        cpu: the CPU that it requests.
        owner: the reference to its controller, if it has one.
    """

    labels: Mapping[str, str]
    spec: Mapping[str, Any] = {}
    image: str = _PAUSE
    cpu: str = "100m"
    owner: Object | None = None


def node_name(number: int) -> str:
    """The name of the node with this number."""
    return f"scheduler-perf-{number:05d}"


def app_image(number: int) -> str:
    """One of 50 images, each on every fifth node."""
    return f"registry.example.com/shop/app-{number % _APPS:02d}:1.8.3"


def node(name: str, zone: str, number: int) -> bytes:
    """A node; its number says which images it has."""
    resources = {"cpu": "4", "ephemeral-storage": "100Gi", "memory": "32Gi", "pods": "110"}
    images = [
        {"names": [app_image(number + step * _APPS // _IMAGES_ON_NODE)], "sizeBytes": 400_000_000}
        for step in range(_IMAGES_ON_NODE)
    ]
    return msgspec.json.encode(
        {
            "metadata": {
                "name": name,
                "uid": f"uid-{name}",
                "labels": {
                    "kubernetes.io/arch": "amd64",
                    HOSTNAME: name,
                    "kubernetes.io/os": "linux",
                    "node.kubernetes.io/instance-type": "m6.xlarge",
                    "topology.kubernetes.io/region": "region1",
                    ZONE: zone,
                },
            },
            "spec": {},
            "status": {
                "capacity": resources,
                "allocatable": resources,
                "conditions": [{"type": "Ready", "status": "True"}],
                "images": [{"names": [_PAUSE], "sizeBytes": 700_000}, *images],
            },
        }
    )


def pod(name: str, parts: PodParts, node: str = "", *, phase: str = "") -> bytes:
    """A pod, waiting or on a node; there it runs unless another phase is given."""
    resources = {"cpu": parts.cpu, "memory": "500Mi"}
    container = {
        "name": "pause",
        "image": parts.image,
        "ports": [{"containerPort": 80, "protocol": "TCP"}],
        "resources": {"limits": resources, "requests": resources},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }
    spec: Object = {
        "containers": [container],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "tolerations": [_toleration("not-ready"), _toleration("unreachable")],
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
        **parts.spec,
    }
    metadata: Object = {
        "name": name,
        "namespace": NAMESPACE,
        "uid": f"uid-{name}",
        "resourceVersion": "1000001" if node else "1000000",
        "creationTimestamp": "2026-03-01T08:00:00Z",
        "labels": dict(parts.labels),
    }
    if parts.owner is not None:
        metadata["ownerReferences"] = [parts.owner]
    status: Object = {"phase": "Pending", "qosClass": "Guaranteed"}
    if node:
        spec["nodeName"] = node
        status["phase"] = phase or "Running"
        status["conditions"] = [{"type": "PodScheduled", "status": "True"}]
    return msgspec.json.encode({"metadata": metadata, "spec": spec, "status": status})


def _toleration(what: str) -> Object:
    return {
        "key": f"node.kubernetes.io/{what}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
