"""The kinds of pods; used by `workloads`. Made from numbers alone, nothing here decides."""

import random
from collections.abc import Callable, Collection
from typing import NamedTuple

from benchmarks.core.objects import HOSTNAME, ZONE, Object, PodParts, app_image, pod

ONE_ZONE = ("zone1",)
TWO_ZONES = ("zone1", "zone2")
THREE_ZONES = ("zone1", "zone2", "zone3")

#: How many templates the workload of that name has.
TEMPLATES = 50
#: The templates come in an order that repeats only after so many pods.
_ORDER = random.Random(50).choices(range(TEMPLATES), k=4093)


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

    def pod(self, number: int, group: int = 0, *, node: str = "", phase: str = "") -> bytes:
        """The pod with this number, waiting or on a node."""
        return pod(f"{self.name}-{number:06d}", self.parts(number, group), node, phase=phase)


def _selector(color: str) -> Object:
    return {"matchLabels": {"color": color}}


def _in_zones(*zones: str) -> Object:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": list(zones)}]}
    required = {"nodeSelectorTerms": [term]}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    }


def _required(relation: str, color: str, key: str) -> Object:
    term = {"labelSelector": _selector(color), "topologyKey": key}
    return {"affinity": {relation: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _preferred(color: str) -> Object:
    term = {"labelSelector": _selector(color), "topologyKey": HOSTNAME}
    preferred = [{"weight": 1, "podAffinityTerm": term}]
    terms = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    return {"affinity": {"podAffinity": terms}}


def _spread(color: str, when: str) -> Object:
    constraint = {
        "maxSkew": 5,
        "topologyKey": ZONE,
        "whenUnsatisfiable": when,
        "labelSelector": _selector(color),
    }
    return {"topologySpreadConstraints": [constraint]}


def _controller(kind: str, name: str) -> Object:
    group = "batch/v1" if kind == "Job" else "apps/v1"
    reference = {"apiVersion": group, "kind": kind, "name": name, "uid": f"uid-{name}"}
    return {**reference, "controller": True, "blockOwnerDeletion": True}


def _plain(number: int, group: int) -> PodParts:
    return PodParts({"app": "plain"})


def _node_affinity(number: int, group: int) -> PodParts:
    return PodParts({"app": "node-affinity"}, _in_zones(*TWO_ZONES))


def _anti_affinity(number: int, group: int) -> PodParts:
    color = f"green-{group}"
    return PodParts({"color": color}, _required("podAntiAffinity", color, HOSTNAME))


def _affinity(number: int, group: int) -> PodParts:
    return PodParts({"color": "blue"}, _required("podAffinity", "blue", ZONE))


def _preferred_affinity(number: int, group: int) -> PodParts:
    return PodParts({"color": "red"}, _preferred("red"))


def _required_spread(number: int, group: int) -> PodParts:
    return PodParts({"color": "white"}, _spread("white", "DoNotSchedule"))


def _preferred_spread(number: int, group: int) -> PodParts:
    return PodParts({"color": "black"}, _spread("black", "ScheduleAnyway"))


def _images(number: int, group: int) -> PodParts:
    return PodParts({"app": "images"}, image=app_image(number))


def _deployment(number: int, group: int) -> PodParts:
    labels = {"app": "web", "pod-template-hash": "5d59d67564"}
    return PodParts(labels, owner=_controller("ReplicaSet", "web-5d59d67564"))


def _stateful_set(number: int, group: int) -> PodParts:
    labels = {
        "app": "db",
        "apps.kubernetes.io/pod-index": str(number),
        "controller-revision-hash": "db-6c9f7b8d5f",
        "statefulset.kubernetes.io/pod-name": f"db-{number}",
    }
    return PodParts(labels, owner=_controller("StatefulSet", "db"))


def _indexed_job(number: int, group: int) -> PodParts:
    labels = {
        "batch.kubernetes.io/job-completion-index": str(number),
        "batch.kubernetes.io/job-name": "render",
        "job-name": "render",
    }
    return PodParts(labels, owner=_controller("Job", "render"))


def _template(number: int, group: int) -> PodParts:
    """One of 50 templates, each with requests of its own; every second one has a constraint."""
    template = _ORDER[number % len(_ORDER)]
    color = f"template-{template}"
    apart = f"{color}-{group}"
    constrained: tuple[tuple[str, Object], ...] = (
        (color, _in_zones(*THREE_ZONES, "zone4")),
        (apart, _required("podAntiAffinity", apart, HOSTNAME)),
        (color, _preferred(color)),
        (color, _spread(color, "DoNotSchedule")),
        (color, _spread(color, "ScheduleAnyway")),
    )
    kind, plain = divmod(template, 2)
    color, spec = (color, {}) if plain else constrained[kind % len(constrained)]
    return PodParts({"app": f"app-{template}", "color": color}, spec, cpu=f"{50 + template}m")


PLAIN = Kind("plain", _plain)
NODE_AFFINITY = Kind("node-affinity", _node_affinity, home=TWO_ZONES)
ANTI_AFFINITY = Kind("anti-affinity", _anti_affinity)
AFFINITY = Kind("affinity", _affinity, home=ONE_ZONE)
PREFERRED_AFFINITY = Kind("preferred-affinity", _preferred_affinity)
SPREAD = Kind("spread", _required_spread)
PREFERRED_SPREAD = Kind("preferred-spread", _preferred_spread)
IMAGES = Kind("images", _images)
DEPLOYMENT = Kind("deployment", _deployment)
STATEFUL_SET = Kind("stateful-set", _stateful_set)
INDEXED_JOB = Kind("indexed-job", _indexed_job)
TEMPLATE = Kind("templates", _template)
