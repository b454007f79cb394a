"""Checks of Deployments, ReplicaSets, ReplicationControllers, StatefulSets and DaemonSets."""

# parity v1.36.4: apps/validation/validation.go, core ValidateReplicationController
from typing import Any, Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import (
    IMMUTABLE,
    NOT_NEGATIVE,
    ErrorList,
    forbidden,
    in_order,
    invalid,
    not_negative,
    not_supported,
    required,
    shown_selector,
    texts,
)
from mooring.embedded.validation.numbers import check_int_or_percent, check_not_above_100, number_of
from mooring.embedded.validation.object_meta import (
    check_annotations,
    check_labels,
    check_meta,
    check_meta_update,
    check_selector,
    selects,
)
from mooring.embedded.validation.pod.pod import check_pod_annotations, check_template
from mooring.embedded.validation.semantic_equality import check_same, same
from mooring.embedded.validation.storage.volume_claim_spec import check_claim_spec

_NO_MATCH: Final = "`selector` does not match template `labels`"
_STATEFUL_FREE: Final = (
    "replicas", "template", "updateStrategy", "minReadySeconds", "ordinals",
    "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy",
)  # fmt: skip
_STATEFUL_FIXED: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
    "'minReadySeconds' are forbidden"
)


def _spec(obj: Obj) -> Obj:
    spec: Obj = obj.get("spec") or {}
    return spec


def check_deployment(obj: Obj, errors: ErrorList) -> None:
    """Check a new Deployment."""
    check_meta(obj, names.subdomain, errors)
    _check_deployment_spec(_spec(obj), errors)


def check_deployment_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a Deployment."""
    check_meta_update(obj, old, errors)
    _check_deployment_spec(_spec(obj), errors)
    _check_selector_kept(obj, old, errors)


def _check_deployment_spec(spec: Obj, errors: ErrorList) -> None:
    not_negative(errors, spec, "spec", "replicas")
    _check_selected(spec, "deployment", errors)
    _check_strategy(spec.get("strategy") or {}, errors)
    not_negative(errors, spec, "spec", "minReadySeconds", "revisionHistoryLimit")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        not_negative(errors, spec, "spec", "progressDeadlineSeconds")
        if deadline <= spec.get("minReadySeconds", 0):
            text = "must be greater than minReadySeconds"
            errors.append(invalid("spec.progressDeadlineSeconds", deadline, text))


def _check_strategy(strategy: Obj, errors: ErrorList) -> None:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    path = "spec.strategy.rollingUpdate"
    if kind == "Recreate":
        if rolling is not None:
            text = "may not be specified when strategy `type` is 'Recreate'"
            errors.append(forbidden(path, text))
    elif kind == "RollingUpdate":
        if rolling is None:
            errors.append(required(path, "this should be defaulted and never be nil"))
            return
        unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
        check_int_or_percent(unavailable, f"{path}.maxUnavailable", errors)
        check_int_or_percent(surge, f"{path}.maxSurge", errors)
        if number_of(unavailable) == 0 and number_of(surge) == 0:
            text = "may not be 0 when `maxSurge` is 0"
            errors.append(invalid(f"{path}.maxUnavailable", unavailable, text))
        check_not_above_100(unavailable, f"{path}.maxUnavailable", errors)
    else:
        known = ("Recreate", "RollingUpdate")
        errors.append(not_supported("spec.strategy", _shown_strategy(kind, rolling), known))


def _shown_strategy(kind: str, rolling: Obj | None) -> Obj:
    update = rolling and {
        "MaxUnavailable": rolling.get("maxUnavailable", 0),
        "MaxSurge": rolling.get("maxSurge", 0),
    }
    return {"Type": kind, "RollingUpdate": update}


def check_replica_set(obj: Obj, errors: ErrorList) -> None:
    """Check a new ReplicaSet."""
    check_meta(obj, names.subdomain, errors)
    _check_replica_set_spec(_spec(obj), errors)


def check_replica_set_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a ReplicaSet."""
    check_meta_update(obj, old, errors)
    _check_replica_set_spec(_spec(obj), errors)
    _check_selector_kept(obj, old, errors)


def _check_replica_set_spec(spec: Obj, errors: ErrorList) -> None:
    not_negative(errors, spec, "spec", "replicas", "minReadySeconds")
    # Also here the API server speaks of a deployment.
    _check_selected(spec, "deployment", errors)


def _check_selected(spec: Obj, kind: str, errors: ErrorList) -> None:
    """Check selector and template of a Deployment or ReplicaSet."""
    matches = _check_own_selector(spec, kind, errors)
    if matches is None:
        selector = shown_selector(spec.get("selector"))
        errors.append(invalid("spec.selector", selector, "invalid label selector"))
    else:
        _check_always_template(spec, matches, "ReplicaSet", errors)


def _check_own_selector(spec: Obj, kind: str, errors: ErrorList) -> bool | None:
    selector, template = spec.get("selector"), spec.get("template") or {}
    if selector is None:
        errors.append(required("spec.selector"))
    else:
        check_selector(selector, "spec.selector", errors)
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            text = f"empty selector is invalid for {kind}"
            errors.append(invalid("spec.selector", shown_selector(selector), text))
    return selects(selector, (template.get("metadata") or {}).get("labels"))


