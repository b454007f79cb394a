"""Checks of Jobs and CronJobs."""

# parity v1.36.4: batch/validation/validation.go
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.status_errors import INVALID, Cause
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import (
    IMMUTABLE,
    ErrorList,
    duplicate,
    in_order,
    invalid,
    not_negative,
    not_supported,
    one_of,
    required,
    shown_selector,
    texts,
    too_long,
    too_many,
)
from mooring.embedded.validation.object_meta import (
    check_meta,
    check_meta_update,
    check_selector,
    selects,
)
from mooring.embedded.validation.pod.pod import check_template
from mooring.embedded.validation.semantic_equality import check_same, same
from mooring.embedded.validation.workloads.cron_schedules import schedule_problem

_COUNTS: Final = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
    "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes",
)  # fmt: skip
_MODES: Final = ("NonIndexed", "Indexed")
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_UNINDEXED: Final = "requires indexed completion mode"
_MANY: Final = 100_000
_UID, _NAME = "controller-uid", "job-name"
# The labels of old, and those since v1.27.
_OLD_PREFIX, _PREFIX = "", "batch.kubernetes.io/"


def _spec(obj: Obj) -> Obj:
    spec: Obj = obj.get("spec") or {}
    return spec


def check_job(obj: Obj, errors: ErrorList) -> None:
    """Check a new Job."""
    _check_whole(obj, (_OLD_PREFIX, _PREFIX), errors)


def _check_whole(obj: Obj, prefixes: tuple[str, ...], errors: ErrorList) -> None:
    check_meta(obj, names.subdomain, errors)
    spec = _spec(obj)
    _check_generated(obj, spec, prefixes, errors)
    _check_with_selector(spec, errors)
    completions = spec.get("completions")
    if spec.get("completionMode") == "Indexed" and completions and completions > 0:
        name = (obj.get("metadata") or {}).get("name", "")
        host = f"{name}-{completions - 1}"
        if names.dns_label(host):
            text = f"will not able to create pod with invalid DNS label: {host}"
            errors.append(invalid("metadata.name", name, text))


