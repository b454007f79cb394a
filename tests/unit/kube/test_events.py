import asyncio
from typing import Any

import msgspec
import pytest

from mooring.kube.event_body import (
    Reporter,
    cut_note,
    event_name,
    reference,
    reporter_here,
)
from mooring.model.node import Node
from mooring.model.storage import StorageClass
from tests.unit.kube.event_server import EVENTS, WEB, Desk, run


def test_an_event_has_the_fields_client_go_gives_it() -> None:
    async def story(desk: Desk) -> None:
        node = reference(Node.from_dict({"metadata": {"name": "n-1"}}))
        desk.recorder.record(WEB, node, "Normal", "Scheduled", "Binding", "assigned to n-1")
        assert await desk.recorder.flush(1)
        method, path, body = desk.server.requests[0]
        assert (method, path) == ("POST", EVENTS)
        assert body == {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "name": f"web-0.{1_700_000_000_250_000_000:x}",
                "namespace": "shop",
            },
            "eventTime": "2023-11-14T22:13:20.250000Z",
            "reportingController": "my-scheduler",
            "reportingInstance": "my-scheduler-host",
            "action": "Binding",
            "reason": "Scheduled",
            "regarding": {
                "kind": "Pod",
                "namespace": "shop",
                "name": "web-0",
                "uid": "u-1",
                "apiVersion": "v1",
                "resourceVersion": "42",
            },
            "related": {"kind": "Node", "name": "n-1", "apiVersion": "v1"},
            "note": "assigned to n-1",
            "type": "Normal",
        }
        assert desk.recorder.counters.created == 1

    run(story)


def test_the_reporter_and_the_namespace_of_one_event() -> None:
    async def story(desk: Desk) -> None:
        fast = StorageClass.from_dict({"metadata": {"name": "fast", "uid": "u-2"}})
        desk.recorder.record(
            reference(fast), None, "Normal", "R", "A", "n", reporter=Reporter("other", "other-h")
        )
        assert await desk.recorder.flush(1)
        event = desk.event
        assert event["metadata"]["namespace"] == "default"
        assert event["reportingController"] == "other"
        assert event["reportingInstance"] == "other-h"
        assert event["regarding"] == {
            "kind": "StorageClass",
            "name": "fast",
            "uid": "u-2",
            "apiVersion": "storage.k8s.io/v1",
        }

    run(story)


def test_repeats_are_a_series_that_is_written_at_the_second_and_at_the_end() -> None:
    async def story(desk: Desk) -> None:
        desk.fail()
        await desk.time.pass_by(10)
        assert desk.server.methods == ["POST"]
        desk.fail("another text does not count")
        await desk.time.pass_by(10)
        assert desk.server.methods == ["POST", "PATCH"]
        assert desk.server.requests[1] == (
            "PATCH",
            f"{EVENTS}/{desk.event['metadata']['name']}",
            {"series": {"count": 2, "lastObservedTime": "2023-11-14T22:13:30.250000Z"}},
        )
        assert desk.event["note"] == "0/3 nodes are available."
        for _ in range(5):
            desk.fail()
            await desk.time.pass_by(300)
        assert desk.server.methods == ["POST", "PATCH"]
        await desk.time.pass_by(120)
        assert desk.server.methods == ["POST", "PATCH", "PATCH"]
        assert desk.event["series"]["count"] == 7
        assert desk.event["series"]["lastObservedTime"] == "2023-11-14T22:33:40.250000Z"
        desk.fail()
        await desk.time.settle()
        assert desk.server.methods[3:] == ["POST"]
        assert len(desk.server.events) == 2
        assert desk.recorder.counters.recorded == 8

    run(story)


def test_a_single_event_is_forgotten_after_six_minutes() -> None:
    async def story(desk: Desk) -> None:
        desk.fail()
        await desk.time.pass_by(360)
        desk.fail()
        await desk.time.settle()
        assert desk.server.methods == ["POST", "POST"]

    run(story)


@pytest.mark.parametrize(
    "other",
    [
        {"regarding": msgspec.structs.replace(WEB, resource_version="43")},
        {"regarding": msgspec.structs.replace(WEB, uid="u-2")},
        {"related": WEB},
        {"type_": "Normal"},
        {"reason": "Other"},
        {"action": "Other"},
        {"reporter": Reporter("other", "my-scheduler-host")},
        {"reporter": Reporter("my-scheduler", "other")},
    ],
)
def test_what_differs_is_another_event(other: dict[str, Any]) -> None:
    async def story(desk: Desk) -> None:
        one: dict[str, Any] = {
            "regarding": WEB,
            "related": None,
            "type_": "Warning",
            "reason": "FailedScheduling",
            "action": "Scheduling",
            "note": "x",
        }
        desk.recorder.record(**one)
        desk.recorder.record(**(one | other))
        assert await desk.recorder.flush(1)
        assert desk.server.methods == ["POST", "POST"]
        assert len(desk.server.events) == 2

    run(story)


def test_a_repeat_before_the_event_is_written_goes_with_it() -> None:
    async def story(desk: Desk) -> None:
        desk.fail()
        desk.fail()
        desk.fail()
        assert await desk.recorder.flush(1)
        assert desk.server.methods == ["POST"]
        assert desk.event["series"]["count"] == 3

    run(story)


