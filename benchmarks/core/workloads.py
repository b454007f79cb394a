"""The workloads: what the nodes and the pods are like. Made from numbers alone, as JSON.

Shapes are those of Kubernetes' own scheduler_perf: nodes of 4 cores, 32 GiB and 110 pods, pods of
100m and 500 MiB, one label `color` for each kind of pod. Objects are as an API server stores them,
defaults filled in. Used by `bench`; nothing here decides or measures.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import msgspec

#: A Kubernetes object, or a part of one, as plain JSON.
Object = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
NAMESPACE = "sched-0"

_PAUSE = "registry.k8s.io/pause:3.10.2"
_ONE_ZONE = ("zone1",)
_TWO_ZONES = ("zone1", "zone2")
_THREE_ZONES = ("zone1", "zone2", "zone3")
_APPS = 50
_IMAGES_ON_NODE = 10


class PodParts(NamedTuple):
    """What makes a pod special: labels, fields of its spec, its image."""

    labels: Mapping[str, str]
    spec: Mapping[str, Any] = {}
    image: str = _PAUSE


class Kind(NamedTuple):
    """A kind of pods.

    Attributes:
        name: what users call it.
        parts: what makes a pod special, given its number among its kind and its group; pods that
            keep apart do so within their group.
        home: the zones whose nodes may hold such a pod from the start; empty means all.
    """

    name: str
    parts: Callable[[int, int], PodParts]
    home: Collection[str] = ()

    def pod(self, number: int, group: int = 0, *, node: str = "") -> bytes:
        """The pod with this number, waiting or on a node."""
        return _pod(f"{self.name}-{number:06d}", self.parts(number, group), node)


class Workload(NamedTuple):
    """Pods of one or more kinds in turn, and the zones of the nodes, in turn too."""

    name: str
    title: str
    kinds: tuple[Kind, ...]
    zones: tuple[str, ...] = _THREE_ZONES

    def node(self, number: int) -> bytes:
        """The node with this number."""
        return _node(node_name(number), self.zone(number), number)

    def zone(self, number: int) -> str:
        """The zone of the node with this number."""
        return self.zones[number % len(self.zones)]


def node_name(number: int) -> str:
    """The name of the node with this number."""
    return f"scheduler-perf-{number:05d}"


def _app(number: int) -> str:
    return f"registry.example.com/shop/app-{number % _APPS:02d}:1.8.3"


def _node(name: str, zone: str, number: int) -> bytes:
    resources = {"cpu": "4", "ephemeral-storage": "100Gi", "memory": "32Gi", "pods": "110"}
    images = [
        {"names": [_app(number + step * _APPS // _IMAGES_ON_NODE)], "sizeBytes": 400_000_000}
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


def _pod(name: str, parts: PodParts, node: str) -> bytes:
    resources = {"cpu": "100m", "memory": "500Mi"}
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
    if node:
        spec["nodeName"] = node
    return msgspec.json.encode(
        {
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "uid": f"uid-{name}",
                "resourceVersion": "1000000",
                "creationTimestamp": "2026-03-01T08:00:00Z",
                "labels": dict(parts.labels),
            },
            "spec": spec,
            "status": {"phase": "Running" if node else "Pending", "qosClass": "Guaranteed"},
        }
    )


def _toleration(what: str) -> Object:
    return {
        "key": f"node.kubernetes.io/{what}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }


def _selector(color: str) -> Object:
    return {"matchLabels": {"color": color}}


def _plain(number: int, group: int) -> PodParts:
    return PodParts({"app": "plain"})


def _node_affinity(number: int, group: int) -> PodParts:
    zones = {"key": ZONE, "operator": "In", "values": list(_TWO_ZONES)}
    required = {"nodeSelectorTerms": [{"matchExpressions": [zones]}]}
    return PodParts(
        {"app": "node-affinity"},
        {
            "affinity": {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
            }
        },
    )


def _anti_affinity(number: int, group: int) -> PodParts:
    color = f"green-{group}"
    term = {"labelSelector": _selector(color), "topologyKey": HOSTNAME}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return PodParts({"color": color}, {"affinity": {"podAntiAffinity": required}})


def _affinity(number: int, group: int) -> PodParts:
    term = {"labelSelector": _selector("blue"), "topologyKey": ZONE}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return PodParts({"color": "blue"}, {"affinity": {"podAffinity": required}})


def _preferred_affinity(number: int, group: int) -> PodParts:
    term = {"labelSelector": _selector("red"), "topologyKey": HOSTNAME}
    preferred = [{"weight": 1, "podAffinityTerm": term}]
    terms = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    return PodParts({"color": "red"}, {"affinity": {"podAffinity": terms}})


def _required_spread(number: int, group: int) -> PodParts:
    return _spread("white", "DoNotSchedule")


def _preferred_spread(number: int, group: int) -> PodParts:
    return _spread("black", "ScheduleAnyway")


def _spread(color: str, when: str) -> PodParts:
    constraint = {
        "maxSkew": 5,
        "topologyKey": ZONE,
        "whenUnsatisfiable": when,
        "labelSelector": _selector(color),
    }
    return PodParts({"color": color}, {"topologySpreadConstraints": [constraint]})


def _images(number: int, group: int) -> PodParts:
    return PodParts({"app": "images"}, image=_app(number))


_PLAIN = Kind("plain", _plain)
_NODE_AFFINITY = Kind("node-affinity", _node_affinity, home=_TWO_ZONES)
_ANTI_AFFINITY = Kind("anti-affinity", _anti_affinity)
_AFFINITY = Kind("affinity", _affinity, home=_ONE_ZONE)
_PREFERRED_AFFINITY = Kind("preferred-affinity", _preferred_affinity)
_SPREAD = Kind("spread", _required_spread)
_PREFERRED_SPREAD = Kind("preferred-spread", _preferred_spread)
_IMAGES = Kind("images", _images)
_ALONE = (
    Workload("plain", "plain pods", (_PLAIN,)),
    Workload("node-affinity", "node affinity", (_NODE_AFFINITY,)),
    Workload("anti-affinity", "required anti-affinity by host", (_ANTI_AFFINITY,)),
    Workload("affinity", "required affinity by zone", (_AFFINITY,), zones=_ONE_ZONE),
    Workload("preferred-affinity", "preferred affinity by host", (_PREFERRED_AFFINITY,)),
    Workload("spread", "required spread by zone", (_SPREAD,)),
    Workload("preferred-spread", "preferred spread by zone", (_PREFERRED_SPREAD,)),
    Workload("images", "images on nodes", (_IMAGES,)),
)
_MIX = Workload("mix", "mix of all these", tuple(kind for one in _ALONE for kind in one.kinds))
#: All workloads by name.
WORKLOADS: dict[str, Workload] = {one.name: one for one in (*_ALONE, _MIX)}
