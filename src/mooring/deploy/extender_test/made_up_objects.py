"""Made-up nodes and pods that are sent to an extender, as JSON; the same ones in every run.

Nodes look like those of a real cluster, about 4 kB each. Objects have the form in which
kube-scheduler sends them: without kind, version and managed fields. `questions` puts them together.
No I/O.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from mooring.embedded.schema.definitions import Field, definition, definition_of_kind
from mooring.version import KUBERNETES_VERSION

#: A Kubernetes object as plain JSON.
Object = dict[str, Any]

NODE_PREFIX: Final = "moor-test-node-"
NAMESPACE: Final = "moor-extender-test"
#: A name and a field that no version of Kubernetes knows.
UNKNOWN_NODE: Final = "moor-test-node-unknown"
UNKNOWN_FIELD: Final = "fieldOfAKubernetesToCome"
_TIME: Final = "2026-03-01T08:00:00Z"
_ZONES: Final = ("zone-a", "zone-b", "zone-c")
_IMAGES: Final = 16
_DEEPEST: Final = 12


def uid(text: str) -> str:
    """A UUID made from a text, always the same one."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-a{digest[17:20]}-{digest[20:32]}"


def node_name(number: int) -> str:
    """The name of the node with this number, which starts at 1."""
    return f"{NODE_PREFIX}{number:05d}"


