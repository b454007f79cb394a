"""Builders of the objects in `cases`: right but for what a case says."""

from collections.abc import Callable
from typing import Any

Obj = dict[str, Any]
Change = Callable[[Obj], object]

LONG = "a" * 64


def obj(api: str, kind: str, _name: str = "x", **more: Any) -> Obj:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": _name}, **more}


def container(**more: Any) -> Obj:
    return {"name": "c", "image": "i", **more}


def pod(*containers: Obj, **spec: Any) -> Obj:
    return obj("v1", "Pod", spec={"containers": list(containers) or [container()], **spec})


def with_meta(manifest: Obj, **more: Any) -> Obj:
    return {**manifest, "metadata": {**manifest["metadata"], **more}}


def resources(requests: Obj | None = None, limits: Obj | None = None) -> Obj:
    return pod(container(resources={"requests": requests or {}, "limits": limits or {}}))


def node_affinity(*terms: Obj, preferred: Any = None) -> Obj:
    affinity: Obj = {}
    if terms or preferred is None:
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {
            "nodeSelectorTerms": list(terms)
        }
    if preferred is not None:
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
    return pod(affinity={"nodeAffinity": affinity})


def expression(key: str, operator: str, *values: str) -> Obj:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def pod_affinity(term: Obj, kind: str = "podAffinity", weight: int | None = None) -> Obj:
    if weight is None:
        return pod(affinity={kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})
    terms = [{"weight": weight, "podAffinityTerm": term}]
    return pod(affinity={kind: {"preferredDuringSchedulingIgnoredDuringExecution": terms}})


def spread(*constraints: Obj) -> Obj:
    base = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    return pod(topologySpreadConstraints=[{**base, **one} for one in constraints])


def volume(**source: Any) -> Obj:
    return pod(volumes=[{"name": "v", **source}])


def template(labels: Obj | None = None, **spec: Any) -> Obj:
    return {
        "metadata": {"labels": {"app": "a"} if labels is None else labels},
        "spec": {"containers": [container()], **spec},
    }


def workload(kind: str, **spec: Any) -> Obj:
    whole = {"selector": {"matchLabels": {"app": "a"}}, "template": template(), **spec}
    if kind == "StatefulSet":
        whole.setdefault("serviceName", "s")
    return obj("apps/v1", kind, spec={key: one for key, one in whole.items() if one is not None})


def job(**spec: Any) -> Obj:
    whole = {"template": template({}, restartPolicy="Never"), **spec}
    return obj("batch/v1", "Job", spec=whole)


def claim(**spec: Any) -> Obj:
    whole = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        **spec,
    }
    return obj("v1", "PersistentVolumeClaim", spec=whole)


def pv(**spec: Any) -> Obj:
    whole = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/data"},
        **spec,
    }
    kept = {key: one for key, one in whole.items() if one is not None}
    return obj("v1", "PersistentVolume", spec=kept)


def node(spec: Obj | None = None, status: Obj | None = None) -> Obj:
    return obj("v1", "Node", spec=spec or {}, status=status or {})


def storage_class(**more: Any) -> Obj:
    return obj("storage.k8s.io/v1", "StorageClass", **{"provisioner": "example.com/p", **more})


def service(*ports: Obj, **spec: Any) -> Obj:
    return obj("v1", "Service", spec={"ports": list(ports), **spec})


def budget(**spec: Any) -> Obj:
    return obj("policy/v1", "PodDisruptionBudget", spec=spec)


def event(api: str = "v1", **more: Any) -> Obj:
    about = "regarding" if api != "v1" else "involvedObject"
    whole = {about: {"kind": "Pod", "namespace": "default", "name": "p"}, **more}
    return obj(api, "Event", **whole)


NEW_EVENTS = "events.k8s.io/v1"
RBAC = "rbac.authorization.k8s.io/v1"
TIME = "2026-01-02T03:04:05.000006Z"
FULL_EVENT: Obj = {
    "eventTime": TIME, "reportingController": "example.com/c", "reportingInstance": "i",
    "action": "A", "reason": "R", "type": "Normal",
}  # fmt: skip


def put(path: str, value: Any) -> Change:
    """A change of one field; None takes it away."""

    def change(obj: Obj) -> None:
        *way, last = [int(one) if one.isdigit() else one for one in path.split("/")]
        part: Any = obj
        for one in way:
            part = part.setdefault(one, {}) if isinstance(part, dict) else part[one]
        if value is None:
            part.pop(last, None)
        elif isinstance(part, list) and last == len(part):
            part.append(value)
        else:
            part[last] = value

    return change
