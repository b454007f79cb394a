"""What a pod gets from its RuntimeClass: overhead, a node selector and tolerations.

`admission` calls it for new pods. A pod whose class does not exist is left as it is, unlike on a
real API server: snapshots have pods without their classes.
"""

from mooring.embedded.resources import PODS, RUNTIME_CLASSES, Obj
from mooring.embedded.status_errors import forbidden
from mooring.embedded.store import Store
from mooring.embedded.validation.resource_amounts import nano


def apply_runtime_class(store: Store, pod: Obj) -> None:
    """Complete a new pod in place.

    Raises:
        StatusError: it says something else than its class.
    """
    # parity v1.36.4: plugin/pkg/admission/runtimeclass/admission.go
    spec, name = pod["spec"], pod["metadata"].get("name", "")
    item = store.get(RUNTIME_CLASSES, "", spec.get("runtimeClassName") or "")
    if item is None:
        return
    obj = item.obj
    fixed = (obj.get("overhead") or {}).get("podFixed")
    if fixed:
        if spec.get("overhead") and _amounts(spec["overhead"]) != _amounts(fixed):
            text = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
            raise forbidden(PODS, name, text)
        spec["overhead"] = fixed
    scheduling = obj.get("scheduling") or {}
    selector = spec.get("nodeSelector") or {}
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if selector.get(key, value) != value:
            raise forbidden(
                PODS,
                name,
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {selector[key]}",
            )
        spec["nodeSelector"] = selector = {**selector, key: value}
    tolerations = spec.get("tolerations") or []
    added = [one for one in scheduling.get("tolerations") or () if one not in tolerations]
    if added:
        spec["tolerations"] = [*tolerations, *added]


def _amounts(resources: Obj) -> dict[str, int]:
    return {name: nano(amount) for name, amount in resources.items()}
