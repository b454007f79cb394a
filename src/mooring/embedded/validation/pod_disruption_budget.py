"""Checks of PodDisruptionBudgets."""

# parity v1.36.4: policy/validation/validation.go
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation.conditions import check_conditions
from mooring.embedded.validation.field_errors import (
    ErrorList,
    invalid,
    not_negative,
    not_supported,
    shown_selector,
)
from mooring.embedded.validation.numbers import check_int_or_percent, check_not_above_100
from mooring.embedded.validation.object_meta import check_selector

_EVICTION: Final = ("AlwaysAllow", "IfHealthyBudget")


def check_budget(obj: Obj, errors: ErrorList) -> None:
    """Check a PodDisruptionBudget, new or changed."""
    spec = obj.get("spec") or {}
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        value = {
            "MinAvailable": least, "Selector": shown_selector(spec.get("selector")),
            "MaxUnavailable": most,
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }  # fmt: skip
        errors.append(invalid("spec", value, "minAvailable and maxUnavailable cannot be both set"))
    for name, given in (("minAvailable", least), ("maxUnavailable", most)):
        if given is not None:
            check_int_or_percent(given, f"spec.{name}", errors)
            check_not_above_100(given, f"spec.{name}", errors)
    check_selector(spec.get("selector"), "spec.selector", errors)
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _EVICTION:
        errors.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, _EVICTION))


def check_budget_status(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of the status of a PodDisruptionBudget."""
    del old
    status = obj.get("status") or {}
    check_conditions(status.get("conditions") or (), "status.conditions", errors)
    counts = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    not_negative(errors, status, "status", *counts)
