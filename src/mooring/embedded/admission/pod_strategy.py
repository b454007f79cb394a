"""What the API server works out about a pod when it is created, and what a kubelet may not change.

`strategy` calls it.
"""

from typing import Final

from mooring.embedded.resources import Obj
from mooring.model.quantity import parse_quantity

_COMPUTED: Final = ("cpu", "memory")
_GATED: Final = "Scheduling is blocked due to non-empty scheduling gates"
_RELATIONS: Final = ("podAffinity", "podAntiAffinity")


def prepare_new_pod(pod: Obj, now: str) -> None:
    """Prepare a new pod, in place."""
    # parity v1.36.4: pkg/registry/core/pod/strategy.go PrepareForCreate
    spec = pod["spec"]
    given = pod.get("status", {}).get("qosClass")
    status = pod["status"] = {"phase": "Pending", "qosClass": given or qos_class(spec)}
    drop_disabled(spec)
    if "schedulingGates" in spec:
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": now or None,
            "reason": "SchedulingGated",
            "message": _GATED,
        }
        status["conditions"] = [condition]
    labels = pod["metadata"].get("labels")
    if labels:
        if "affinity" in spec:
            _merge_into_affinity(spec["affinity"], labels)
        for constraint in spec.get("topologySpreadConstraints", ()):
            _merge(constraint, "matchLabelKeys", "In", labels)


def prepare_pod_status(pod: Obj, old: Obj) -> None:
    """Prepare a pod whose status is written, in place; its spec is the old one already."""
    # parity v1.36.4: pkg/registry/core/pod/strategy.go podStatusStrategy
    metadata, before = pod["metadata"], old["metadata"]
    if "ownerReferences" in before:
        metadata["ownerReferences"] = before["ownerReferences"]
    else:
        metadata.pop("ownerReferences", None)
    # The time of its end is taken over from the old one afterwards.
    metadata.pop("deletionTimestamp", None)
    status, was = pod["status"], old.get("status", {})
    for field in ("qosClass", "observedGeneration"):
        if field not in status and field in was:
            status[field] = was[field]
    conditions = status.get("conditions")
    if conditions:
        _keep_observed(conditions, was.get("conditions", ()))


def _keep_observed(conditions: list[Obj], were: list[Obj]) -> None:
    seen: dict[str, list[int]] = {}
    for one in were:
        seen.setdefault(one["type"], []).append(one.get("observedGeneration", 0))
    for one in conditions:
        known = seen.get(one["type"])
        number = known.pop(0) if known else 0
        if number and not one.get("observedGeneration"):
            one["observedGeneration"] = number


def drop_disabled(spec: Obj) -> None:
    """Drop fields of features that are off in this version, in place."""
    # parity v1.36.4: pkg/api/pod/util.go dropDisabledFields
    spec.pop("schedulingGroup", None)
    for container in spec.get("containers") or ():
        if "lifecycle" in container:
            container["lifecycle"].pop("stopSignal", None)


def qos_class(spec: Obj) -> str:
    """How much a pod can rely on what it asks for: Guaranteed, Burstable or BestEffort."""
    # parity v1.36.4: pkg/apis/core/helper/qos/qos.go ComputePodQOS
    if "resources" in spec:
        asking = [spec["resources"]]
    else:
        parts = spec.get("containers") or []
        if "initContainers" in spec:
            parts = [*parts, *spec["initContainers"]]
        asking = [part["resources"] for part in parts]
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    guaranteed = True
    for one in asking:
        if not one:
            guaranteed = False
            continue
        _add(requests, one.get("requests"))
        if _add(limits, one.get("limits")) < len(_COMPUTED):
            guaranteed = False
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def _add(whole: dict[str, int], amounts: dict[str, str] | None) -> int:
    """Add what counts of some amounts; how many did."""
    count = 0
    if amounts:
        for name in _COMPUTED:
            if name in amounts:
                nano = parse_quantity(amounts[name]).nano
                if nano > 0:
                    whole[name] = whole.get(name, 0) + nano
                    count += 1
    return count


def _merge_into_affinity(affinity: Obj, labels: dict[str, str]) -> None:
    # parity v1.36.4: pkg/registry/core/pod/strategy.go mutatePodAffinity
    for relation in _RELATIONS:
        if relation not in affinity:
            continue
        part = affinity[relation]
        terms = [
            wish["podAffinityTerm"]
            for wish in part.get("preferredDuringSchedulingIgnoredDuringExecution", ())
        ]
        for term in [*terms, *part.get("requiredDuringSchedulingIgnoredDuringExecution", ())]:
            _merge(term, "matchLabelKeys", "In", labels)
            _merge(term, "mismatchLabelKeys", "NotIn", labels)


def _merge(term: Obj, field: str, operator: str, labels: dict[str, str]) -> None:
    """Add a condition to a selector for each key: the pod's own value of it."""
    if field not in term or "labelSelector" not in term:
        return
    made = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for key in term[field]
        if key in labels
    ]
    if made:
        term["labelSelector"].setdefault("matchExpressions", []).extend(made)