def made_up_node(number: int, resources: Sequence[str] = ()) -> Object:
    """A node; some have SSDs, GPUs or a taint.

    Args:
        number: which one, from 1.
        resources: extended resources that it offers besides.
    """
    name, zone = node_name(number), _ZONES[number % len(_ZONES)]
    offers = {
        "cpu": "16",
        "ephemeral-storage": "101430960Ki",
        "memory": "65842356Ki",
        "nvidia.com/gpu": "4" if number % 3 == 0 else "0",
        "pods": "110",
        **dict.fromkeys(resources, "8"),
    }
    spec: Object = {
        "podCIDR": f"10.{number // 256}.{number % 256}.0/24",
        "providerID": f"test:///{name}",
    }
    if number % 5 == 0:
        spec["taints"] = [{"key": "dedicated", "value": "batch", "effect": "PreferNoSchedule"}]
    return {
        "metadata": {
            "name": name,
            "uid": uid(name),
            "resourceVersion": str(100_000 + number),
            "creationTimestamp": _TIME,
            "labels": {
                "beta.kubernetes.io/arch": "amd64",
                "disktype": "ssd" if number % 2 else "hdd",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": "m7.4xlarge",
                "topology.kubernetes.io/region": "region-1",
                "topology.kubernetes.io/zone": zone,
            },
            "annotations": {
                "node.alpha.kubernetes.io/ttl": "0",
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            },
        },
        "spec": spec,
        "status": {
            "capacity": offers,
            "allocatable": offers,
            "conditions": [
                {
                    "type": kind,
                    "status": "True" if kind == "Ready" else "False",
                    "lastHeartbeatTime": _TIME,
                    "lastTransitionTime": _TIME,
                    "reason": f"Kubelet{kind}",
                    "message": f"kubelet reports {kind}",
                }
                for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
            ],
            "addresses": [
                {"type": "InternalIP", "address": f"10.0.{number // 256}.{number % 256}"},
                {"type": "Hostname", "address": name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                "machineID": uid(name).replace("-", ""),
                "systemUUID": uid(name),
                "bootID": uid(f"boot {name}"),
                "kernelVersion": "6.1.0",
                "osImage": "Debian GNU/Linux 12",
                "containerRuntimeVersion": "containerd://2.0.0",
                "kubeletVersion": KUBERNETES_VERSION,
                "kubeProxyVersion": "",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
            "images": [
                _image(f"example.com/team-{one}/app:1.{number % 4}") for one in range(_IMAGES)
            ],
        },
    }


def ordinary_pod(name: str, resources: Sequence[str] = ()) -> Object:
    """A pod as most are: of a ReplicaSet, with requests, labels and a volume.

    Args:
        name: its name.
        resources: extended resources that it requests besides.
    """
    amounts = {"cpu": "500m", "memory": "256Mi", **dict.fromkeys(resources, "1")}
    return {
        "metadata": {
            "name": name,
            "generateName": "web-",
            "namespace": NAMESPACE,
            "uid": uid(name),
            "resourceVersion": "4711",
            "creationTimestamp": _TIME,
            "labels": {"app": "web", "pod-template-hash": "5d6c8b"},
            "annotations": {"example.com/team": "shop"},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "web-5d6c8b",
                    "uid": uid("web-5d6c8b"),
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "volumes": [{"name": "tmp", "emptyDir": {}}],
            "containers": [
                {
                    "name": "web",
                    "image": "example.com/team-1/app:1.1",
                    "resources": {"limits": amounts, "requests": amounts},
                    "volumeMounts": [{"name": "tmp", "mountPath": "/scratch"}],
                    "imagePullPolicy": "IfNotPresent",
                }
            ],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "securityContext": {},
            "schedulerName": "default-scheduler",
            "tolerations": [
                {
                    "key": "node.kubernetes.io/not-ready",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
            ],
            "priority": 0,
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
        },
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }


def minimal_pod(resources: Sequence[str] = ()) -> Object:
    """A pod with nothing that a pod need not have: no labels, no annotations, no owner."""
    asked: Object = {}
    if resources:
        amounts = dict.fromkeys(resources, "1")
        asked = {"limits": amounts, "requests": amounts}
    return {
        "metadata": {"name": "minimal", "namespace": NAMESPACE, "uid": uid("minimal")},
        "spec": {"containers": [{"name": "one", "image": "example.com/app", "resources": asked}]},
        "status": {},
    }


def every_field_pod(resources: Sequence[str] = ()) -> Object:
    """A pod with a value in every field of Kubernetes v1.36, however unusual together."""
    pod: Object = _object(definition_of_kind("", "v1", "Pod").name, 0)
    for key in ("kind", "apiVersion"):
        del pod[key]
    pod["metadata"] |= {"name": "every-field", "namespace": NAMESPACE, "uid": uid("every-field")}
    pod["metadata"].pop("managedFields")  # kube-scheduler takes them out
    pod["metadata"].pop("deletionTimestamp")  # it does not schedule such pods
    pod["spec"].pop("nodeName")
    pod["status"]["phase"] = "Pending"
    if resources:
        amounts = dict.fromkeys(resources, "1")
        pod["spec"]["containers"][0]["resources"] |= {"limits": amounts, "requests": amounts}
    return pod


def _image(name: str) -> Object:
    digest = hashlib.sha256(name.encode()).hexdigest()
    return {"names": [f"{name.rpartition(':')[0]}@sha256:{digest}", name], "sizeBytes": 52_428_800}


def _object(name: str, depth: int) -> Object:
    return {
        field.name: _value(field, depth + 1)
        for field in definition(name).fields.values()
        if depth < _DEEPEST
    }


def _value(field: Field, depth: int) -> Any:
    if field.default is not None:
        return field.default
    if field.enum:
        return field.enum[0]
    element = field.items
    match field.type:
        case "object":
            return _object(field.ref, depth)
        case "array":
            return [_value(element, depth)] if element is not None else []
        case "map":
            return {"example.com/key": _value(element, depth)} if element is not None else {}
        case "integer":
            return 1
        case "number":
            return 1.5
        case "boolean":
            return True
        case "int-or-string":
            return 80
        case "quantity":
            return "1"
        case "time":
            return "2026-03-01T08:00:00.000000Z" if field.format == "micro" else _TIME
        case "bytes":
            return "bW9vcg=="
        case "any":
            return {}
        case _:
            return "text"