def _check_always_template(spec: Obj, matches: bool, kind: str, errors: ErrorList) -> None:
    template = spec.get("template") or {}
    if not matches:
        _no_match(template, errors)
    check_template(template, "spec.template", errors)
    _check_always(template, kind, errors)


def _no_match(template: Obj, errors: ErrorList) -> None:
    labels = (template.get("metadata") or {}).get("labels")
    errors.append(invalid("spec.template.metadata.labels", in_order(labels), _NO_MATCH))


def _check_always(template: Obj, kind: str, errors: ErrorList) -> None:
    spec = template.get("spec") or {}
    policy = spec.get("restartPolicy", "")
    if policy != "Always":
        errors.append(not_supported("spec.template.spec.restartPolicy", policy, ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(forbidden("spec.template.spec.activeDeadlineSeconds", text))


def _check_selector_kept(obj: Obj, old: Obj, errors: ErrorList) -> None:
    selector = _spec(obj).get("selector")
    if not same(selector, _spec(old).get("selector"), "selector"):
        errors.append(invalid("spec.selector", shown_selector(selector), IMMUTABLE))


def check_replication_controller(obj: Obj, errors: ErrorList) -> None:
    """Check a new ReplicationController."""
    check_meta(obj, names.subdomain, errors)
    _check_controller_spec(_spec(obj), errors)


def check_replication_controller_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a ReplicationController."""
    check_meta_update(obj, old, errors)
    _check_controller_spec(_spec(obj), errors)


def _check_controller_spec(spec: Obj, errors: ErrorList) -> None:
    not_negative(errors, spec, "spec", "minReadySeconds")
    selector = spec.get("selector") or {}
    if not selector:
        errors.append(required("spec.selector"))
    if spec.get("replicas") is None:
        errors.append(required("spec.replicas"))
    not_negative(errors, spec, "spec", "replicas")
    template = spec.get("template")
    if template is None:
        errors.append(required("spec.template"))
        return
    labels = (template.get("metadata") or {}).get("labels") or {}
    matches = all(labels.get(key) == value for key, value in selector.items())
    _check_always_template(spec, matches, "ReplicationController", errors)


def check_stateful_set(obj: Obj, errors: ErrorList) -> None:
    """Check a new StatefulSet."""
    check_meta(obj, names.dns_label, errors)
    _check_stateful_spec(_spec(obj), errors, new=True)


def check_stateful_set_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a StatefulSet."""
    check_meta_update(obj, old, errors)
    spec, before = _spec(obj), _spec(old)
    _check_stateful_spec(spec, errors, new=False)
    fixed = {name: value for name, value in spec.items() if name not in _STATEFUL_FREE}
    was = {name: value for name, value in before.items() if name not in _STATEFUL_FREE}
    if not same(fixed, was):
        errors.append(forbidden("spec", _STATEFUL_FIXED))


def _check_stateful_spec(spec: Obj, errors: ErrorList, *, new: bool) -> None:
    policy = spec.get("podManagementPolicy", "")
    if not policy:
        errors.append(required("spec.podManagementPolicy"))
    elif policy not in ("OrderedReady", "Parallel"):
        text = "must be 'OrderedReady' or 'Parallel'"
        errors.append(invalid("spec.podManagementPolicy", policy, text))
    _check_stateful_strategy(spec.get("updateStrategy") or {}, errors)
    retention = spec.get("persistentVolumeClaimRetentionPolicy")
    if retention is not None:
        _check_retention(retention, errors)
    if new:
        for number, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
            field = f"spec.volumeClaimTemplates[{number}].spec"
            check_claim_spec(claim.get("spec") or {}, field, errors)
    not_negative(errors, spec, "spec", "replicas", "minReadySeconds")
    start = (spec.get("ordinals") or {}).get("start", 0)
    if start < 0:
        errors.append(invalid("spec.ordinals.start", start, NOT_NEGATIVE))
    service = spec.get("serviceName", "")
    if new and service:
        texts(errors, "spec.serviceName", service, names.dns_label(service))
    matches = _check_own_selector(spec, "statefulset", errors)
    if matches is None:
        errors.append(invalid("spec.selector", shown_selector(spec.get("selector")), ""))
    else:
        _check_stateful_template(spec, matches, errors)
    _check_always(spec.get("template") or {}, "StatefulSet", errors)


def _check_retention(retention: Obj, errors: ErrorList) -> None:
    for name in ("whenDeleted", "whenScaled"):
        value = retention.get(name, "")
        if value not in ("Retain", "Delete"):
            field = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
            errors.append(not_supported(field, value, ("Retain", "Delete")))


def _check_stateful_strategy(strategy: Obj, errors: ErrorList) -> None:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    path = "spec.updateStrategy"
    shown: dict[str, Any] | None = None
    if rolling is not None:
        shown = {"Partition": rolling.get("partition", 0)}
        shown["MaxUnavailable"] = rolling.get("maxUnavailable")
    if not kind:
        errors.append(required(path))
    elif kind == "OnDelete":
        if rolling is not None:
            text = "only allowed for updateStrategy 'RollingUpdate'"
            errors.append(invalid(f"{path}.rollingUpdate", shown, text))
    elif kind == "RollingUpdate":
        if rolling is not None:
            not_negative(errors, rolling, f"{path}.rollingUpdate", "partition")
    else:
        value = {"Type": kind, "RollingUpdate": shown}
        errors.append(invalid(path, value, "must be 'RollingUpdate' or 'OnDelete'"))


def _check_stateful_template(spec: Obj, matches: bool, errors: ErrorList) -> None:
    template = dict(spec.get("template") or {})
    pod = dict(template.get("spec") or {})
    for name in ("subdomain", "hostname"):
        pod.pop(name, None)
    claims = {(one.get("metadata") or {}).get("name", "") for one in
              spec.get("volumeClaimTemplates") or ()}  # fmt: skip
    if claims:
        # A claim template is a volume of that name for each pod, whatever the template says.
        pod["volumes"] = [
            *({"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims),
            *(one for one in pod.get("volumes") or () if one.get("name", "") not in claims),
        ]
    template["spec"] = pod
    if not matches:
        _no_match(template, errors)
    check_template(template, "spec.template", errors)
    # Once more, as the API server does.
    meta = template.get("metadata") or {}
    annotations = meta.get("annotations") or {}
    check_labels(meta.get("labels") or {}, "spec.template.labels", errors)
    check_annotations(annotations, "spec.template.annotations", errors)
    check_pod_annotations(annotations, pod, "spec.template.annotations", errors)


def check_daemon_set(obj: Obj, errors: ErrorList) -> None:
    """Check a new DaemonSet."""
    check_meta(obj, names.subdomain, errors)
    _check_daemon_spec(_spec(obj), errors)


def check_daemon_set_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a DaemonSet."""
    check_meta_update(obj, old, errors)
    _check_selector_kept(obj, old, errors)
    _check_daemon_spec(_spec(obj), errors)


def _check_daemon_spec(spec: Obj, errors: ErrorList) -> None:
    selector, template = spec.get("selector"), spec.get("template") or {}
    check_selector(selector, "spec.selector", errors)
    if selects(selector, (template.get("metadata") or {}).get("labels")) is False:
        _no_match(template, errors)
    if selector is not None and not any(
        selector.get(name) for name in ("matchLabels", "matchExpressions")
    ):
        text = "empty selector is invalid for daemonset"
        errors.append(invalid("spec.selector", shown_selector(selector), text))
    check_template(template, "spec.template", errors)
    _check_always(template, "DaemonSet", errors)
    not_negative(errors, spec, "spec", "minReadySeconds")
    _check_daemon_strategy(spec.get("updateStrategy") or {}, errors)
    not_negative(errors, spec, "spec", "revisionHistoryLimit")


def _check_daemon_strategy(strategy: Obj, errors: ErrorList) -> None:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    path = "spec.updateStrategy.rollingUpdate"
    if kind == "OnDelete":
        return
    if kind != "RollingUpdate":
        known = ("RollingUpdate", "OnDelete")
        value = _shown_strategy(kind, rolling)
        errors.append(not_supported("spec.updateStrategy", value, known))
        return
    if rolling is None:
        errors.append(required(path))
        return
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    for check in (check_int_or_percent, check_not_above_100):
        check(unavailable, f"{path}.maxUnavailable", errors)
        check(surge, f"{path}.maxSurge", errors)
    if number_of(unavailable) and number_of(surge):
        text = "may not be set when maxUnavailable is non-zero"
        errors.append(invalid(f"{path}.maxSurge", surge, text))
    elif not number_of(unavailable) and not number_of(surge):
        errors.append(required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))


def check_pod_template(obj: Obj, errors: ErrorList) -> None:
    """Check a new PodTemplate."""
    check_meta(obj, names.subdomain, errors)
    check_template(obj.get("template") or {}, "template", errors)


def check_pod_template_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a PodTemplate."""
    check_meta_update(obj, old, errors)
    check_template(obj.get("template") or {}, "template", errors)


def check_revision(obj: Obj, errors: ErrorList) -> None:
    """Check a new ControllerRevision."""
    check_meta(obj, names.subdomain, errors)
    _check_revision_number(obj, errors)
    if obj.get("data") is None:
        errors.append(required("data", "data is mandatory"))
    elif not isinstance(obj["data"], dict):
        errors.append(required("data", "data must be a valid JSON object"))


def check_revision_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a ControllerRevision."""
    check_meta_update(obj, old, errors)
    check_meta(obj, names.subdomain, errors)
    _check_revision_number(obj, errors)
    check_same(obj, old, "data", "data", errors)


def _check_revision_number(obj: Obj, errors: ErrorList) -> None:
    if obj.get("revision", 0) < 0:
        errors.append(invalid("revision", obj["revision"], NOT_NEGATIVE))
