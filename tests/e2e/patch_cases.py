"""Random objects and patches of all forms, for comparing patches with the real API server's."""

from random import Random
from typing import Any

Obj = dict[str, Any]

FINALIZERS = ("k.io/a", "k.io/b", "k.io/c")


def some(random: Random, fields: Obj, share: float = 0.6) -> Obj:
    """Some of the fields."""
    return {name: value for name, value in fields.items() if random.random() < share}


def maybe(random: Random, share: float) -> bool:
    """Whether to do something."""
    return random.random() < share


def sample(random: Random, choices: list[Any], least: int = 0) -> list[Any]:
    """Some of the choices, in any order."""
    return random.sample(choices, random.randint(least, len(choices)))


def metadata(random: Random, name: str) -> Obj:
    """A name, and perhaps labels, annotations and finalizers."""
    return {
        "name": name,
        **some(
            random,
            {
                "labels": some(random, {"a": random.choice("12"), "b": "1", "c": "1"}),
                "annotations": some(random, {"x": random.choice("12"), "y": "1"}),
            },
            0.5,
        ),
        **some(random, {"finalizers": sample(random, list(FINALIZERS))}, 0.2),
    }


def container(random: Random, name: str) -> Obj:
    """A container with some of what containers have."""
    env = [
        {"name": "A", "value": random.choice("12")},
        {"name": "B", "value": "x"},
        {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ]
    ports = [
        {"containerPort": 80},
        {"containerPort": 80, "protocol": "UDP", "name": "u"},
        {"containerPort": 81, "name": "q"},
    ]
    more = {
        "env": sample(random, env),
        "ports": sample(random, ports),
        "resources": {
            random.choice(["limits", "requests"]): some(
                random, {"cpu": random.choice(["1", "1000m", "2"]), "memory": "1Gi"}
            )
        },
        "volumeMounts": sample(
            random, [{"name": "v", "mountPath": "/x"}, {"name": "v", "mountPath": "/y"}]
        ),
        "args": random.sample(["a", "b", "c"], 2),
        "livenessProbe": random.choice([{"httpGet": {"port": 80}}, {"exec": {"command": ["x"]}}]),
        "securityContext": some(random, {"runAsUser": 1, "readOnlyRootFilesystem": True}),
    }
    return {"name": name, "image": random.choice("ijk"), **some(random, more, 0.3)}


def pod_spec(random: Random, names: str) -> Obj:
    """Containers with some of these names, and some of what pods have."""
    spread = [
        {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"},
        {"maxSkew": 2, "topologyKey": "h", "whenUnsatisfiable": "ScheduleAnyway"},
    ]
    more = {
        "nodeSelector": some(random, {"a": "1", "b": random.choice("12")}),
        "tolerations": [{"key": random.choice("ab"), "operator": "Exists"}],
        "topologySpreadConstraints": sample(random, spread),
        "imagePullSecrets": [{"name": name} for name in sample(random, ["x", "y"])],
        "affinity": some(random, {"podAffinity": {}, "nodeAffinity": {}}),
        "terminationGracePeriodSeconds": random.choice([30, 31]),
        "securityContext": some(random, {"runAsUser": 5, "fsGroup": 6}),
        "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["h"]}],
    }
    return {
        "containers": [container(random, name) for name in sample(random, list(names), 1)],
        "volumes": [{"name": "v", "emptyDir": {}}],
        **some(random, more, 0.25),
    }


def deployment(random: Random) -> Obj:
    """A deployment."""
    strategies: list[Obj] = [
        {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": random.choice([1, "50%"])}},
        {"type": "RollingUpdate"},
        {"type": "Recreate", "rollingUpdate": None},
    ]
    spec = {
        "selector": {"matchLabels": {"app": "d"}},
        "template": {
            "metadata": {"labels": {"app": "d", **some(random, {"t": random.choice("12")})}},
            "spec": pod_spec(random, "abc"),
        },
        **some(random, {"replicas": random.randint(1, 3), "strategy": random.choice(strategies)}),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(random, "d"),
        "spec": spec,
        **some(random, {"status": {"replicas": 3}}, 0.1),
    }


def service(random: Random) -> Obj:
    """A service."""
    ports = [
        {"port": 80, "name": "a"},
        {"port": 81, "name": "b", "targetPort": random.choice([1, "x"])},
        {"port": 81, "protocol": "UDP", "name": "c"},
    ]
    spec = {
        "ports": sample(random, ports, 1),
        **some(random, {"selector": some(random, {"a": random.choice("12"), "b": "1"})}),
        **some(random, {"sessionAffinity": "ClientIP"}, 0.3),
    }
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata(random, "s"), "spec": spec}


def config_map(random: Random) -> Obj:
    """A config map; a value may be null."""
    data = some(random, {"a": random.choice(["1", "2", None]), "b": "1", "c": "<&>"})
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(random, "c"),
        **some(random, {"data": data}, 0.8),
    }


def pod(random: Random) -> Obj:
    """A pod with one container."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(random, "p"),
        "spec": pod_spec(random, "a"),
    }


def node(random: Random) -> Obj:
    """A node."""
    taints = [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoExecute"}]
    spec = some(random, {"unschedulable": maybe(random, 0.5), "taints": sample(random, taints)})
    made = metadata(random, "patched-node")
    return {"apiVersion": "v1", "kind": "Node", "metadata": made, "spec": spec}


OBJECTS = (deployment, deployment, service, config_map, pod, node)


def _elements(random: Random, field: str, elements: list[Obj], key: str) -> Obj:
    """A list of a strategic patch, with deletions, and perhaps with an order."""
    wanted = []
    for element in elements:
        what = random.random()
        if what < 0.25:
            wanted.append({"$patch": "delete", key: element[key]})
        elif what < 0.8:
            wanted.append(element)
    if maybe(random, 0.07):
        wanted.append({"$patch": "replace"})
    made: Obj = {field: wanted} if wanted else {}
    if maybe(random, 0.4):
        order = [{key: one[key]} for one in wanted if one.get("$patch") is None]
        for element in elements:
            if maybe(random, 0.5) and {key: element[key]} not in order:
                order.insert(random.randint(0, len(order)), {key: element[key]})
        made[f"$setElementOrder/{field}"] = order
    return made


def _strategic_pod_spec(random: Random) -> Obj:
    containers = []
    for name in sample(random, ["a", "b", "c", "d"], 1):
        env = [{"name": one, "value": random.choice("45")} for one in random.sample("ABCE", 2)]
        probes: list[Any] = [None, {"$patch": "replace", "tcpSocket": {"port": 2}}]
        amounts: list[Any] = [None, {"limits": {"cpu": "3"}}, {"limits": {"$patch": "replace"}}]
        fields = {
            "livenessProbe": random.choice(probes),
            "resources": random.choice(amounts),
            "args": ["q"],
        }
        made = {"name": name, "image": random.choice("ijkl"), **some(random, fields, 0.2)}
        if maybe(random, 0.4):
            made |= _elements(random, "env", env, "name")
        if maybe(random, 0.3):
            ports = [{"containerPort": one} for one in random.sample([80, 81, 82], 2)]
            made |= _elements(random, "ports", ports, "containerPort")
        containers.append(made)
    volumes = [
        {"name": "w", "emptyDir": {}},
        {"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/p"}},
    ]
    selectors: list[Any] = [None, {"c": "1"}, {"a": None}]
    spec = some(random, {"nodeSelector": random.choice(selectors), "tolerations": None}, 0.2)
    spec |= _elements(random, "containers", containers, "name")
    if maybe(random, 0.3):
        spec |= _elements(random, "volumes", volumes, "name")
    return spec


def strategic_patch(random: Random, obj: Obj) -> Obj:
    """A strategic merge patch.

    There is one mistake in it at most: of several, the real server tells any.
    """
    annotations: list[Any] = [None, {"x": "3"}, {"$patch": "replace", "n": "1"}]
    finalizers: list[Obj] = [
        {"finalizers": ["k.io/b", "k.io/z"]},
        {"$deleteFromPrimitiveList/finalizers": ["k.io/a"]},
        {"$setElementOrder/finalizers": ["k.io/c", "k.io/b"], "finalizers": ["k.io/b"]},
        {"$setElementOrder/finalizers": ["k.io/a", "k.io/c"]},
    ]
    labels = {name: random.choice([None, "7"]) for name in random.sample("abcz", 2)}
    meta = some(random, {"labels": labels, "annotations": random.choice(annotations)}, 0.3)
    if maybe(random, 0.3):
        meta |= random.choice(finalizers)
    spec: Obj = {}
    match obj["kind"]:
        case "Deployment":
            strategies: list[Any] = [
                {"$retainKeys": ["type"], "type": "Recreate"},
                {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3}},
                {"$retainKeys": ["type"], "type": "RollingUpdate", "rollingUpdate": {}},
            ]
            fields = {
                "replicas": random.choice([1, 5, None]),
                "strategy": random.choice(strategies),
                "template": {"spec": _strategic_pod_spec(random)},
            }
            spec = some(random, fields)
        case "Service":
            ports = [
                {"port": 80, "name": "z"},
                {"port": 81, "name": "y"},
                {"port": 90, "name": "x"},
            ]
            spec = _elements(random, "ports", ports, "port")
            spec |= some(random, {"selector": {"$patch": "replace", "w": "1"}}, 0.3)
        case "Node":
            taint = {"key": "n", "effect": "NoExecute"}
            spec = some(random, {"taints": [taint], "unschedulable": random.choice([True, None])})
        case "Pod":
            spec = some(random, {"containers": [{"name": "a", "image": "new"}]})
    made = {"metadata": meta, **({"spec": spec} if spec else {})}
    if obj["kind"] == "ConfigMap":
        data: list[Any] = [None, {"a": None, "q": "1"}, {"$patch": "replace", "r": "1"}, {"b": "4"}]
        made["data"] = random.choice(data)
    return made


def merge_patch(random: Random, obj: Obj) -> Obj:
    """A JSON merge patch."""
    metas: list[Obj] = [
        {"labels": {"a": None, "m": "1"}},
        {"labels": None},
        {"annotations": {"x": "9"}},
        {"finalizers": ["k.io/q"]},
    ]
    specs: dict[str, list[Obj]] = {
        "Deployment": [
            {"replicas": random.choice([4, None])},
            {"template": {"spec": {"containers": [container(random, "a")]}}},
            {"template": {"spec": {"nodeSelector": {"a": None, "n": "2"}}}},
        ],
        "Service": [{"selector": None}, {"ports": [{"port": 99}]}],
        "Node": [{"taints": None}, {"unschedulable": True}],
    }
    made = some(random, {"metadata": random.choice(metas)})
    if obj["kind"] in specs:
        made["spec"] = random.choice(specs[obj["kind"]])
    if obj["kind"] == "ConfigMap":
        made["data"] = random.choice([None, {"a": None}, {"z": "1"}])
    return made


def json_patch(random: Random, obj: Obj) -> list[Obj]:
    """A JSON patch; it does not always apply."""
    operations: list[Obj] = [
        {"op": "add", "path": "/metadata/labels", "value": {"j": "1"}},
        {"op": "add", "path": "/metadata/labels/k", "value": "1"},
        {"op": "remove", "path": "/metadata/labels/a"},
        {"op": "replace", "path": "/metadata/labels/a", "value": "7"},
        {"op": "test", "path": "/metadata/name", "value": obj["metadata"]["name"]},
        {"op": "test", "path": "/metadata/labels/zz", "value": None},
        {"op": "copy", "from": "/metadata/labels/b", "path": "/metadata/labels/copy"},
        {"op": "move", "from": "/metadata/labels/b", "path": "/metadata/labels/moved"},
        {"op": "add", "path": "/metadata/annotations", "value": {"a~b/c": "1"}},
        {"op": "replace", "path": "/metadata/annotations/a~0b~1c", "value": "2"},
        {"op": "add", "path": "/metadata/finalizers", "value": ["k.io/m"]},
        {"op": "add", "path": "/metadata/finalizers/-", "value": "k.io/n"},
        {"op": "add", "path": "/metadata/finalizers/-1", "value": "k.io/p"},
        {"op": "remove", "path": "/metadata/finalizers/-1"},
    ]
    if obj["kind"] == "Deployment":
        containers = "/spec/template/spec/containers"
        operations += [
            {"op": "replace", "path": "/spec/replicas", "value": 6},
            {"op": "add", "path": f"{containers}/0", "value": {"name": "jj", "image": "x"}},
            {"op": "remove", "path": f"{containers}/1"},
            {"op": "move", "from": f"{containers}/1", "path": f"{containers}/0"},
        ]
    return random.sample(operations, random.randint(1, 3))
