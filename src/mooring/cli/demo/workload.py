"""What ``moor demo`` puts on its cluster: nodes with a few things to find, and steps of a workload.

Plain objects, made of two numbers; no I/O. `demo` runs the steps one after the other.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from mooring.cli.demo.progress import cpu_of
from mooring.wording import counted

Obj = dict[str, Any]

NAMESPACE: Final = "demo"
APP: Final = "app"
GPU: Final = "nvidia.com/gpu"
ZONE: Final = "topology.kubernetes.io/zone"
#: The image that only a twentieth of the nodes have. kube-scheduler counts its size by the share of
#: nodes that have it, so it is large enough to matter.
IMAGE: Final = "registry.example.com/llm:70b"
IMAGE_BYTES: Final = 22_000_000_000
_EVERY_GPU_NODE: Final = 5
_EVERY_IMAGE_NODE: Final = 20
_GPUS: Final = 2
#: So much of the nodes' CPU is asked for, if the pods are as many as planned.
_LOAD: Final = 0.7
_LEAST_MILLI, _MOST_MILLI = 10, 1000
#: A pod that asks for so many times what the largest node has fits nowhere.
_TOO_LARGE: Final = 1.5


class DemoStep(NamedTuple):
    """One step of the demo.

    Attributes:
        app: the label of its pods, and what to call it.
        letter: how its pods are drawn.
        colour: and in which colour.
        about: what is special about it.
        objects: what is created.
        pods: how many pods come of it.
    """

    app: str
    letter: str
    colour: str
    about: str
    objects: Sequence[Obj]
    pods: int


def equip(nodes: Sequence[Obj]) -> None:
    """Give every fifth node two GPUs and one in twenty the large image, in place."""
    for number, node in enumerate(nodes):
        status = node["status"]
        for amounts in (status["capacity"], status["allocatable"]):
            amounts.pop(GPU, None)
            if number % _EVERY_GPU_NODE == 0:
                amounts[GPU] = str(_GPUS)
        if number % _EVERY_IMAGE_NODE == min(6, len(nodes) - 1):
            images = [*(status.get("images") or ()), {"names": [IMAGE], "sizeBytes": IMAGE_BYTES}]
            status["images"] = images


def steps(nodes: Sequence[Obj], pods: int) -> list[DemoStep]:
    """The steps for these nodes, with about so many pods in all."""
    gpus = sum(int(one["status"]["allocatable"].get(GPU, 0)) for one in nodes)
    zones = len({one["metadata"].get("labels", {}).get(ZONE) for one in nodes})
    cpu_milli = sum(cpu_of(one["status"]["allocatable"]["cpu"]) for one in nodes)
    largest = max(cpu_of(one["status"]["allocatable"]["cpu"]) for one in nodes)
    giant = int(largest * _TOO_LARGE) // 1000 + 1
    each = min(max(int(cpu_milli * _LOAD / max(pods, 1)), _LEAST_MILLI), _MOST_MILLI)
    web = max(pods // 8, 3)
    db = max(min(len(nodes) * 2 // 5, pods // 8), 1)
    burst = max(pods - web - db - gpus - 3, 1)
    carriers = sum(_has_image(one) for one in nodes)
    where = "1 node has" if carriers == 1 else f"{carriers} nodes have"
    return [
        DemoStep("web", "w", "cyan", f"{web} replicas, spread over {counted(zones, 'zone')}",
            [_deployment("web", web, each, _spread("web"))], web),
        DemoStep("db", "d", "magenta", f"{counted(db, 'replica')}, at most one per node",
            [_deployment("db", db, 2 * each, _apart("db"))], db),
        DemoStep("training", "t", "blue", f"a low-priority Job of {gpus} pods with one GPU each",
            [_priority("low", -100), _job("training", gpus, each)], gpus),
        DemoStep("llm", "l", "yellow", f"a pod with a 22 GB image that {where} already",
            [_pod("llm", each, image=IMAGE)], 1),
        DemoStep("burst", "b", "green", f"{burst} pods at once",
            [_deployment("burst", burst, each, {})], burst),
        DemoStep("urgent", "u", "red", "a high-priority pod that needs a GPU",
            [_priority("high", 1000), _pod("urgent", each, gpu=1, priority="high")], 1),
        DemoStep("giant", "g", "white", f"a pod that requests {giant} CPUs",
            [_pod("giant", 0, cpu=str(giant))], 1),
    ]  # fmt: skip


def _has_image(node: Obj) -> bool:
    return any(IMAGE in one["names"] for one in node["status"].get("images") or ())


def _spread(app: str) -> Obj:
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {APP: app}},
    }
    return {"topologySpreadConstraints": [constraint]}


def _apart(app: str) -> Obj:
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {APP: app}},
    }
    return {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    }


def _container(app: str, cpu_milli: int, *, cpu: str = "", gpu: int = 0, image: str = "") -> Obj:
    requests = {"cpu": cpu or f"{cpu_milli}m", "memory": f"{max(cpu_milli, 10)}Mi"}
    resources: Obj = {"requests": requests}
    if gpu:
        resources["limits"] = {GPU: str(gpu)}
    image = image or f"registry.example.com/{app}:1"
    return {"name": app, "image": image, "resources": resources}


def _template(app: str, spec: Obj) -> Obj:
    return {"metadata": {"labels": {APP: app}}, "spec": spec}


def _deployment(app: str, replicas: int, cpu_milli: int, more: Obj) -> Obj:
    spec = {"containers": [_container(app, cpu_milli)], **more}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": app, "namespace": NAMESPACE},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {APP: app}},
            "template": _template(app, spec),
        },
    }


def _job(app: str, count: int, cpu_milli: int) -> Obj:
    spec = {
        "restartPolicy": "Never",
        "priorityClassName": "low",
        "containers": [_container(app, cpu_milli, gpu=1)],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": app, "namespace": NAMESPACE},
        "spec": {"parallelism": count, "completions": count, "template": _template(app, spec)},
    }


def _pod(
    app: str, cpu_milli: int, *, cpu: str = "", gpu: int = 0, image: str = "", priority: str = ""
) -> Obj:
    spec: Obj = {"containers": [_container(app, cpu_milli, cpu=cpu, gpu=gpu, image=image)]}
    if priority:
        spec["priorityClassName"] = priority
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": app, "namespace": NAMESPACE, "labels": {APP: app}},
        "spec": spec,
    }


def _priority(name: str, value: int) -> Obj:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }
