"""Small random clusters and pods that have a bit of everything that default plugins look at.

Everything is plain JSON, so that a cluster can be changed in one place and built again. The pools
are small: pods and nodes are often alike in one respect and different in another.
"""

import copy
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mooring.model.kinds import BY_NAME
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster

Json = dict[str, Any]
#: Changes something that plugins look at in a pod.
Aspect = Callable[[Json, random.Random], None]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
NAMESPACES = ("one", "two")
APPS = ("web", "db", "job")
GPU = "example.com/gpu"
DRIVER = "csi.example.com"
#: A label that no selector, Service or controller reads.
UNREAD = "apps.kubernetes.io/pod-index"


class World(NamedTuple):
    """A cluster as JSON.

    Attributes:
        nodes: by name.
        pods: those on nodes, by name; each name is in one namespace only.
        others: all other objects, with their kinds.
    """

    nodes: dict[str, Json]
    pods: dict[str, Json]
    others: list[tuple[str, Json]]

    def build(self) -> Cluster:
        """The cluster."""
        cluster = Cluster()
        for kind, thing in self.others:
            cluster.put(BY_NAME[kind].type.from_dict(thing))
        for node in self.nodes.values():
            cluster.put(BY_NAME["Node"].type.from_dict(node))
        for pod in self.pods.values():
            cluster.put(made(pod))
        return cluster

    def copy(self) -> "World":
        """The same world, to be changed."""
        return World(copy.deepcopy(self.nodes), copy.deepcopy(self.pods), self.others)


def made(pod: Json) -> Pod:
    """A pod from its JSON."""
    return Pod.from_dict(pod)


def random_world(chance: random.Random, always: Sequence[Aspect] = ()) -> World:
    """A few nodes in a few zones, some of them alike but for their names, with pods on them.

    Args:
        chance: decides.
        always: what every pod has.
    """
    nodes: dict[str, Json] = {}
    for _ in range(chance.randint(2, 4)):
        node = random_node(chance)
        hosts = chance.random() < 0.5
        for _ in range(chance.randint(1, 3)):
            name = f"n{len(nodes)}"
            alike = copy.deepcopy(node)
            alike["metadata"]["name"] = name
            if hosts:
                alike["metadata"]["labels"][HOSTNAME] = name
            nodes[name] = alike
    others = random_objects(chance, list(nodes))
    world = World(nodes, {}, others)
    for number in range(chance.randint(4, 14)):
        add_pod(world, chance, f"p{number}", chance.choice(list(nodes)), always)
    return world


def add_pod(
    world: World, chance: random.Random, name: str, node: str, always: Sequence[Aspect] = ()
) -> None:
    """Put a random pod on a node."""
    pod = random_pod(chance, name, always)
    pod["spec"]["nodeName"] = node
    pod["status"]["phase"] = "Running"
    world.pods[name] = pod


def random_node(chance: random.Random) -> Json:
    """A node without its name."""
    labels = {}
    if chance.random() < 0.8:
        labels[ZONE] = chance.choice(("a", "b"))
    if chance.random() < 0.6:
        labels["disk"] = chance.choice(("ssd", "hdd"))
    room = {"cpu": chance.choice(("2", "4")), "memory": "8Gi", "pods": chance.choice(("3", "110"))}
    if chance.random() < 0.5:
        room[GPU] = "2"
    taints = [taint for taint in _taints() if chance.random() < 0.2]
    images = [
        {"names": [image], "sizeBytes": chance.choice((60_000_000, 900_000_000))}
        for image in ("app:1", "app:2")
        if chance.random() < 0.5
    ]
    spec: Json = {"taints": taints}
    if chance.random() < 0.15:
        spec["unschedulable"] = True
    features = ["UserNamespacesHostNetworkSupport"] if chance.random() < 0.5 else []
    return {
        "metadata": {"name": "", "labels": labels},
        "spec": spec,
        "status": {
            "allocatable": room,
            "capacity": room,
            "images": images,
            "declaredFeatures": features,
        },
    }


def _taints() -> list[Json]:
    return [
        {"key": "role", "value": "db", "effect": "NoSchedule"},
        {"key": "soft", "value": "x", "effect": "PreferNoSchedule"},
        {"key": "gone", "effect": "NoExecute"},
    ]


