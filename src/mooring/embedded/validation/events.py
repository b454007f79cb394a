"""Checks of events: one kind of object, two APIs, with different rules.

In the API ``events.k8s.io/v1`` an event must be complete; the core API takes what old clients send.
An event may be in the form of either API; the rules speak of the core form.
"""

# parity v1.36.4: core/validation/events.go
from typing import Final

from mooring.embedded.event_forms import to_core
from mooring.embedded.resources import EVENTS, Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.causes import IMMUTABLE, Found, invalid, required, texts
from mooring.embedded.validation.changes import same
from mooring.embedded.validation.meta import check_meta, check_meta_update

_LONGEST: Final = 128
_LONGEST_NOTE: Final = 1024
_CORE: Final = "reportingComponent"
_NEW: Final = "reportingController"
_FIXED: Final = (
    "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count",
    "reason", "type", "eventTime", "action", "related", "reportingComponent", "reportingInstance",
)  # fmt: skip


def check_core_event(obj: Obj, found: Found) -> None:
    """Check a new event of the core API; its metadata have no rules of their own."""
    _check_both(obj, _CORE, found)


def check_core_event_update(obj: Obj, old: Obj, found: Found) -> None:
    """Check a change of an event of the core API."""
    del old
    _check_both(obj, _CORE, found)


def check_event(obj: Obj, found: Found) -> None:
    """Check a new event of events.k8s.io."""
    obj = _core_form(obj)
    _check_both(obj, _NEW, found)
    check_meta(obj, names.subdomain, found)
    _check_series(obj.get("series"), found)
    if not obj.get("eventTime"):
        found.append(required("eventTime"))
    if obj.get("type") not in ("Normal", "Warning"):
        found.append(invalid("type", "", f"has invalid value: {obj.get('type', '')}"))
    for name in ("firstTimestamp", "lastTimestamp", "count"):
        if obj.get(name):
            found.append(invalid(name, "", "needs to be unset"))
    source = obj.get("source") or {}
    if source.get("component") or source.get("host"):
        found.append(invalid("source", "", "needs to be unset"))


def check_event_update(obj: Obj, old: Obj, found: Found) -> None:
    """Check a change of an event of events.k8s.io: only its series goes on."""
    obj, old = _core_form(obj), _core_form(old)
    _check_both(obj, _NEW, found)
    check_meta_update(obj, old, found)
    if not same(obj.get("series"), old.get("series")):
        _check_series(obj.get("series"), found)
    for name in _FIXED:
        if not same(obj.get(name), old.get(name), name):
            told = _NEW if name == _CORE else name
            found.append(invalid(told, obj.get(name, ""), IMMUTABLE))


def _core_form(obj: Obj) -> Obj:
    return to_core(obj) if obj.get("apiVersion") == EVENTS.api_version else obj


def _check_series(series: Obj | None, found: Found) -> None:
    if series is None:
        return
    if series.get("count", 0) < 2:
        found.append(invalid("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        found.append(required("series.lastObservedTime"))


def _check_both(obj: Obj, controller: str, found: Found) -> None:
    """The rules of both APIs; `controller` is how this one calls who reports."""
    namespace = (obj.get("metadata") or {}).get("namespace", "")
    subject = (obj.get("involvedObject") or {}).get("namespace", "")
    text = "does not match event.namespace"
    if not obj.get("eventTime"):
        wanted = ("", "default") if not subject else (subject,)
        if namespace not in wanted:
            found.append(invalid("involvedObject.namespace", subject, text))
    else:
        if not subject and namespace not in ("default", "kube-system"):
            found.append(invalid("involvedObject.namespace", subject, text))
        _check_complete(obj, controller, found)
    texts(found, "namespace", namespace, names.subdomain(namespace))


def _check_complete(obj: Obj, controller: str, found: Found) -> None:
    reporter = obj.get(_CORE, "")
    if not reporter:
        found.append(required(controller))
    texts(found, controller, reporter, names.label_key(reporter))
    for name in ("reportingInstance", "action", "reason"):
        value = obj.get(name, "")
        if not value:
            found.append(required(name))
        if len(value.encode()) > _LONGEST:
            found.append(invalid(name, "", f"can have at most {_LONGEST} characters"))
    if len(obj.get("message", "").encode()) > _LONGEST_NOTE:
        found.append(invalid("message", "", f"can have at most {_LONGEST_NOTE} characters"))
