"""Checks of Roles, RoleBindings and those of the whole cluster."""

# parity v1.36.4: rbac/validation/validation.go
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import (
    ErrorList,
    invalid,
    not_supported,
    required,
    texts,
)
from mooring.embedded.validation.object_meta import check_meta, check_meta_update, check_selector
from mooring.embedded.validation.semantic_equality import same

_RBAC: Final = "rbac.authorization.k8s.io"
_SUBJECTS: Final = ("ServiceAccount", "User", "Group")


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