def check_job_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a Job."""
    spec, before = _spec(obj), _spec(old)
    had = ((before.get("template") or {}).get("metadata") or {}).get("labels") or {}
    prefixed = f"{_PREFIX}{_UID}" in had and f"{_PREFIX}{_NAME}" in had
    _check_whole(obj, (_OLD_PREFIX, _PREFIX) if prefixed else (_OLD_PREFIX,), errors)
    check_meta_update(obj, old, errors)
    _check_with_selector(spec, errors)
    _check_completions(spec, before, errors)
    if not same(spec.get("selector"), before.get("selector"), "selector"):
        selector = shown_selector(spec.get("selector"))
        errors.append(invalid("spec.selector", selector, IMMUTABLE))
    _check_template_kept(spec, old, errors)
    for name in (
        "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy",
    ):  # fmt: skip
        check_same(spec, before, name, f"spec.{name}", errors)


def _check_completions(spec: Obj, before: Obj, errors: ErrorList) -> None:
    now = spec.get("completions")
    if spec.get("completionMode") != "Indexed":
        check_same(spec, before, "completions", "spec.completions", errors)
    elif now is not None and now != before.get("completions") and now != spec.get("parallelism"):
        text = "can only be modified in tandem with spec.parallelism"
        errors.append(invalid("spec.completions", now, text))


def _check_template_kept(spec: Obj, old: Obj, errors: ErrorList) -> None:
    before, status = _spec(old), old.get("status") or {}
    template, was = spec.get("template") or {}, before.get("template") or {}
    suspended = any(
        one.get("type") == "Suspended" and one.get("status") == "True"
        for one in status.get("conditions") or ()
    )
    idle = not status.get("active") and (suspended or status.get("startTime") is None)
    if before.get("suspend") and idle:
        # A job that waits may still change where to run and how much to ask for.
        now, then = _fixed_part(template.get("spec") or {}), _fixed_part(was.get("spec") or {})
        if not same(now, then):
            errors.append(invalid("spec.template.spec", template.get("spec"), IMMUTABLE))
    elif not same(template, was):
        errors.append(invalid("spec.template", template, IMMUTABLE))


def _fixed_part(spec: Obj) -> Obj:
    free = ("nodeSelector", "tolerations", "schedulingGates", "affinity")
    out = {name: value for name, value in spec.items() if name not in free}
    affinity = {
        name: value
        for name, value in (spec.get("affinity") or {}).items()
        if name != "nodeAffinity"
    }
    if affinity:
        out["affinity"] = affinity
    for kind in ("containers", "initContainers"):
        if spec.get(kind):
            out[kind] = [
                {name: value for name, value in one.items() if name != "resources"}
                for one in spec[kind]
            ]
    return out


def _check_generated(obj: Obj, spec: Obj, prefixes: tuple[str, ...], errors: ErrorList) -> None:
    """Check the labels and the selector that the API server makes for a job."""
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    meta = obj.get("metadata") or {}
    uid, name = meta.get("uid", ""), meta.get("name", "")
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    expected: dict[str, str] = {}
    for prefix in prefixes:
        expected |= {f"{prefix}{_UID}": uid, f"{prefix}{_NAME}": name}
    for key, value in expected.items():
        field = f"spec.template.metadata.labels[{key}]"
        if key not in labels:
            errors.append(required(field, f"must be '{value}'"))
        elif labels[key] != value:
            errors.append(invalid(field, in_order(labels), f"must be '{value}'"))
    if selects(spec["selector"], expected) is False:
        selector = shown_selector(spec["selector"])
        errors.append(invalid("spec.selector", selector, "`selector` not auto-generated"))


def _check_with_selector(spec: Obj, errors: ErrorList) -> None:
    _check_job_spec(spec, "spec", errors)
    selector, template = spec.get("selector"), spec.get("template") or {}
    if selector is None:
        errors.append(required("spec.selector"))
    else:
        check_selector(selector, "spec.selector", errors)
    labels = (template.get("metadata") or {}).get("labels")
    if selects(selector, labels) is False:
        text = "`selector` does not match template `labels`"
        errors.append(invalid("spec.template.metadata.labels", in_order(labels), text))


def _check_job_spec(spec: Obj, path: str, errors: ErrorList) -> None:
    not_negative(errors, spec, path, *_COUNTS)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        text = "when maxFailedIndexes is specified"
        errors.append(required(f"{path}.backoffLimitPerIndex", text))
    manager = spec.get("managedBy")
    if manager is not None:
        _check_manager(manager, f"{path}.managedBy", errors)
    _check_mode(spec, path, errors)
    failure = spec.get("podFailurePolicy")
    if failure is not None:
        _check_failure_policy(spec, failure, f"{path}.podFailurePolicy", errors)
    replacement = spec.get("podReplacementPolicy")
    known = ("Failed",) if failure is not None else ("Failed", "TerminatingOrFailed")
    if replacement is not None and replacement not in known:
        errors.append(not_supported(f"{path}.podReplacementPolicy", replacement, known))
    template = spec.get("template") or {}
    check_template(template, f"{path}.template", errors)
    policy = (template.get("spec") or {}).get("restartPolicy", "")
    field = f"{path}.template.spec.restartPolicy"
    if policy in ("Always", ""):
        errors.append(required(field, 'valid values: "OnFailure", "Never"'))
    elif policy not in ("OnFailure", "Never"):
        errors.append(not_supported(field, policy, ("OnFailure", "Never")))
    elif failure is not None and policy != "Never":
        text = 'only "Never" is supported when podFailurePolicy is specified'
        errors.append(invalid(field, policy, text))


def _check_manager(manager: str, path: str, errors: ErrorList) -> None:
    host, slash, rest = manager.partition("/")
    if not manager:
        errors.append(required(path))
    elif not slash or not host or not rest:
        text = 'must be a domain-prefixed path (such as "acme.io/foo")'
        errors.append(invalid(path, manager, text))
    else:
        texts(errors, path, host, names.subdomain(host))
        texts(errors, path, rest, names.http_path(rest))
    if len(manager.encode()) > 63:
        errors.append(too_long(path, 63))


def _check_mode(spec: Obj, path: str, errors: ErrorList) -> None:
    mode, completions = spec.get("completionMode"), spec.get("completions")
    parallelism, failed = spec.get("parallelism"), spec.get("maxFailedIndexes")
    if mode is not None and mode not in _MODES:
        errors.append(not_supported(f"{path}.completionMode", mode, _MODES))
    if mode == "Indexed":
        if completions is None:
            text = "when completion mode is Indexed"
            errors.append(required(f"{path}.completions", text))
        if parallelism is not None and parallelism > _MANY:
            text = f"must be less than or equal to {_MANY} when completion mode is Indexed"
            errors.append(invalid(f"{path}.parallelism", parallelism, text))
        if failed is not None and completions is not None and failed > completions:
            text = "must be less than or equal to completions"
            errors.append(invalid(f"{path}.maxFailedIndexes", failed, text))
        if failed is not None and failed > _MANY:
            text = f"must be less than or equal to {_MANY}"
            errors.append(invalid(f"{path}.maxFailedIndexes", failed, text))
    elif mode in (None, "NonIndexed"):
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(name) is not None:
                errors.append(invalid(f"{path}.{name}", spec[name], _UNINDEXED))


def _check_failure_policy(spec: Obj, policy: Obj, path: str, errors: ErrorList) -> None:
    rules = policy.get("rules") or ()
    if len(rules) > 20:
        errors.append(too_many(f"{path}.rules", len(rules), 20))
    for number, rule in enumerate(rules):
        _check_failure_rule(spec, rule, f"{path}.rules[{number}]", errors)


def _check_failure_rule(spec: Obj, rule: Obj, path: str, errors: ErrorList) -> None:
    action = rule.get("action", "")
    if not action:
        supported = " ".join(f'"{one}"' for one in _ACTIONS)
        errors.append(required(f"{path}.action", f"valid values: [{supported}]"))
    elif action == "FailIndex":
        if spec.get("backoffLimitPerIndex") is None:
            text = "requires the backoffLimitPerIndex to be set"
            errors.append(invalid(f"{path}.action", action, text))
    elif action not in _ACTIONS:
        errors.append(not_supported(f"{path}.action", action, _ACTIONS))
    codes = rule.get("onExitCodes")
    conditions = rule.get("onPodConditions") or ()
    if codes is not None:
        _check_exit_codes(codes, spec, f"{path}.onExitCodes", errors)
    for number, one in enumerate(conditions):
        _check_pattern(one, f"{path}.onPodConditions[{number}]", errors)
    if codes is not None and conditions:
        text = "specifying both OnExitCodes and OnPodConditions is not supported"
        errors.append(Cause(path, INVALID, f"Invalid value: {text}"))
    elif codes is None and not conditions:
        text = "specifying one of OnExitCodes and OnPodConditions is required"
        errors.append(Cause(path, INVALID, f"Invalid value: {text}"))


def _check_pattern(one: Obj, path: str, errors: ErrorList) -> None:
    kind, status = one.get("type", ""), one.get("status", "")
    texts(errors, f"{path}.type", kind, names.label_key(kind))
    if not status:
        errors.append(required(f"{path}.status", 'valid values: ["False" "True" "Unknown"]'))
    elif status not in ("False", "True", "Unknown"):
        errors.append(not_supported(f"{path}.status", status, ("False", "True", "Unknown")))


def _check_exit_codes(codes: Obj, spec: Obj, path: str, errors: ErrorList) -> None:
    operator, values = codes.get("operator", ""), codes.get("values") or []
    if not operator:
        errors.append(required(f"{path}.operator", 'valid values: ["In" "NotIn"]'))
    elif operator not in ("In", "NotIn"):
        errors.append(not_supported(f"{path}.operator", operator, ("In", "NotIn")))
    pod = (spec.get("template") or {}).get("spec") or {}
    containers = (*(pod.get("containers") or ()), *(pod.get("initContainers") or ()))
    name = codes.get("containerName")
    if name is not None and name not in [one.get("name") for one in containers]:
        text = "must be one of the container or initContainer names in the pod template"
        errors.append(invalid(f"{path}.containerName", name, text))
    if not values:
        errors.append(invalid(f"{path}.values", None, "at least one value is required"))
    for number, value in enumerate(values):
        if operator == "In" and value == 0:
            text = "must not be 0 for the In operator"
            errors.append(invalid(f"{path}.values[{number}]", value, text))
        if value in values[:number]:
            errors.append(duplicate(f"{path}.values[{number}]", value))
    if values != sorted(values):
        errors.append(invalid(f"{path}.values", values, "must be ordered"))


def check_job_status(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of the status of a Job."""
    check_meta_update(obj, old, errors)
    status, before = obj.get("status") or {}, old.get("status") or {}
    not_negative(errors, status, "status", "active", "succeeded", "failed", "ready", "terminating")
    ready = status.get("ready")
    if ready is not None and ready > status.get("active", 0):
        text = "cannot set more ready pods than active"
        errors.append(invalid("status.ready", ready, text))
    for name in ("failed", "succeeded"):
        if status.get(name, 0) < before.get(name, 0):
            text = f"cannot decrease the {name} counter"
            errors.append(invalid(f"status.{name}", status.get(name, 0), text))