def random_objects(chance: random.Random, nodes: list[str]) -> list[tuple[str, Json]]:
    """Namespaces, controllers, device classes and storage."""
    found: list[tuple[str, Json]] = []
    for name in NAMESPACES:
        labels = {"team": chance.choice(("x", "y"))} if chance.random() < 0.8 else {}
        found.append(("Namespace", {"metadata": {"name": name, "labels": labels}}))
        for app in APPS:
            meta = {"name": app, "namespace": name}
            if chance.random() < 0.3:
                selector: Json = {"app": app}
                found.append(("Service", {"metadata": meta, "spec": {"selector": selector}}))
            if chance.random() < 0.5:
                selector = {"matchLabels": {"app": app}}
                found.append(("ReplicaSet", {"metadata": meta, "spec": {"selector": selector}}))
        for number in (0, 1):
            mode = chance.choice(("ReadWriteOncePod", "ReadWriteOnce"))
            bound = {"volumeName": f"v{number}"} if chance.random() < 0.7 else {}
            claim = {
                "metadata": {
                    "name": f"c{number}",
                    "namespace": name,
                    "annotations": {"pv.kubernetes.io/bind-completed": "yes"} if bound else {},
                },
                "spec": {"accessModes": [mode], "storageClassName": "late", **bound},
                "status": {"phase": "Bound" if bound else "Pending"},
            }
            found.append(("PersistentVolumeClaim", claim))
    for number in (0, 1):
        volume: Json = {
            "metadata": {"name": f"v{number}", "labels": {ZONE: chance.choice(("a", "b"))}},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOncePod", "ReadWriteOnce"],
                "storageClassName": "late",
                "csi": {"driver": DRIVER, "volumeHandle": f"h{number}"},
            },
        }
        found.append(("PersistentVolume", volume))
    late = {
        "metadata": {"name": "late"},
        "provisioner": DRIVER,
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    found.append(("StorageClass", late))
    for node in nodes:
        if chance.random() < 0.7:
            driver = {"name": DRIVER, "nodeID": node, "allocatable": {"count": 1}}
            found.append(("CSINode", {"metadata": {"name": node}, "spec": {"drivers": [driver]}}))
    if chance.random() < 0.5:
        spec = {"extendedResourceName": GPU}
        found.append(("DeviceClass", {"metadata": {"name": "gpus"}, "spec": spec}))
    return found


def random_pod(chance: random.Random, name: str, always: Sequence[Aspect] = ()) -> Json:
    """A pod that waits; each thing that plugins look at is there with a chance of its own."""
    pod: Json = {
        "metadata": {
            "name": name,
            "namespace": chance.choice(NAMESPACES),
            "uid": f"uid-{name}",
            "labels": {"app": chance.choice(APPS)},
        },
        "spec": {"containers": [{"name": "c", "image": "app:1"}]},
        "status": {"phase": "Pending"},
    }
    for aspect, likely in ASPECTS.items():
        if aspect in always or chance.random() < likely:
            aspect(pod, chance)
    return pod


def variant(pod: Json, chance: random.Random, name: str) -> Json:
    """A pod that differs in one or two respects."""
    other = copy.deepcopy(pod)
    other["metadata"]["name"] = name
    other["metadata"]["uid"] = f"uid-{name}"
    for aspect in chance.sample(list(ASPECTS), chance.randint(1, 2)):
        aspect(other, chance)
    return other


def _container(pod: Json) -> Json:
    found: Json = pod["spec"]["containers"][0]
    return found


def requests(pod: Json, chance: random.Random) -> None:
    wanted = {"cpu": chance.choice(("500m", "1")), "memory": chance.choice(("1Gi", "2Gi"))}
    some = {key: amount for key, amount in wanted.items() if chance.random() < 0.7}
    if chance.random() < 0.3:
        some[GPU] = "1"
    _container(pod)["resources"] = {"requests": some}


def _silent_container(pod: Json, chance: random.Random) -> None:
    more = [{"name": "silent", "image": "app:2"}] if chance.random() < 0.7 else []
    pod["spec"]["containers"][1:] = more


def _namespace(pod: Json, chance: random.Random) -> None:
    pod["metadata"]["namespace"] = chance.choice(NAMESPACES)


def _labels(pod: Json, chance: random.Random) -> None:
    labels = pod["metadata"]["labels"]
    labels[UNREAD] = str(chance.randint(0, 99))
    if chance.random() < 0.5:
        labels["app"] = chance.choice(APPS)
    if chance.random() < 0.5:
        labels["tier"] = chance.choice(("front", "back"))


def _owner(pod: Json, chance: random.Random) -> None:
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": chance.choice(APPS),
        "uid": "u",
        "controller": True,
    }
    pod["metadata"]["ownerReferences"] = [owner] if chance.random() < 0.8 else []


