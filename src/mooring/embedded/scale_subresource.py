"""The subresource ``scale``: how many replicas a workload has, whatever its kind.

`api` and `app` call it.
"""

from typing import Final

from mooring.embedded.resources import REPLICATION_CONTROLLERS, Obj, Resource
from mooring.embedded.status_errors import INVALID, Cause, bad_request, invalid

API_VERSION: Final = "autoscaling/v1"


def scale_of(resource: Resource, obj: Obj) -> Obj:
    """The Scale of a workload."""
    metadata, spec, status = obj["metadata"], obj.get("spec", {}), obj.get("status", {})
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    replicas = spec.get("replicas", 0)
    return {
        "kind": "Scale",
        "apiVersion": API_VERSION,
        "metadata": {name: metadata[name] for name in kept if name in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {
            "replicas": status.get("replicas", 0),
            "selector": _selector_text(resource, spec.get("selector") or {}),
        },
    }


def rescale(obj: Obj, scale: Obj) -> None:
    """Give a workload the number of replicas of a Scale, in place.

    Raises:
        StatusError: it is no Scale, or no such number is possible.
    """
    if scale.get("kind") not in (None, "Scale"):
        raise bad_request(f"{scale.get('kind')} is not a Scale")
    name = obj["metadata"]["name"]
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    if not isinstance(replicas, int) or replicas < 0:
        cause = Cause(
            "spec.replicas",
            INVALID,
            f"Invalid value: {replicas}: must be greater than or equal to 0",
        )
        raise invalid("Scale", "autoscaling", name, [cause])
    obj.setdefault("spec", {})["replicas"] = replicas


def _selector_text(resource: Resource, selector: Obj) -> str:
    """A label selector as text."""
    if resource is REPLICATION_CONTROLLERS:
        return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))
    parts = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for one in selector.get("matchExpressions") or ():
        key, operator, values = one["key"], one["operator"], ",".join(one.get("values") or ())
        parts.append(
            {
                "In": f"{key} in ({values})",
                "NotIn": f"{key} notin ({values})",
                "Exists": key,
                "DoesNotExist": f"!{key}",
            }[operator]
        )
    return ",".join(parts)