def check_cron_job(obj: Obj, errors: ErrorList) -> None:
    """Check a new CronJob."""
    check_meta(obj, names.subdomain, errors)
    _check_cron_spec(_spec(obj), errors)
    name = (obj.get("metadata") or {}).get("name", "")
    if len(name) > 52:
        errors.append(invalid("metadata.name", name, "must be no more than 52 characters"))


def check_cron_job_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a CronJob."""
    check_meta_update(obj, old, errors)
    _check_cron_spec(_spec(obj), errors)


def _check_cron_spec(spec: Obj, errors: ErrorList) -> None:
    schedule = spec.get("schedule", "")
    if not schedule:
        errors.append(required("spec.schedule"))
    elif "TZ" in schedule:
        text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        errors.append(invalid("spec.schedule", schedule, text))
    elif problem := schedule_problem(schedule):
        errors.append(invalid("spec.schedule", schedule, problem))
    not_negative(errors, spec, "spec", "startingDeadlineSeconds")
    policy = spec.get("concurrencyPolicy", "")
    one_of(errors, "spec.concurrencyPolicy", policy, ("Allow", "Forbid", "Replace"))
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    _check_job_spec(job, "spec.jobTemplate.spec", errors)
    if job.get("selector") is not None:
        selector = shown_selector(job["selector"])
        text = "`selector` will be auto-generated"
        errors.append(invalid("spec.jobTemplate.spec.selector", selector, text))
    if job.get("manualSelector"):
        field = "spec.jobTemplate.spec.manualSelector"
        errors.append(not_supported(field, True, ("nil", "false")))
    limits = ("successfulJobsHistoryLimit", "failedJobsHistoryLimit")
    not_negative(errors, spec, "spec", *limits)
