"""Checks of PriorityClasses."""

# parity v1.36.4: scheduling/validation/validation.go
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import ErrorList, forbidden, one_of
from mooring.embedded.validation.object_meta import check_meta, check_meta_update
from mooring.embedded.validation.pod.pod import PREEMPTION_POLICIES
from mooring.embedded.validation.semantic_equality import check_same

_HIGHEST: Final = 1_000_000_000
_SYSTEM: Final = {
    "system-cluster-critical": 2 * _HIGHEST,
    "system-node-critical": 2 * _HIGHEST + 1000,
}


def check_priority_class(obj: Obj, errors: ErrorList) -> None:
    """Check a new PriorityClass."""
    check_meta(obj, names.subdomain, errors, namespaced=False)
    name, value = (obj.get("metadata") or {}).get("name", ""), obj.get("value", 0)
    if name.startswith("system-"):
        problem = ""
        if name not in _SYSTEM:
            problem = f"{name} is not a known system priority class"
        elif value != _SYSTEM[name]:
            problem = f"value of {name} PriorityClass must be {_SYSTEM[name]}"
        elif obj.get("globalDefault"):
            problem = f"globalDefault of {name} PriorityClass must be false"
        if problem:
            text = "priority class names with 'system-' prefix are reserved for system use only."
            errors.append(forbidden("metadata.name", f"{text} error: {problem}"))
    elif value > _HIGHEST:
        text = f"maximum allowed value of a user defined priority is {_HIGHEST}"
        errors.append(forbidden("value", text))
    policy = obj.get("preemptionPolicy")
    if policy is not None:
        one_of(errors, "preemptionPolicy", policy, PREEMPTION_POLICIES)


def check_priority_class_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a PriorityClass."""
    check_meta_update(obj, old, errors)
    if obj.get("value", 0) != old.get("value", 0):
        errors.append(forbidden("value", "may not be changed in an update."))
    check_same(obj, old, "preemptionPolicy", "preemptionPolicy", errors)
