"""Checks of Deployments, ReplicaSets, ReplicationControllers, StatefulSets and DaemonSets."""

# parity v1.36.4: apps/validation/validation.go, core ValidateReplicationController
from typing import Any, Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.causes import (
    IMMUTABLE,
    NOT_NEGATIVE,
    Found,
    forbidden,
    in_order,
    invalid,
    not_negative,
    not_supported,
    required,
    shown_selector,
    texts,
)
from mooring.embedded.validation.changes import check_same, same
from mooring.embedded.validation.claims import check_claim_spec
from mooring.embedded.validation.meta import (
    check_annotations,
    check_labels,
    check_meta,
    check_meta_update,
    check_selector,
    selects,
)
from mooring.embedded.validation.numbers import check_int_or_percent, check_not_above_100, number_of
from mooring.embedded.validation.pod import check_pod_annotations, check_template

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


def check_deployment(obj: Obj, found: Found) -> None:
    """Check a new Deployment."""
    check_meta(obj, names.subdomain, found)
    _check_deployment_spec(_spec(obj), found)


def check_deployment_update(obj: Obj, old: Obj, found: Found) -> None:
    """Check a change of a Deployment."""
    check_meta_update(obj, old, found)
    _check_deployment_spec(_spec(obj), found)
    _check_selector_kept(obj, old, found)


def _check_deployment_spec(spec: Obj, found: Found) -> None:
    not_negative(found, spec, "spec", "replicas")
    _check_selected(spec, "deployment", found)
    _check_strategy(spec.get("strategy") or {}, found)
    not_negative(found, spec, "spec", "minReadySeconds", "revisionHistoryLimit")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        not_negative(found, spec, "spec", "progressDeadlineSeconds")
        if deadline <= spec.get("minReadySeconds", 0):
            text = "must be greater than minReadySeconds"
            found.append(invalid("spec.progressDeadlineSeconds", deadline, text))


def _check_strategy(strategy: Obj, found: Found) -> None:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    path = "spec.strategy.rollingUpdate"
    if kind == "Recreate":
        if rolling is not None:
            text = "may not be specified when strategy `type` is 'Recreate'"
            found.append(forbidden(path, text))
    elif kind == "RollingUpdate":
        if rolling is None:
            found.append(required(path, "this should be defaulted and never be nil"))
            return
        unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
        check_int_or_percent(unavailable, f"{path}.maxUnavailable", found)
        check_int_or_percent(surge, f"{path}.maxSurge", found)
        if number_of(unavailable) == 0 and number_of(surge) == 0:
            text = "may not be 0 when `maxSurge` is 0"
            found.append(invalid(f"{path}.maxUnavailable", unavailable, text))
        check_not_above_100(unavailable, f"{path}.maxUnavailable", found)
    else:
        known = ("Recreate", "RollingUpdate")
        found.append(not_supported("spec.strategy", _shown_strategy(kind, rolling), known))


def _shown_strategy(kind: str, rolling: Obj | None) -> Obj:
    update = rolling and {
        "MaxUnavailable": rolling.get("maxUnavailable", 0),
        "MaxSurge": rolling.get("maxSurge", 0),
    }
    return {"Type": kind, "RollingUpdate": update}


def check_replica_set(obj: Obj, found: Found) -> None:
    """Check a new ReplicaSet."""
    check_meta(obj, names.subdomain, found)
    _check_replica_set_spec(_spec(obj), found)


def check_replica_set_update(obj: Obj, old: Obj, found: Found) -> None:
    """Check a change of a ReplicaSet."""
    check_meta_update(obj, old, found)
    _check_replica_set_spec(_spec(obj), found)
    _check_selector_kept(obj, old, found)


def _check_replica_set_spec(spec: Obj, found: Found) -> None:
    not_negative(found, spec, "spec", "replicas", "minReadySeconds")
    # Also here the API server speaks of a deployment.
    _check_selected(spec, "deployment", found)


def _check_selected(spec: Obj, told: str, found: Found) -> None:
    """Check selector and template of a Deployment or ReplicaSet."""
    matches = _check_own_selector(spec, told, found)
    if matches is None:
        selector = shown_selector(spec.get("selector"))
        found.append(invalid("spec.selector", selector, "invalid label selector"))
    else:
        _check_always_template(spec, matches, "ReplicaSet", found)


def _check_own_selector(spec: Obj, told: str, found: Found) -> bool | None:
    selector, template = spec.get("selector"), spec.get("template") or {}
    if selector is None:
        found.append(required("spec.selector"))
    else:
        check_selector(selector, "spec.selector", found)
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            text = f"empty selector is invalid for {told}"
            found.append(invalid("spec.selector", shown_selector(selector), text))
    return selects(selector, (template.get("metadata") or {}).get("labels"))


