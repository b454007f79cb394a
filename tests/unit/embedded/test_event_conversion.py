"""One event in two forms."""

from mooring.embedded.event_conversion import to_core_v1, to_events_v1
from mooring.embedded.resources import Obj

META = {"name": "web.1", "namespace": "shop"}
POD = {"kind": "Pod", "name": "web", "namespace": "shop"}
TIME = "2026-01-31T12:00:00Z"
MICRO = "2026-01-31T12:00:00.000001Z"

OLD: Obj = {
    "apiVersion": "v1", "kind": "Event", "metadata": META, "involvedObject": POD,
    "reason": "Pulled", "message": "here it is", "source": {"component": "kubelet", "host": "n1"},
    "firstTimestamp": TIME, "lastTimestamp": TIME, "count": 3, "type": "Normal",
    "eventTime": None, "reportingComponent": "", "reportingInstance": "",
}  # fmt: skip
OLD_AS_NEW: Obj = {
    "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": META, "regarding": POD,
    "reason": "Pulled", "note": "here it is",
    "deprecatedSource": {"component": "kubelet", "host": "n1"}, "deprecatedFirstTimestamp": TIME,
    "deprecatedLastTimestamp": TIME, "deprecatedCount": 3, "type": "Normal", "eventTime": None,
}  # fmt: skip
NEW: Obj = {
    "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": META, "regarding": POD,
    "related": {"kind": "Node", "name": "n1"}, "reason": "Scheduled", "note": "on n1",
    "action": "Binding", "type": "Normal", "eventTime": MICRO,
    "series": {"count": 2, "lastObservedTime": MICRO}, "reportingController": "mooring",
    "reportingInstance": "mooring-1", "deprecatedSource": {}, "deprecatedFirstTimestamp": None,
    "deprecatedLastTimestamp": None,
}  # fmt: skip
NEW_AS_OLD: Obj = {
    "apiVersion": "v1", "kind": "Event", "metadata": META, "involvedObject": POD,
    "related": {"kind": "Node", "name": "n1"}, "reason": "Scheduled", "message": "on n1",
    "action": "Binding", "type": "Normal", "eventTime": MICRO,
    "series": {"count": 2, "lastObservedTime": MICRO}, "reportingComponent": "mooring",
    "reportingInstance": "mooring-1", "source": {}, "firstTimestamp": None, "lastTimestamp": None,
}  # fmt: skip


def test_an_old_event_in_the_new_form_and_back() -> None:
    assert to_events_v1(OLD) == OLD_AS_NEW
    assert to_core_v1(OLD_AS_NEW) == OLD


def test_a_new_event_in_the_old_form_and_back() -> None:
    assert to_core_v1(NEW) == NEW_AS_OLD
    assert to_events_v1(NEW_AS_OLD) == NEW


def test_what_the_server_always_writes_is_there() -> None:
    assert to_core_v1({"metadata": META}) == {
        "apiVersion": "v1", "kind": "Event", "metadata": META, "involvedObject": {}, "source": {},
        "firstTimestamp": None, "lastTimestamp": None, "eventTime": None,
        "reportingComponent": "", "reportingInstance": "",
    }  # fmt: skip
    assert to_events_v1({"metadata": META}) == {
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": META, "regarding": {},
        "eventTime": None, "deprecatedSource": {}, "deprecatedFirstTimestamp": None,
        "deprecatedLastTimestamp": None,
    }  # fmt: skip


def test_the_given_event_stays_as_it_is() -> None:
    before = dict(OLD)
    to_events_v1(OLD)
    assert before == OLD
