"""Checks of events: one kind of object, two APIs, with different rules.

In the API ``events.k8s.io/v1`` an event must be complete; the core API takes what old clients send.
An event may be in the form of either API; the rules speak of the core form.
"""

# parity v1.36.4: core/validation/events.go
from typing import Final

from mooring.embedded.event_conversion import to_core_v1
from mooring.embedded.resources import EVENTS, Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import IMMUTABLE, ErrorList, invalid, required, texts
from mooring.embedded.validation.object_meta import check_meta, check_meta_update
from mooring.embedded.validation.semantic_equality import same

_LONGEST: Final = 128
_LONGEST_NOTE: Final = 1024
_CORE: Final = "reportingComponent"
_NEW: Final = "reportingController"
_FIXED: Final = (
    "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count",
    "reason", "type", "eventTime", "action", "related", "reportingComponent", "reportingInstance",
)  # fmt: skip


def check_core_event(obj: Obj, errors: ErrorList) -> None:
    """Check a new event of the core API; its metadata have no rules of their own."""
    _check_both(obj, _CORE, errors)


def check_core_event_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of an event of the core API."""
    del old
    _check_both(obj, _CORE, errors)


def check_event(obj: Obj, errors: ErrorList) -> None:
    """Check a new event of events.k8s.io."""
    obj = _core_form(obj)
    _check_both(obj, _NEW, errors)
    check_meta(obj, names.subdomain, errors)
    _check_series(obj.get("series"), errors)
    if not obj.get("eventTime"):
        errors.append(required("eventTime"))
    if obj.get("type") not in ("Normal", "Warning"):
        errors.append(invalid("type", "", f"has invalid value: {obj.get('type', '')}"))
    for name in ("firstTimestamp", "lastTimestamp", "count"):
        if obj.get(name):
            errors.append(invalid(name, "", "needs to be unset"))
    source = obj.get("source") or {}
    if source.get("component") or source.get("host"):
        errors.append(invalid("source", "", "needs to be unset"))


def check_event_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of an event of events.k8s.io: only its series goes on."""
    obj, old = _core_form(obj), _core_form(old)
    _check_both(obj, _NEW, errors)
    check_meta_update(obj, old, errors)
    if not same(obj.get("series"), old.get("series")):
        _check_series(obj.get("series"), errors)
    for name in _FIXED:
        if not same(obj.get(name), old.get(name), name):
            field = _NEW if name == _CORE else name
            errors.append(invalid(field, obj.get(name, ""), IMMUTABLE))


def _core_form(obj: Obj) -> Obj:
    return to_core_v1(obj) if obj.get("apiVersion") == EVENTS.api_version else obj


def _check_series(series: Obj | None, errors: ErrorList) -> None:
    if series is None:
        return
    if series.get("count", 0) < 2:
        errors.append(invalid("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        errors.append(required("series.lastObservedTime"))


def _check_both(obj: Obj, controller: str, errors: ErrorList) -> None:
    """The rules of both APIs; `controller` is how this one calls who reports."""
    namespace = (obj.get("metadata") or {}).get("namespace", "")
    subject = (obj.get("involvedObject") or {}).get("namespace", "")
    text = "does not match event.namespace"
    if not obj.get("eventTime"):
        wanted = ("", "default") if not subject else (subject,)
        if namespace not in wanted:
            errors.append(invalid("involvedObject.namespace", subject, text))
    else:
        if not subject and namespace not in ("default", "kube-system"):
            errors.append(invalid("involvedObject.namespace", subject, text))
        _check_complete(obj, controller, errors)
    texts(errors, "namespace", namespace, names.subdomain(namespace))


def _check_complete(obj: Obj, controller: str, errors: ErrorList) -> None:
    reporter = obj.get(_CORE, "")
    if not reporter:
        errors.append(required(controller))
    texts(errors, controller, reporter, names.label_key(reporter))
    for name in ("reportingInstance", "action", "reason"):
        value = obj.get(name, "")
        if not value:
            errors.append(required(name))
        if len(value.encode()) > _LONGEST:
            errors.append(invalid(name, "", f"can have at most {_LONGEST} characters"))
    if len(obj.get("message", "").encode()) > _LONGEST_NOTE:
        errors.append(invalid("message", "", f"can have at most {_LONGEST_NOTE} characters"))
