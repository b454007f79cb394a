"""What only pods have: being bound to a node, and being evicted.

`app` calls it for the subresources ``binding`` and ``eviction`` and for Bindings themselves.
"""

from typing import Final

import msgspec

from mooring.embedded.api import Api
from mooring.embedded.object_meta import check_preconditions
from mooring.embedded.resources import BINDINGS, POD_DISRUPTION_BUDGETS, PODS, Obj
from mooring.embedded.status_errors import (
    Cause,
    StatusError,
    bad_request,
    forbidden,
    not_found,
    too_many_requests,
)
from mooring.embedded.stored_object import StoredObject
from mooring.embedded.validation.validation import validate
from mooring.errors import InputError
from mooring.model.selectors import LabelSelector

SUCCESS: Final[Obj] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}

_MOST_DISRUPTED: Final = 2000


def bind(api: Api, namespace: str, name: str, binding: Obj, *, dry_run: bool = False) -> None:
    """Bind a pod to a node, as the API server does: whether the node exists is not its business.

    Args:
        api: where the pod is.
        namespace: the pod's namespace.
        name: the pod's name; if empty, the Binding's own name counts.
        binding: the Binding.
        dry_run: only check.

    Raises:
        StatusError: there is no such pod, it has a node, it is ending or it is gated.
    """
    # parity v1.36.4: registry/core/pod/storage/storage.go setPodNodeAndMetadata
    metadata = binding.get("metadata") or {}
    name = name or metadata.get("name") or ""
    if name != metadata.get("name"):
        raise bad_request("name in URL does not match name in Binding object")
    causes = validate(BINDINGS, binding, None)
    if causes:
        # The real one answers so too: its errors are no Status at this place.
        messages = [f"{one.field}: {one.message}" for one in causes]
        text = messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"
        raise StatusError(500, "", text)
    item = api.store.get(PODS, namespace, name)
    if item is None:
        raise not_found(PODS, name)
    check_preconditions(PODS, item, metadata)
    pod = item.obj
    spec, meta = pod["spec"], pod["metadata"]
    if "deletionTimestamp" in meta:
        raise _unbindable(name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise _unbindable(name, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise _unbindable(name, f"pod {name} has non-empty .spec.schedulingGates")
    node = spec["nodeName"] = binding["target"]["name"]
    labels = {**(metadata.get("labels") or {}), **api.admission.topology_labels(node)}
    for field, more in (("annotations", metadata.get("annotations")), ("labels", labels)):
        if more:
            meta[field] = {**meta.get(field, {}), **more}
    status = pod.setdefault("status", {})
    status.pop("nominatedNodeName", None)
    set_pod_condition(status, {"type": "PodScheduled", "status": "True"}, api.timestamp())
    if not dry_run:
        api.store.put(PODS, pod)


def set_pod_condition(status: Obj, condition: Obj, now: str) -> None:
    """Set a condition of a pod, in place; the time is that of the last change of its status."""
    conditions: list[Obj] = status.setdefault("conditions", [])
    for one in conditions:
        if one["type"] == condition["type"]:
            same = one["status"] == condition["status"]
            time = one.get("lastTransitionTime", now) if same else now
            one.clear()
            one.update(condition)
            break
    else:
        one, time = dict(condition), now
        conditions.append(one)
    one.setdefault("lastProbeTime", None)
    one["lastTransitionTime"] = time


def evict(api: Api, namespace: str, name: str, eviction: Obj, *, dry_run: bool = False) -> None:
    """Delete a pod, if its disruption budget allows it.

    Raises:
        StatusError: there is no such pod, or not now.
    """
    # parity v1.36.4: registry/core/pod/storage/eviction.go
    if (eviction.get("metadata") or {}).get("name") != name:
        raise bad_request("name in URL does not match name in Eviction object")
    options = eviction.get("deleteOptions") or {}
    dry_run = dry_run or bool(options.get("dryRun"))
    item = api.get(PODS, namespace, name)
    pod = item.obj
    phase = pod.get("status", {}).get("phase")
    if (
        phase not in ("Succeeded", "Failed", "Pending")
        and "deletionTimestamp" not in pod["metadata"]
    ):
        _use_budget(api, item, pod, dry_run=dry_run)
    check_preconditions(PODS, item, options.get("preconditions") or {})
    if not dry_run:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
        set_pod_condition(pod.setdefault("status", {}), condition, api.timestamp())
        api.store.put(PODS, pod)
        # The version that the client named is that of the pod before this very change.
        options = {**options, "preconditions": {"uid": item.uid}}
    api.delete(PODS, namespace, name, options, dry_run=dry_run)


def _use_budget(api: Api, item: StoredObject, pod: Obj, *, dry_run: bool) -> None:
    """Take one disruption from the pod's budget."""
    budgets = [
        one
        for one in api.store.all(POD_DISRUPTION_BUDGETS, item.namespace)
        if _guards(one.obj, item)
    ]
    if len(budgets) > 1:
        raise StatusError(
            500,
            "",
            "This pod has more than one PodDisruptionBudget, which the eviction subresource "
            "does not support.",
        )
    if not budgets:
        return
    budget = budgets[0].obj
    name, spec, status = budgets[0].name, budget.get("spec", {}), budget.setdefault("status", {})
    healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    if not _is_ready(pod) and (
        spec.get("unhealthyPodEvictionPolicy") == "AlwaysAllow" or healthy >= desired > 0
    ):
        return
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _over_budget(f"The disruption budget {name} is still being processed by the server.")
    allowed = status.get("disruptionsAllowed", 0)
    if allowed < 0:
        raise forbidden(POD_DISRUPTION_BUDGETS, name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or {}) > _MOST_DISRUPTED:
        raise forbidden(
            POD_DISRUPTION_BUDGETS,
            name,
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        )
    if allowed == 0:
        raise _over_budget(_why_none(name, status))
    if dry_run:
        return
    status["disruptionsAllowed"] = allowed - 1
    status.setdefault("disruptedPods", {})[item.name] = api.timestamp()
    api.store.put(POD_DISRUPTION_BUDGETS, budget)


def _guards(budget: Obj, pod: StoredObject) -> bool:
    selector = budget.get("spec", {}).get("selector")
    if selector is None:
        return False
    try:
        return msgspec.convert(selector, LabelSelector).matches(pod.labels)
    except (InputError, msgspec.ValidationError):
        return False


def _why_none(name: str, status: Obj) -> str:
    """Why a budget allows no disruption now."""
    healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    said = [one for one in status.get("conditions", ()) if one["type"] == "DisruptionAllowed"]
    condition = next((one for one in said if one["status"] == "False" and one.get("message")), None)
    if condition is not None and condition.get("reason") == "SyncFailed":
        why = f" because it failed sync: {condition['message']}"
    elif healthy <= desired:
        return (
            f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
        )
    else:
        why = f" ({condition['reason']}): {condition['message']}" if condition is not None else ""
    return f"The disruption budget {name} does not allow evicting pods currently{why}"


def _is_ready(pod: Obj) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _over_budget(what: str) -> StatusError:
    return too_many_requests(
        "Cannot evict pod as it would violate the pod's disruption budget.",
        [Cause("", "DisruptionBudget", what)],
    )


def _unbindable(name: str, what: str) -> StatusError:
    message = f'Operation cannot be fulfilled on pods/binding "{name}": {what}'
    return StatusError(409, "Conflict", message, {"name": name, "kind": "pods/binding"})
