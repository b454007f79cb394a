"""Age, attempts and the last event of a pod."""

from mooring.cli.explain.pod_history import EventSeries, PodEvent, history_of
from mooring.model.pod import Pod

CREATED = "2026-11-18T00:00:00Z"
NOW = 1_794_970_800.0  # 2026-11-18T03:00:00Z


def pod(**status: object) -> Pod:
    meta = {"name": "web", "namespace": "shop", "uid": "u", "creationTimestamp": CREATED}
    return Pod.from_dict({"metadata": meta, "status": status})


def failed(text: str, last: str, number: int = 1) -> PodEvent:
    series = EventSeries(count=number, last_observed_time=last) if number > 1 else None
    return PodEvent(reason="FailedScheduling", message=text, event_time=last, series=series)


def test_attempts_and_the_last_event() -> None:
    events = [
        failed("0/4 nodes are available: 4 Insufficient cpu.", "2026-11-18T02:59:28.000001Z", 13),
        failed("no nodes available", "2026-11-18T00:00:01.000000Z"),
    ]
    found = history_of(pod(), events, NOW)
    assert found.age == "3h"
    [line] = found.lines()
    assert line == (
        "14 failed attempts to schedule it; last event 31s ago: FailedScheduling: 0/4 nodes are "
        "available: 4 Insufficient cpu."
    )
    assert not found.silent


def test_a_long_message_is_cut_unless_there_is_room() -> None:
    found = history_of(pod(), [failed("x" * 400, CREATED)], NOW)
    [line] = found.lines()
    assert len(line) < 250
    assert line.endswith("…")
    assert "x" * 400 in found.lines(wide=True)[0]


def test_old_events_have_counts_and_timestamps() -> None:
    event = PodEvent(
        reason="FailedScheduling", message="m", count=7, last_timestamp="2026-11-18T02:59:00Z"
    )
    assert history_of(pod(), [event], NOW).lines() == [
        "7 failed attempts to schedule it; last event 60s ago: FailedScheduling: m"
    ]


def test_no_scheduler_has_said_anything() -> None:
    assert history_of(pod(), [], NOW).silent
    assert not history_of(pod(), None, NOW).silent
    condition = {"type": "PodScheduled", "status": "False"}
    assert not history_of(pod(conditions=[condition]), [], NOW).silent
    assert not history_of(pod(), [], NOW - 3 * 3600 + 5).silent
    assert history_of(pod(), [], NOW).lines() == []


def test_whether_the_last_word_was_that_no_node_was_found() -> None:
    refusal = failed("no nodes available", "2026-11-18T00:00:01.000000Z")
    later = PodEvent(reason="Scheduled", event_time="2026-11-18T00:00:02.000000Z")
    assert history_of(pod(), [refusal], NOW).rejected
    assert not history_of(pod(), [refusal, later], NOW).rejected
    assert not history_of(pod(), [], NOW).rejected