def _tolerations(pod: Json, chance: random.Random) -> None:
    every = [
        {"key": "role", "operator": "Equal", "value": "db", "effect": "NoSchedule"},
        {"key": "soft", "operator": "Exists"},
        {"key": "gone", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 7},
        {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"},
    ]
    some = [one for one in every if chance.random() < 0.5]
    chance.shuffle(some)
    pod["spec"]["tolerations"] = some


def _node_selection(pod: Json, chance: random.Random) -> None:
    spec = pod["spec"]
    spec["nodeSelector"] = {"disk": "ssd"} if chance.random() < 0.4 else {}
    found: Json = {}
    if chance.random() < 0.5:
        term: Json = {"matchExpressions": [_expression(ZONE, chance, ("a", "b"))]}
        if chance.random() < 0.2:
            term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n0"]}]}
        found["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": [term]}
    if chance.random() < 0.5:
        preference = {"matchExpressions": [_expression("disk", chance, ("ssd", "hdd"))]}
        weight = chance.choice((5, 50))
        found["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": weight, "preference": preference}
        ]
    spec.setdefault("affinity", {})["nodeAffinity"] = found


def _expression(key: str, chance: random.Random, values: tuple[str, ...]) -> Json:
    operator = chance.choice(("In", "NotIn", "Exists"))
    return (
        {"key": key, "operator": operator}
        if operator == "Exists"
        else {"key": key, "operator": operator, "values": [chance.choice(values)]}
    )


def ports(pod: Json, chance: random.Random) -> None:
    some = [port for port in (80, 443) if chance.random() < 0.5]
    _container(pod)["ports"] = [{"containerPort": port, "hostPort": port} for port in some]


def _images(pod: Json, chance: random.Random) -> None:
    _container(pod)["image"] = chance.choice(("app:1", "app:2"))


def _features(pod: Json, chance: random.Random) -> None:
    pod["spec"]["hostNetwork"] = True
    pod["spec"]["hostUsers"] = chance.random() < 0.5


def _node_name(pod: Json, chance: random.Random) -> None:
    pod["spec"]["nodeName"] = chance.choice(("n0", "n1"))


def _selector(chance: random.Random) -> Json:
    if chance.random() < 0.6:
        return {"matchLabels": {"app": chance.choice(APPS)}}
    return {"matchExpressions": [_expression("tier", chance, ("front", "back"))]}


def spread(pod: Json, chance: random.Random) -> None:
    found = []
    for key in chance.sample((ZONE, HOSTNAME, "disk"), chance.randint(0, 2)):
        one: Json = {
            "maxSkew": chance.choice((1, 2)),
            "topologyKey": key,
            "whenUnsatisfiable": chance.choice(("DoNotSchedule", "ScheduleAnyway")),
            "labelSelector": _selector(chance),
        }
        if chance.random() < 0.3:
            one["nodeTaintsPolicy"] = "Honor"
        if chance.random() < 0.3:
            one["nodeAffinityPolicy"] = "Ignore"
        if chance.random() < 0.3:
            one["matchLabelKeys"] = ["app"]
        found.append(one)
    pod["spec"]["topologySpreadConstraints"] = found


def _pod_affinity(pod: Json, chance: random.Random) -> None:
    affinity = pod["spec"].setdefault("affinity", {})
    for which in ("podAffinity", "podAntiAffinity"):
        required = [_affinity_term(chance) for _ in range(chance.randint(0, 1))]
        preferred = [
            {"weight": chance.choice((1, 10)), "podAffinityTerm": _affinity_term(chance)}
            for _ in range(chance.randint(0, 1))
        ]
        affinity[which] = {
            "requiredDuringSchedulingIgnoredDuringExecution": required,
            "preferredDuringSchedulingIgnoredDuringExecution": preferred,
        }


def _affinity_term(chance: random.Random) -> Json:
    term: Json = {
        "topologyKey": chance.choice((ZONE, HOSTNAME, "disk")),
        "labelSelector": _selector(chance),
    }
    if chance.random() < 0.3:
        term["namespaceSelector"] = {"matchLabels": {"team": "x"}}
    elif chance.random() < 0.3:
        term["namespaces"] = [chance.choice(NAMESPACES)]
    return term


def volumes(pod: Json, chance: random.Random) -> None:
    every: list[Json] = [
        {"name": "a", "persistentVolumeClaim": {"claimName": chance.choice(("c0", "c1"))}},
        {"name": "b", "gcePersistentDisk": {"pdName": "disk"}},
        {"name": "c", "configMap": {"name": "settings"}},
    ]
    pod["spec"]["volumes"] = [one for one in every if chance.random() < 0.5]


#: What can be different in a pod, and how often it is there at all.
ASPECTS: dict[Aspect, float] = {
    requests: 0.7,
    _silent_container: 0.2,
    _namespace: 0.0,
    _labels: 0.4,
    _owner: 0.4,
    _tolerations: 0.3,
    _node_selection: 0.25,
    ports: 0.2,
    _images: 0.5,
    _features: 0.1,
    _node_name: 0.03,
    spread: 0.3,
    _pod_affinity: 0.3,
    volumes: 0.2,
}