def _check_always_template(spec: Obj, matches: bool, told: str, found: Found) -> None:
    template = spec.get("template") or {}
    if not matches:
        _no_match(template, found)
    check_template(template, "spec.template", found)
    _check_always(template, told, found)


def _no_match(template: Obj, found: Found) -> None:
    labels = (template.get("metadata") or {}).get("labels")
    found.append(invalid("spec.template.metadata.labels", in_order(labels), _NO_MATCH))


def _check_always(template: Obj, told: str, found: Found) -> None:
    spec = template.get("spec") or {}
    policy = spec.get("restartPolicy", "")
    if policy != "Always":
        found.append(not_supported("spec.template.spec.restartPolicy", policy, ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {told} is not Supported"
        found.append(forbidden("spec.template.spec.activeDeadlineSeconds", text))


def _check_selector_kept(obj: Obj, old: Obj, found: Found) -> None:
    selector = _spec(obj).get("selector")
    if not same(selector, _spec(old).get("selector"), "selector"):
        found.append(invalid("spec.selector", shown_selector(selector), IMMUTABLE))


def check_replication_controller(obj: Obj, found: Found) -> None:
    """Check a new ReplicationController."""
    check_meta(obj, names.subdomain, found)
    _check_controller_spec(_spec(obj), found)


def check_replication_controller_update(obj: Obj, old: Obj, found: Found) -> None:
    """Check a change of a ReplicationController."""
    check_meta_update(obj, old, found)
    _check_controller_spec(_spec(obj), found)


def _check_controller_spec(spec: Obj, found: Found) -> None:
    not_negative(found, spec, "spec", "minReadySeconds")
    selector = spec.get("selector") or {}
    if not selector:
        found.append(required("spec.selector"))
    if spec.get("replicas") is None:
        found.append(required("spec.replicas"))
    not_negative(found, spec, "spec", "replicas")
    template = spec.get("template")
    if template is None:
        found.append(required("spec.template"))
        return
    labels = (template.get("metadata") or {}).get("labels") or {}
    matches = all(labels.get(key) == value for key, value in selector.items())
    _check_always_template(spec, matches, "ReplicationController", found)


def check_stateful_set(obj: Obj, found: Found) -> None:
    """Check a new StatefulSet."""
    check_meta(obj, names.dns_label, found)
    _check_stateful_spec(_spec(obj), found, new=True)


def check_stateful_set_update(obj: Obj, old: Obj, found: Found) -> None:
    """Check a change of a StatefulSet."""
    check_meta_update(obj, old, found)
    spec, before = _spec(obj), _spec(old)
    _check_stateful_spec(spec, found, new=False)
    fixed = {name: value for name, value in spec.items() if name not in _STATEFUL_FREE}
    was = {name: value for name, value in before.items() if name not in _STATEFUL_FREE}
    if not same(fixed, was):
        found.append(forbidden("spec", _STATEFUL_FIXED))


def _check_stateful_spec(spec: Obj, found: Found, *, new: bool) -> None:
    policy = spec.get("podManagementPolicy", "")
    if not policy:
        found.append(required("spec.podManagementPolicy"))
    elif policy not in ("OrderedReady", "Parallel"):
        text = "must be 'OrderedReady' or 'Parallel'"
        found.append(invalid("spec.podManagementPolicy", policy, text))
    _check_stateful_strategy(spec.get("updateStrategy") or {}, found)
    retention = spec.get("persistentVolumeClaimRetentionPolicy")
    if retention is not None:
        _check_retention(retention, found)
    if new:
        for number, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
            field = f"spec.volumeClaimTemplates[{number}].spec"
            check_claim_spec(claim.get("spec") or {}, field, found)
    not_negative(found, spec, "spec", "replicas", "minReadySeconds")
    start = (spec.get("ordinals") or {}).get("start", 0)
    if start < 0:
        found.append(invalid("spec.ordinals.start", start, NOT_NEGATIVE))
    service = spec.get("serviceName", "")
    if new and service:
        texts(found, "spec.serviceName", service, names.dns_label(service))
    matches = _check_own_selector(spec, "statefulset", found)
    if matches is None:
        found.append(invalid("spec.selector", shown_selector(spec.get("selector")), ""))
    else:
        _check_stateful_template(spec, matches, found)
    _check_always(spec.get("template") or {}, "StatefulSet", found)


def _check_retention(retention: Obj, found: Found) -> None:
    for name in ("whenDeleted", "whenScaled"):
        value = retention.get(name, "")
        if value not in ("Retain", "Delete"):
            field = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
            found.append(not_supported(field, value, ("Retain", "Delete")))


def _check_stateful_strategy(strategy: Obj, found: Found) -> None:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    path = "spec.updateStrategy"
    shown: dict[str, Any] | None = None
    if rolling is not None:
        shown = {"Partition": rolling.get("partition", 0)}
        shown["MaxUnavailable"] = rolling.get("maxUnavailable")
    if not kind:
        found.append(required(path))
    elif kind == "OnDelete":
        if rolling is not None:
            text = "only allowed for updateStrategy 'RollingUpdate'"
            found.append(invalid(f"{path}.rollingUpdate", shown, text))
    elif kind == "RollingUpdate":
        if rolling is not None:
            not_negative(found, rolling, f"{path}.rollingUpdate", "partition")
    else:
        value = {"Type": kind, "RollingUpdate": shown}
        found.append(invalid(path, value, "must be 'RollingUpdate' or 'OnDelete'"))


def _check_stateful_template(spec: Obj, matches: bool, found: Found) -> None:
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
        _no_match(template, found)
    check_template(template, "spec.template", found)
    # Once more, as the API server does.
    meta = template.get("metadata") or {}
    annotations = meta.get("annotations") or {}
    check_labels(meta.get("labels") or {}, "spec.template.labels", found)
    check_annotations(annotations, "spec.template.annotations", found)
    check_pod_annotations(annotations, pod, "spec.template.annotations", found)


def check_daemon_set(obj: Obj, found: Found) -> None:
    """Check a new DaemonSet."""
    check_meta(obj, names.subdomain, found)
    _check_daemon_spec(_spec(obj), found)


def check_daemon_set_update(obj: Obj, old: Obj, found: Found) -> None:
    """Check a change of a DaemonSet."""
    check_meta_update(obj, old, found)
    _check_selector_kept(obj, old, found)
    _check_daemon_spec(_spec(obj), found)


def _check_daemon_spec(spec: Obj, found: Found) -> None:
    selector, template = spec.get("selector"), spec.get("template") or {}
    check_selector(selector, "spec.selector", found)
    if selects(selector, (template.get("metadata") or {}).get("labels")) is False:
        _no_match(template, found)
    if selector is not None and not any(
        selector.get(name) for name in ("matchLabels", "matchExpressions")
    ):
        text = "empty selector is invalid for daemonset"
        found.append(invalid("spec.selector", shown_selector(selector), text))
    check_template(template, "spec.template", found)
    _check_always(template, "DaemonSet", found)
    not_negative(found, spec, "spec", "minReadySeconds")
    _check_daemon_strategy(spec.get("updateStrategy") or {}, found)
    not_negative(found, spec, "spec", "revisionHistoryLimit")


def _check_daemon_strategy(strategy: Obj, found: Found) -> None:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    path = "spec.updateStrategy.rollingUpdate"
    if kind == "OnDelete":
        return
    if kind != "RollingUpdate":
        known = ("RollingUpdate", "OnDelete")
        value = _shown_strategy(kind, rolling)
        found.append(not_supported("spec.updateStrategy", value, known))
        return
    if rolling is None:
        found.append(required(path))
        return
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    for check in (check_int_or_percent, check_not_above_100):
        check(unavailable, f"{path}.maxUnavailable", found)
        check(surge, f"{path}.maxSurge", found)
    if number_of(unavailable) and number_of(surge):
        text = "may not be set when maxUnavailable is non-zero"
        found.append(invalid(f"{path}.maxSurge", surge, text))
    elif not number_of(unavailable) and not number_of(surge):
        found.append(required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))


def check_pod_template(obj: Obj, found: Found) -> None:
    """Check a new PodTemplate."""
    check_meta(obj, names.subdomain, found)
    check_template(obj.get("template") or {}, "template", found)


def check_pod_template_update(obj: Obj, old: Obj, found: Found) -> None:
    """Check a change of a PodTemplate."""
    check_meta_update(obj, old, found)
    check_template(obj.get("template") or {}, "template", found)


def check_revision(obj: Obj, found: Found) -> None:
    """Check a new ControllerRevision."""
    check_meta(obj, names.subdomain, found)
    _check_revision_number(obj, found)
    if obj.get("data") is None:
        found.append(required("data", "data is mandatory"))
    elif not isinstance(obj["data"], dict):
        found.append(required("data", "data must be a valid JSON object"))


def check_revision_update(obj: Obj, old: Obj, found: Found) -> None:
    """Check a change of a ControllerRevision."""
    check_meta_update(obj, old, found)
    check_meta(obj, names.subdomain, found)
    _check_revision_number(obj, found)
    check_same(obj, old, "data", "data", found)


def _check_revision_number(obj: Obj, found: Found) -> None:
    if obj.get("revision", 0) < 0:
        found.append(invalid("revision", obj["revision"], NOT_NEGATIVE))
