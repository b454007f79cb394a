"""Checks of PodDisruptionBudgets, PriorityClasses, Leases and the kinds of RBAC."""

# parity v1.36.4: policy, scheduling, coordination and rbac: validation/validation.go
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import (
    ErrorList,
    duplicate,
    forbidden,
    invalid,
    not_negative,
    not_supported,
    one_of,
    required,
    shown_selector,
    texts,
)
from mooring.embedded.validation.numbers import check_int_or_percent, check_not_above_100
from mooring.embedded.validation.object_meta import check_meta, check_meta_update, check_selector
from mooring.embedded.validation.pod import PREEMPTION_POLICIES
from mooring.embedded.validation.semantic_equality import check_same, same

_EVICTION: Final = ("AlwaysAllow", "IfHealthyBudget")
_HIGHEST: Final = 1_000_000_000
_SYSTEM: Final = {
    "system-cluster-critical": 2 * _HIGHEST,
    "system-node-critical": 2 * _HIGHEST + 1000,
}
_RBAC: Final = "rbac.authorization.k8s.io"
_SUBJECTS: Final = ("ServiceAccount", "User", "Group")


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
    seen: set[str] = set()
    for number, one in enumerate(status.get("conditions") or ()):
        path, kind = f"status.conditions[{number}]", one.get("type", "")
        if kind in seen:
            errors.append(duplicate(f"{path}.type", kind))
        seen.add(kind)
        _check_condition(one, path, errors)
    counts = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    not_negative(errors, status, "status", *counts)


def _check_condition(one: Obj, path: str, errors: ErrorList) -> None:
    kind, state, reason = one.get("type", ""), one.get("status", ""), one.get("reason", "")
    texts(errors, f"{path}.type", kind, names.label_key(kind))
    if state not in ("False", "True", "Unknown"):
        errors.append(not_supported(f"{path}.status", state, ("False", "True", "Unknown")))
    if one.get("lastTransitionTime") is None:
        errors.append(required(f"{path}.lastTransitionTime"))
    if not reason:
        errors.append(required(f"{path}.reason"))
    else:
        texts(errors, f"{path}.reason", reason, names.condition_reason(reason))


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


def check_lease(obj: Obj, errors: ErrorList) -> None:
    """Check a new Lease."""
    check_meta(obj, names.subdomain, errors, kube_finalizers=False)
    _check_lease_spec(obj.get("spec") or {}, errors)


def check_lease_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a Lease."""
    check_meta_update(obj, old, errors, kube_finalizers=False)
    _check_lease_spec(obj.get("spec") or {}, errors)


def _check_lease_spec(spec: Obj, errors: ErrorList) -> None:
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if seconds is not None and seconds <= 0:
        errors.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        text = "must be greater than or equal to 0"
        errors.append(invalid("spec.leaseTransitions", transitions, text))


def _check_rules(obj: Obj, errors: ErrorList, *, namespaced: bool) -> None:
    for number, rule in enumerate(obj.get("rules") or ()):
        path, urls = f"rules[{number}]", rule.get("nonResourceURLs")
        if not rule.get("verbs"):
            errors.append(required(f"{path}.verbs", "verbs must contain at least one value"))
        if urls:
            if namespaced:
                text = "namespaced rules cannot apply to non-resource URLs"
                errors.append(invalid(f"{path}.nonResourceURLs", urls, text))
            if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
                text = "rules cannot apply to both regular resources and non-resource URLs"
                errors.append(invalid(f"{path}.nonResourceURLs", urls, text))
            continue
        if not rule.get("apiGroups"):
            text = "resource rules must supply at least one api group"
            errors.append(required(f"{path}.apiGroups", text))
        if not rule.get("resources"):
            text = "resource rules must supply at least one resource"
            errors.append(required(f"{path}.resources", text))


def check_role(obj: Obj, errors: ErrorList) -> None:
    """Check a new Role."""
    check_meta(obj, names.path_segment, errors, kube_finalizers=False)
    _check_rules(obj, errors, namespaced=True)


def check_role_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a Role."""
    check_role(obj, errors)
    check_meta_update(obj, old, errors, kube_finalizers=False)


def check_cluster_role(obj: Obj, errors: ErrorList) -> None:
    """Check a new ClusterRole."""
    check_meta(obj, names.path_segment, errors, namespaced=False, kube_finalizers=False)
    _check_rules(obj, errors, namespaced=False)
    aggregation = obj.get("aggregationRule")
    if aggregation is None:
        return
    path = "aggregationRule.clusterRoleSelectors"
    selectors = aggregation.get("clusterRoleSelectors") or ()
    if not selectors:
        text = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        errors.append(required(path, text))
    for number, selector in enumerate(selectors):
        check_selector(selector, f"{path}[{number}]", errors)


def check_cluster_role_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a ClusterRole."""
    check_cluster_role(obj, errors)
    check_meta_update(obj, old, errors, kube_finalizers=False)


def _check_binding(obj: Obj, errors: ErrorList, *, namespaced: bool) -> None:
    check_meta(obj, names.path_segment, errors, namespaced=namespaced, kube_finalizers=False)
    ref = obj.get("roleRef") or {}
    group, kind, name = ref.get("apiGroup", ""), ref.get("kind", ""), ref.get("name", "")
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if group != _RBAC:
        errors.append(not_supported("roleRef.apiGroup", group, (_RBAC,)))
    if kind not in kinds:
        errors.append(not_supported("roleRef.kind", kind, kinds))
    if not name:
        errors.append(required("roleRef.name"))
    else:
        texts(errors, "roleRef.name", name, names.path_segment(name))
    for number, subject in enumerate(obj.get("subjects") or ()):
        _check_subject(subject, f"subjects[{number}]", errors, namespaced=namespaced)


def _check_subject(subject: Obj, path: str, errors: ErrorList, *, namespaced: bool) -> None:
    name, kind, group = (subject.get(one, "") for one in ("name", "kind", "apiGroup"))
    if not name:
        errors.append(required(f"{path}.name"))
    if kind == "ServiceAccount":
        if name:
            texts(errors, f"{path}.name", name, names.subdomain(name))
        if group:
            errors.append(not_supported(f"{path}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            errors.append(required(f"{path}.namespace"))
    elif kind not in _SUBJECTS:
        errors.append(not_supported(f"{path}.kind", kind, _SUBJECTS))
    elif group != _RBAC:
        errors.append(not_supported(f"{path}.apiGroup", group, (_RBAC,)))


def check_role_binding(obj: Obj, errors: ErrorList) -> None:
    """Check a new RoleBinding."""
    _check_binding(obj, errors, namespaced=True)


def check_cluster_role_binding(obj: Obj, errors: ErrorList) -> None:
    """Check a new ClusterRoleBinding."""
    _check_binding(obj, errors, namespaced=False)


def check_role_binding_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a RoleBinding."""
    check_role_binding(obj, errors)
    _check_ref_kept(obj, old, errors)


def check_cluster_role_binding_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a ClusterRoleBinding."""
    check_cluster_role_binding(obj, errors)
    _check_ref_kept(obj, old, errors)


def _check_ref_kept(obj: Obj, old: Obj, errors: ErrorList) -> None:
    check_meta_update(obj, old, errors, kube_finalizers=False)
    ref, before = obj.get("roleRef") or {}, old.get("roleRef") or {}
    if not same(ref, before):
        value = {
            "APIGroup": ref.get("apiGroup", ""), "Kind": ref.get("kind", ""),
            "Name": ref.get("name", ""),
        }  # fmt: skip
        errors.append(invalid("roleRef", value, "cannot change roleRef"))
