"""Random cases: a cluster, a configuration, a policy and a pod to be decided about.

A case is plain data and made from its seed alone, so both sides make their own objects of it.
Called by `sides`; decides nothing.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import mooring as mr
from tools.agreement.devices import with_devices
from tools.agreement.policies import random_policy

#: A Kubernetes object, or a part of one, as plain JSON.
Object = dict[str, Any]

PROFILE = "default-scheduler"
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
_APPS = ("web", "db", "job")
_ZONES = ("a", "b", "c")
_TAINTS: Sequence[Object] = (
    {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
    {"key": "old", "effect": "PreferNoSchedule"},
    {"key": "down", "effect": "NoExecute"},
)
#: Plugins without which a profile can be.
_REMOVABLE = (
    "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit",
    "PodTopologySpread", "InterPodAffinity", "DefaultPreemption", "ImageLocality",
    "NodeResourcesBalancedAllocation", "VolumeBinding",
)  # fmt: skip


class Case(NamedTuple):
    """One case.

    Attributes:
        seed: what it was made from.
        objects: the cluster.
        pod: the pod.
        config: the ``KubeSchedulerConfiguration``; None for the default one.
        policy: a policy that takes part.
        extended: whether extenders take part.
        fails: whether functions of the policy fail over some nodes. Which of several failures is
            told depends on where a search begins, so that is not left to chance then.
    """

    seed: int
    objects: Sequence[Object]
    pod: Object
    config: Mapping[str, Any] | None
    policy: mr.Policy | None
    extended: bool
    fails: bool


def make_case(seed: int) -> Case:
    """The case of a seed."""
    rng = random.Random(f"case {seed}")  # noqa: S311 - for tests
    fails = rng.random() < 0.2
    nodes = [_node(rng, f"n{number}") for number in range(rng.choice((0, 1, 2, 3, 4, 5, 6, 8)))]
    names = [one["metadata"]["name"] for one in nodes]
    pods = (
        [_placed(rng, f"p{number}", names) for number in range(rng.randrange(14))] if names else []
    )
    nominated = [_nominated(rng, f"w{number}", names) for number in range(rng.randrange(3))]
    volumes = _volumes(rng)
    budgets = [_budget(rng, f"b{number}") for number in range(rng.choice((0, 0, 1, 2)))]
    asked = _asked(rng, names)
    devices = with_devices(seed, names, [one["metadata"]["name"] for one in pods], asked)
    return Case(
        seed=seed,
        objects=[*nodes, *volumes, *devices, *budgets, *pods, *nominated],
        pod=asked,
        config=_config(rng),
        policy=random_policy(seed, fails=fails),
        extended=rng.random() < 0.3,
        fails=fails,
    )


def _node(rng: random.Random, name: str) -> Object:
    labels = {HOSTNAME: name, "disk": rng.choice(("ssd", "hdd"))}
    if rng.random() < 0.85:
        labels[ZONE] = rng.choice(_ZONES)
    amounts = {
        "cpu": rng.choice(("1", "2", "4", "8")),
        "memory": rng.choice(("2Gi", "8Gi")),
        "pods": rng.choice(("2", "6", "110")),
    }
    spec: Object = {}
    if rng.random() < 0.3:
        spec["taints"] = rng.sample(_TAINTS, rng.choice((1, 1, 2)))
    if rng.random() < 0.08:
        spec["unschedulable"] = True
    images = [{"names": ["big:1"], "sizeBytes": 500_000_000}] if rng.random() < 0.4 else []
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels},
        "spec": spec,
        "status": {"allocatable": amounts, "capacity": amounts, "images": images},
    }


def _pod(rng: random.Random, name: str, spec: Object, status: Object | None = None) -> Object:
    requests = {"cpu": rng.choice(("100m", "500m", "1", "2", "4"))}
    if rng.random() < 0.3:
        requests["memory"] = rng.choice(("500Mi", "4Gi"))
    container: Object = {"name": "c", "image": "big:1", "resources": {"requests": requests}}
    if rng.random() < 0.15:
        container["ports"] = [{"containerPort": 80, "hostPort": rng.choice((80, 443))}]
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "labels": {"app": rng.choice(_APPS)},
        },
        "spec": {"containers": [container], **spec},
        "status": status or {},
    }


def _placed(rng: random.Random, name: str, nodes: Sequence[str]) -> Object:
    spec: Object = {"nodeName": rng.choice(nodes), "priority": rng.choice((-5, 0, 0, 5, 10))}
    if rng.random() < 0.15:
        spec["affinity"] = {"podAntiAffinity": _required(rng)}
    status: Object = {"phase": "Running", "startTime": f"2026-01-01T0{rng.randrange(5)}:00:00Z"}
    made = _pod(rng, name, spec, status)
    if rng.random() < 0.08:
        made["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
        if rng.random() < 0.5:
            condition = {"type": "DisruptionTarget", "status": "True"}
            status["conditions"] = [{**condition, "reason": "PreemptionByScheduler"}]
    return made


def _nominated(rng: random.Random, name: str, nodes: Sequence[str]) -> Object:
    """A pod that waits for a node it is nominated to; gated, so that nobody decides about it."""
    spec: Object = {"priority": rng.choice((0, 5, 10, 50)), "schedulingGates": [{"name": "g"}]}
    return _pod(rng, name, spec, {"nominatedNodeName": rng.choice((*nodes, "gone"))})


def _asked(rng: random.Random, nodes: Sequence[str]) -> Object:
    spec: Object = {"priority": rng.choice((0, 5, 10, 100))}
    affinity: Object = {}
    if rng.random() < 0.2:
        affinity["nodeAffinity"] = _node_affinity(rng, nodes)
    if rng.random() < 0.2:
        affinity[rng.choice(("podAffinity", "podAntiAffinity"))] = _required(rng)
    if rng.random() < 0.2:
        term = {"weight": rng.choice((1, 50)), "podAffinityTerm": _term(rng)}
        affinity.setdefault("podAffinity", {})[
            "preferredDuringSchedulingIgnoredDuringExecution"
        ] = [term]
    if affinity:
        spec["affinity"] = affinity
    if rng.random() < 0.15:
        spec["nodeSelector"] = {"disk": "ssd"}
    if rng.random() < 0.4:
        spec["tolerations"] = [{"key": rng.choice(("gpu", "down", "old")), "operator": "Exists"}]
    if rng.random() < 0.25:
        spec["topologySpreadConstraints"] = [_constraint(rng)]
    if rng.random() < 0.1:
        spec["preemptionPolicy"] = "Never"
    if rng.random() < 0.03:
        spec["schedulingGates"] = [{"name": "g"}]
    if rng.random() < 0.03:
        spec["schedulingGroup"] = {"podGroupName": "all"}
    if rng.random() < 0.12:
        claim = {"claimName": rng.choice(("bound", "late", "early", "missing"))}
        spec["volumes"] = [{"name": "v", "persistentVolumeClaim": claim}]
    status = {"nominatedNodeName": rng.choice((*nodes, "gone"))} if rng.random() < 0.2 else None
    return _pod(rng, "asked", spec, status)


def _term(rng: random.Random) -> Object:
    selector = {"matchLabels": {"app": rng.choice(_APPS)}}
    return {"labelSelector": selector, "topologyKey": rng.choice((ZONE, HOSTNAME))}


def _required(rng: random.Random) -> Object:
    return {"requiredDuringSchedulingIgnoredDuringExecution": [_term(rng)]}


def _node_affinity(rng: random.Random, nodes: Sequence[str]) -> Object:
    if rng.random() < 0.3:
        names = rng.sample((*nodes, "gone"), min(len(nodes) + 1, rng.choice((1, 2))))
        fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in names]
        terms = [{"matchFields": [one]} for one in fields]
    else:
        zones = rng.sample(_ZONES, rng.choice((1, 2)))
        terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": zones}]}]
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}


def _constraint(rng: random.Random) -> Object:
    return {
        "maxSkew": rng.choice((1, 2)),
        "topologyKey": rng.choice((ZONE, HOSTNAME)),
        "whenUnsatisfiable": rng.choice(("DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": {"matchLabels": {"app": rng.choice(_APPS)}},
    }


def _volumes(rng: random.Random) -> list[Object]:
    zone = {"key": ZONE, "operator": "In", "values": [rng.choice(_ZONES)]}
    volume: Object = {
        "kind": "PersistentVolume",
        "apiVersion": "v1",
        "metadata": {"name": "disk", "uid": "uid-disk"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/disk"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}},
            "claimRef": {"namespace": "default", "name": "bound", "uid": "uid-bound"},
        },
        "status": {"phase": "Bound"},
    }
    classes = [
        {
            "kind": "StorageClass",
            "apiVersion": "storage.k8s.io/v1",
            "metadata": {"name": name},
            "provisioner": "example.com/disks",
            "volumeBindingMode": mode,
        }
        for name, mode in (("late", "WaitForFirstConsumer"), ("early", "Immediate"))
    ]
    return [volume, *classes, *(_claim(name) for name in ("bound", "late", "early"))]


def _claim(name: str) -> Object:
    bound = name == "bound"
    spec: Object = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "" if bound else name,
    }
    annotations = {}
    if bound:
        spec["volumeName"] = "disk"
        annotations["pv.kubernetes.io/bind-completed"] = "yes"
    return {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "annotations": annotations,
        },
        "spec": spec,
        "status": {"phase": "Bound" if bound else "Pending"},
    }


def _budget(rng: random.Random, name: str) -> Object:
    return {
        "kind": "PodDisruptionBudget",
        "apiVersion": "policy/v1",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": rng.choice(_APPS)}}},
        "status": {"disruptionsAllowed": rng.choice((0, 1))},
    }


def configuration(profile: Mapping[str, Any]) -> Object:
    """A configuration with one profile."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": PROFILE, **profile}],
    }


def _config(rng: random.Random) -> Object | None:
    if rng.random() < 0.3:
        return None
    plugins: Object = {}
    if rng.random() < 0.4:
        gone = rng.sample(_REMOVABLE, rng.choice((1, 2, 4)))
        plugins["multiPoint"] = {"disabled": [{"name": name} for name in gone]}
    elif rng.random() < 0.5:
        names = ("NodeResourcesFit", "TaintToleration", "ImageLocality")
        weights = [{"name": name, "weight": rng.choice((1, 3, 7))} for name in names]
        plugins["score"] = {"enabled": weights, "disabled": [{"name": name} for name in names]}
    profile: Object = {"plugins": plugins}
    if rng.random() < 0.3:
        profile["pluginConfig"] = [
            {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}
        ]
    return configuration(profile)