def test_a_repeat_while_the_event_is_being_written_comes_right_after() -> None:
    async def story(desk: Desk) -> None:
        desk.server.gate = asyncio.Event()
        desk.fail()
        await desk.time.settle()
        desk.fail()
        desk.fail()
        await desk.time.settle()
        assert desk.server.methods == ["POST"]
        desk.server.gate.set()
        await desk.time.settle()
        assert desk.server.methods == ["POST", "PATCH"]
        assert desk.event["series"]["count"] == 3

    run(story)


def test_series_that_go_on_are_written_every_half_hour() -> None:
    async def story(desk: Desk) -> None:
        for _ in range(8):
            desk.fail()
            await desk.time.pass_by(240)
        assert desk.server.methods == ["POST", "PATCH", "PATCH"]
        assert desk.event["series"]["count"] == 8

    run(story)


def test_a_series_whose_event_is_gone_is_created_anew() -> None:
    async def story(desk: Desk) -> None:
        desk.fail()
        await desk.time.settle()
        desk.server.events.clear()
        desk.fail()
        await desk.time.settle()
        assert desk.server.methods == ["POST", "PATCH", "POST"]
        assert desk.event["series"]["count"] == 2

    run(story)


def test_flush_writes_the_counts_of_series() -> None:
    async def story(desk: Desk) -> None:
        for _ in range(4):
            desk.fail()
            await desk.time.settle()
        assert desk.event["series"]["count"] == 2
        assert await desk.recorder.flush(1)
        assert desk.event["series"]["count"] == 4
        assert await desk.recorder.flush(1)
        assert desk.server.methods == ["POST", "PATCH", "PATCH"]

    run(story)


def test_flush_has_an_end() -> None:
    async def story(desk: Desk) -> None:
        desk.server.gate = asyncio.Event()
        desk.fail()
        assert not await desk.recorder.flush(0.01)

    run(story)


@pytest.mark.parametrize(
    ("note", "cut"),
    [
        ("x" * 1024, "x" * 1024),
        ("x" * 1025, "x" * 1020 + " ..."),
        ("é" * 512, "é" * 512),
        ("é" * 513, "é" * 510 + " ..."),
        ("€" * 400, "€" * 340 + " ..."),
        ("", ""),
    ],
)
def test_notes_are_cut_between_characters(note: str, cut: str) -> None:
    assert cut_note(note) == cut
    assert len(cut.encode()) <= 1024


def test_names_that_cannot_be_are_replaced() -> None:
    assert event_name("web-0", 255) == "web-0.ff"
    assert event_name("a.b-c.d", 1) == "a.b-c.d.1"
    for wrong in ("system:node", "Web", "a_b", "x" * 252, "-a", ""):
        assert len(event_name(wrong, 255)) == 36


def test_a_reporter_here_has_the_hosts_name() -> None:
    controller, instance = reporter_here("default-scheduler")
    assert controller == "default-scheduler"
    assert instance.startswith("default-scheduler-")
    assert len(reporter_here("x" * 200).instance) == 128


def test_events_are_held_back_while_something_else_is_more_important() -> None:
    async def story(desk: Desk) -> None:
        desk.recorder.hold_back(while_=True)
        for number in range(20):
            desk.fail(about=msgspec.structs.replace(WEB, uid=str(number)))
        await desk.time.settle()
        assert desk.server.requests == []
        desk.recorder.hold_back(while_=False)
        await desk.time.settle()
        assert len(desk.server.events) == 20
        assert desk.recorder.counters.written == 20

    run(story)


def test_events_that_were_held_back_for_long_are_written_by_a_few() -> None:
    async def story(desk: Desk) -> None:
        desk.recorder.hold_back(while_=True)
        desk.server.gate = asyncio.Event()
        for number in range(20):
            desk.fail(about=msgspec.structs.replace(WEB, uid=str(number)))
        await desk.time.pass_by(12)
        desk.recorder.hold_back(while_=True)
        await desk.time.settle()
        assert desk.server.busy == 2
        desk.server.gate.set()
        await desk.time.settle()
        assert desk.server.most == 2
        assert len(desk.server.events) == 20

    run(story)


def test_a_clock_that_is_set_back_holds_nothing_back_for_longer() -> None:
    async def story(desk: Desk) -> None:
        desk.recorder.hold_back(while_=True)
        desk.fail()
        desk.recorder._now_ns = lambda: 0
        await desk.time.pass_by(5)
        desk.recorder.hold_back(while_=True)
        await desk.time.settle()
        assert len(desk.server.events) == 1

    run(story)


def test_what_is_held_back_is_written_at_the_end_in_order_for_each_object() -> None:
    async def story(desk: Desk) -> None:
        desk.recorder.hold_back(while_=True)
        for reason in ("FailedScheduling", "Nominated", "Scheduled"):
            for number in range(3):
                about = msgspec.structs.replace(WEB, uid=str(number))
                desk.recorder.record(about, None, "Normal", reason, "A", "n")
        assert await desk.recorder.flush(1)
        for uid in ("0", "1", "2"):
            reasons = [
                body["reason"]
                for _, _, body in desk.server.requests
                if body["regarding"]["uid"] == uid
            ]
            assert reasons == ["FailedScheduling", "Nominated", "Scheduled"]

    run(story)
