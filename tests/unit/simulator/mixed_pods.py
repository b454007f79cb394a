"""Pods of several kinds and nodes of several sizes, as manifests; the same every time."""

import random
from typing import Any

from mooring.embedded.fleet import make_fleet

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def nodes(count: int) -> list[dict[str, Any]]:
    return sorted(make_fleet(count), key=lambda one: str(one["metadata"]["name"]))


def pods(count: int, seed: int = 1) -> list[dict[str, Any]]:
    numbers = random.Random(seed)
    return [_pod(number, numbers) for number in range(count)]


def _pod(number: int, numbers: random.Random) -> dict[str, Any]:
    kind = numbers.choice(("plain", "ssd", "apart", "near", "spread", "prefer"))
    color = f"{kind}-{numbers.randrange(4)}"
    selector = {"matchLabels": {"color": color}}
    spec: dict[str, Any] = {}
    if kind == "ssd":
        spec["nodeSelector"] = {"disktype": "ssd"}
    elif kind == "apart":
        color = f"apart-{numbers.randrange(12)}"
        term = {"labelSelector": {"matchLabels": {"color": color}}, "topologyKey": HOST}
        spec["affinity"] = _required("podAntiAffinity", term)
    elif kind == "near":
        spec["affinity"] = _required(
            "podAffinity", {"labelSelector": selector, "topologyKey": ZONE}
        )
    elif kind == "spread":
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 2,
                "topologyKey": ZONE,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": selector,
            }
        ]
    elif kind == "prefer":
        term = {"labelSelector": selector, "topologyKey": HOST}
        preferred = [{"weight": 10, "podAffinityTerm": term}]
        terms = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
        spec["affinity"] = {"podAffinity": terms}
    requests = {"cpu": f"{numbers.randrange(1, 9) * 100}m", "memory": "256Mi"}
    container = {"name": "app", "image": "app:1", "resources": {"requests": requests}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"pod-{number:05d}",
            "namespace": "default",
            "labels": {"color": color},
        },
        "spec": {"containers": [container], **spec},
    }


def _required(relation: str, term: dict[str, Any]) -> dict[str, Any]:
    return {relation: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
