"""The nodes and the pods of the workloads, as they are created; shaped as in scheduler_perf.

Used by `workloads` and `cluster`. Made from numbers alone; nothing here talks to a server.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

#: A Kubernetes object, or a part of one, as plain JSON.
Object = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
#: The namespaces in which affinity terms look for other pods.
NAMESPACES = ("sched-1", "sched-0")
#: The node that all pods of a daemon set must go to.
DAEMON_NODE = "scheduler-perf-node"
#: The class of the pods that may preempt others. scheduler_perf sets their priority without one,
#: which an API server with its usual admission plugins rejects.
PRIORITY_CLASS: Object = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 10,
}

_IMAGE = "registry.k8s.io/pause:3.10.2"
_MANY_PODS = "90000"
_MEMORY = "500Mi"


class PodKind(NamedTuple):
    """A kind of pods.

    Attributes:
        prefix: what their names begin with.
        cpu: requested CPU; nothing at all is requested if empty.
        labels: their labels.
        spec: what else is in their spec.
        limited: whether the limits equal the requests.
        together: so many of those that are there at the start share a node.
    """

    prefix: str
    cpu: str = "100m"
    labels: Mapping[str, str] = {}
    spec: Mapping[str, Any] = {}
    limited: bool = True
    together: int = 1

    def name(self, number: int) -> str:
        """The name of the pod with this number."""
        return f"{self.prefix}{number:05d}"

    def manifest(self, number: int, namespace: str, node: str = "") -> Object:
        """The pod with this number, waiting or created on a node."""
        container: Object = {"name": "pause", "image": _IMAGE}
        if self.cpu:
            amounts = {"cpu": self.cpu, "memory": _MEMORY}
            limits = {"limits": amounts} if self.limited else {}
            container["ports"] = [{"containerPort": 80}]
            container["resources"] = {"requests": amounts, **limits}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": self.name(number),
                "namespace": namespace,
                "labels": dict(self.labels),
            },
            "spec": {
                "containers": [container],
                **self.spec,
                **({"nodeName": node} if node else {}),
            },
        }


def node_name(number: int) -> str:
    """The name of the node with this number."""
    return f"scheduler-perf-{number:05d}"


def node(number: int, zones: Sequence[str]) -> Object:
    """The node with this number; the zones are given to the nodes in turn."""
    zone = {ZONE: zones[number % len(zones)]} if zones else {}
    return _node(node_name(number), zone, "110")


def daemon_node() -> Object:
    """The node all pods of a daemon set must go to, with room for all of them."""
    return _node(DAEMON_NODE, {}, _MANY_PODS)


def _node(name: str, labels: Mapping[str, str], pods: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, **labels}},
        "spec": {},
        "status": {
            "capacity": {"pods": pods, "cpu": "4", "memory": "32Gi"},
            "conditions": [{"type": "Ready", "status": "True"}],
            "phase": "Running",
        },
    }


def replica_set(number: int) -> Object:
    """A replica set without pods, whose status can be updated."""
    labels = {"app": f"updated-{number}"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "pause", "image": _IMAGE}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": f"updated-{number}"},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
    }


def _term(color: str, key: str) -> Object:
    return {
        "labelSelector": {"matchLabels": {"color": color}},
        "topologyKey": key,
        "namespaces": list(NAMESPACES),
    }


def _related(prefix: str, relation: str, color: str, key: str) -> PodKind:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [_term(color, key)]}
    return PodKind(prefix, labels={"color": color}, spec={"affinity": {relation: required}})


def _drawn(prefix: str, relation: str, color: str, together: int = 1) -> PodKind:
    term = {"weight": 1, "podAffinityTerm": _term(color, HOSTNAME)}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [term]}
    spec = {"affinity": {relation: preferred}}
    return PodKind(prefix, labels={"color": color}, spec=spec, together=together)


def _spread(when: str) -> PodKind:
    constraint = {
        "maxSkew": 5,
        "topologyKey": ZONE,
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"color": "blue"}},
    }
    spec = {"topologySpreadConstraints": [constraint]}
    return PodKind("spreading-pod-", labels={"color": "blue"}, spec=spec)


def _on_nodes(term: Object) -> Object:
    required = {"nodeSelectorTerms": [term]}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    }


_TWO_ZONES = {"key": ZONE, "operator": "In", "values": ["zone1", "zone2"]}
_THE_NODE = {"key": "metadata.name", "operator": "In", "values": [DAEMON_NODE]}

PLAIN = PodKind("pod-")
NODE_AFFINITY = PodKind("node-affinity-", spec=_on_nodes({"matchExpressions": [_TWO_ZONES]}))
ANTI_AFFINITY = _related("anti-affinity-pod-", "podAntiAffinity", "green", HOSTNAME)
AFFINITY = _related("affinity-pod-", "podAffinity", "blue", ZONE)
#: A scheduler puts these on as few nodes as can hold them, 40 on each; some of others are there.
PREFERRED_AFFINITY = _drawn("preferred-affinity-pod-", "podAffinity", "red", together=36)
PREFERRED_ANTI_AFFINITY = _drawn("preferred-anti-affinity-pod-", "podAntiAffinity", "yellow")
SPREAD = _spread("DoNotSchedule")
PREFERRED_SPREAD = _spread("ScheduleAnyway")
LOW_PRIORITY = PodKind("pod-", cpu="900m", spec={"terminationGracePeriodSeconds": 0})
HIGH_PRIORITY = PodKind("pod-high-priority-", cpu="3", spec={"priorityClassName": "high"})
TOO_LARGE = PodKind("pod-h-", cpu="9", spec={"priorityClassName": "high"}, limited=False)
#: Pods of five templates that fit nowhere, and pods that nobody may schedule yet.
LARGE = tuple(PodKind(f"pod-large-{cpu}-", cpu=str(cpu)) for cpu in range(5, 10))
GATED = PodKind("pod-gated-", spec={"schedulingGates": [{"name": "example.com/later"}]})
#: Pods of a service, which are spread by default.
SERVED = PodKind("pod-served-", labels={"app": "web"})
SERVICE: Object = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web"},
    "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
}
DAEMON = PodKind("daemonset-", cpu="", spec=_on_nodes({"matchFields": [_THE_NODE]}))
