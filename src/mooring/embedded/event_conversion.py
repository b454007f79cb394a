"""The two versions of an event: core/v1, which is stored, and events.k8s.io/v1.

Owns the conversion both ways. Whoever answers a request for one version or the other calls it;
tables print the core version. Parts of the given event are shared with the result, not copied.
"""

from collections.abc import Mapping
from typing import Final

from mooring.embedded.resources import CORE_EVENTS, EVENTS, Obj

# parity v1.36.4: pkg/apis/events/v1/conversion.go
#: Names of the same field in core/v1 and in events.k8s.io/v1.
_PAIRS: Final = (
    ("metadata", "metadata"),
    ("involvedObject", "regarding"),
    ("reason", "reason"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("series", "series"),
    ("action", "action"),
    ("related", "related"),
    ("reportingComponent", "reportingController"),
    ("reportingInstance", "reportingInstance"),
)
_TO_NEW: Final = dict(_PAIRS)
_TO_CORE: Final = {new: core for core, new in _PAIRS}
# What the server writes even where nothing is there: null, and in the core version empty texts.
_TIMES: Final = ("firstTimestamp", "lastTimestamp", "eventTime")
_TEXTS: Final = ("reportingComponent", "reportingInstance")


def to_events_v1(core: Obj) -> Obj:
    """A core/v1 event as one of events.k8s.io/v1, as the server writes it."""
    event: Obj = {"apiVersion": EVENTS.api_version, "kind": EVENTS.kind}
    event |= {_TO_NEW[name]: value for name, value in core.items() if _said(_TO_NEW, name, value)}
    for name in _TIMES:
        event.setdefault(_TO_NEW[name], None)
    return _with_objects(event, "regarding", "deprecatedSource")


def to_core_v1(new: Obj) -> Obj:
    """An events.k8s.io/v1 event as one of core/v1, as the server writes it."""
    event: Obj = {"apiVersion": CORE_EVENTS.api_version, "kind": CORE_EVENTS.kind}
    event |= {_TO_CORE[name]: value for name, value in new.items() if _said(_TO_CORE, name, value)}
    for name in _TIMES:
        event.setdefault(name, None)
    for name in _TEXTS:
        event.setdefault(name, "")
    return _with_objects(event, "involvedObject", "source")


def _with_objects(event: Obj, *names: str) -> Obj:
    for name in ("metadata", *names):
        event.setdefault(name, {})
    return event


def _said(names: Mapping[str, str], name: str, value: object) -> bool:
    """Whether a value is worth writing: Go leaves out empty texts and zeros, not empty objects."""
    return name in names and value not in (None, "", 0)
