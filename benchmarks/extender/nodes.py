"""Nodes as a real cluster has them, made from a seed; used by both parts.

A node is about 7.5 kB of JSON: labels, annotations, managed fields, five conditions and 18 images.
The same seed always gives the same nodes. Nothing here talks to a server.
"""

import hashlib
import json
import random
from typing import Any

#: A Kubernetes object as plain JSON.
Object = dict[str, Any]

SEED = 20260
ZONES = ("eu-west-1a", "eu-west-1b", "eu-west-1c")
HEARTBEAT = "2026-03-01T08:00:00Z"
#: All resource versions have nine digits, so that one can replace another inside a finished body.
FIRST_VERSION = 100_000_000
#: Images of the measured pod; a node has none, one or both of them.
POD_IMAGES = ("ghcr.io/shop/web:1.8.3", "docker.io/envoyproxy/envoy:v1.31.4")

_SYSTEM_IMAGES = (
    "registry.k8s.io/pause:3.10",
    "registry.k8s.io/kube-proxy:v1.36.4",
    "quay.io/cilium/cilium:v1.17.2",
    "registry.k8s.io/sig-storage/csi-node-driver-registrar:v2.13.0",
    "quay.io/prometheus/node-exporter:v1.9.0",
)
_TEAMS = ("shop", "search", "billing", "media", "data", "ml", "auth", "edge")
_APPS = ("web", "api", "worker", "cron", "cache", "index")
_N_IMAGES = 18


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def uid(text: str) -> str:
    """A UUID made from a text, always the same one."""
    digest = _digest(text)
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-a{digest[17:20]}-{digest[20:32]}"


def _image(tag: str) -> Object:
    repository = tag.rpartition(":")[0]
    digest = _digest(tag)
    size = 20_000_000 + int(digest[:7], 16)
    return {"names": [f"{repository}@sha256:{digest}", tag], "sizeBytes": size}


def _catalogue() -> list[Object]:
    tags = [
        f"ghcr.io/{team}/{app}:1.{minor}.3" for team in _TEAMS for app in _APPS for minor in (7, 8)
    ]
    return [_image(tag) for tag in [*tags, POD_IMAGES[1]]]


def node_name(number: int) -> str:
    """The name of the node with this number."""
    return f"ip-10-{number // 65536}-{number // 256 % 256}-{number % 256}.node-{number:05d}"


def _fields(*names: str) -> Object:
    return {f"f:{name}": {} for name in names}


def _managed_fields(labels: dict[str, str]) -> list[Object]:
    """What the API server notes about the three programs that write a node."""
    metadata = {
        "f:annotations": {
            ".": {},
            **_fields("volumes.kubernetes.io/controller-managed-attach-detach"),
        },
        "f:labels": {".": {}, **_fields(*labels)},
    }
    conditions = {
        f'k:{{"type":"{kind}"}}': _fields(
            "lastHeartbeatTime", "lastTransitionTime", "message", "reason", "status"
        )
        for kind in ("DiskPressure", "MemoryPressure", "PIDPressure", "Ready")
    }
    status = {
        "f:allocatable": _fields("memory"),
        "f:capacity": _fields("memory"),
        "f:conditions": conditions,
        "f:images": {},
    }
    return [
        {
            "manager": "kubelet",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-02-11T06:12:09Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": metadata},
        },
        {
            "manager": "kube-controller-manager",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-02-11T06:12:31Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:annotations": _fields("node.alpha.kubernetes.io/ttl")},
                "f:spec": _fields("podCIDR", "podCIDRs"),
            },
        },
        {
            "manager": "kubelet",
            "operation": "Update",
            "apiVersion": "v1",
            "time": HEARTBEAT,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:status": status},
            "subresource": "status",
        },
    ]


def _condition(kind: str, status: str, reason: str, message: str) -> Object:
    return {
        "type": kind,
        "status": status,
        "lastHeartbeatTime": HEARTBEAT,
        "lastTransitionTime": "2026-02-11T06:12:09Z",
        "reason": reason,
        "message": message,
    }


_CONDITIONS = [
    _condition("NetworkUnavailable", "False", "CiliumIsUp", "Cilium is running on this node"),
    _condition(
        "MemoryPressure",
        "False",
        "KubeletHasSufficientMemory",
        "kubelet has sufficient memory available",
    ),
    _condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    _condition(
        "PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"
    ),
    _condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
]


def _labels(number: int, rng: random.Random) -> dict[str, str]:
    zone = ZONES[number % len(ZONES)]
    return {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/instance-type": "m6i.4xlarge",
        "beta.kubernetes.io/os": "linux",
        "disktype": "ssd" if rng.random() < 0.5 else "hdd",
        "example.com/cost-center": f"cc-{rng.randrange(40):03d}",
        "example.com/owner": f"team-{rng.randrange(20)}",
        "example.com/rack": f"rack-{number // 40:03d}",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": node_name(number),
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "m6i.4xlarge",
        "node.kubernetes.io/pool": f"pool-{rng.randrange(6)}",
        "topology.kubernetes.io/region": zone[:-1],
        "topology.kubernetes.io/zone": zone,
    }


def nodes(count: int) -> list[Object]:
    """The first `count` nodes of the cluster; about half of them carry ``disktype=ssd``."""
    catalogue = _catalogue()
    system = [_image(tag) for tag in _SYSTEM_IMAGES]
    return [_node(number, catalogue, system) for number in range(count)]


def _node(number: int, catalogue: list[Object], system: list[Object]) -> Object:
    rng = random.Random(SEED * 1_000_003 + number)
    name = node_name(number)
    labels = _labels(number, rng)
    images = [*rng.sample(catalogue, _N_IMAGES - len(system)), *system]
    images.sort(key=lambda image: -int(image["sizeBytes"]))
    address = f"10.{number // 65536}.{number // 256 % 256}.{number % 256}"
    cidr = f"10.{128 + number // 256}.{number % 256}.0/24"
    return {
        "metadata": {
            "name": name,
            "uid": uid(name),
            "resourceVersion": str(FIRST_VERSION + number),
            "creationTimestamp": "2026-02-11T06:12:09Z",
            "labels": labels,
            "annotations": {
                "csi.volume.kubernetes.io/nodeid": json.dumps(
                    {"ebs.csi.aws.com": "i-" + _digest(name)[:17]}, separators=(",", ":")
                ),
                "node.alpha.kubernetes.io/ttl": "0",
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            },
            "managedFields": _managed_fields(labels),
        },
        "spec": {
            "podCIDR": cidr,
            "podCIDRs": [cidr],
            "providerID": f"aws:///{ZONES[number % 3]}/i-{_digest(name)[:17]}",
        },
        "status": {
            "capacity": _resources("16", "64897032Ki"),
            "allocatable": _resources("15890m", "63747576Ki"),
            "conditions": _CONDITIONS,
            "addresses": [
                {"type": "InternalIP", "address": address},
                {"type": "Hostname", "address": name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                "machineID": _digest(name)[:32],
                "systemUUID": uid("system " + name),
                "bootID": uid("boot " + name),
                "kernelVersion": "6.12.8-200.fc41.x86_64",
                "osImage": "Fedora CoreOS 41.20260105.3.0",
                "containerRuntimeVersion": "containerd://2.1.4",
                "kubeletVersion": "v1.36.4",
                "kubeProxyVersion": "",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
            "images": images,
        },
    }


def _resources(cpu: str, memory: str) -> dict[str, str]:
    return {
        "cpu": cpu,
        "ephemeral-storage": "188444144Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": memory,
        "pods": "110",
    }
