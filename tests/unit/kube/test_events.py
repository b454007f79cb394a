import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from mooring.errors import ApiError, KubeError
from mooring.kube.event_body import (
    EventKey,
    ObjectReference,
    Reporter,
    cut_note,
    event_name,
    reference,
    reporter_here,
)
from mooring.kube.event_cache import FINISH_NS, EventCache
from mooring.kube.events import EventLimits, EventRecorder
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage import StorageClass
from tests.unit.kube.virtual_time import VirtualTime

POD = Pod.from_dict(
    {"metadata": {"name": "web-0", "namespace": "shop", "uid": "u-1", "resourceVersion": "42"}}
)
WEB = reference(POD)
EVENTS = "/apis/events.k8s.io/v1/namespaces/shop/events"


@dataclass
class EventServer:
    """Keeps events, and answers the next requests as told.

    Attributes:
        answers: for each of the next requests an error, None to do as asked, or ``unheard`` to do
            it and break the connection.
        gate: requests wait for it.
        busy: how many wait now; most: how many ever did at once.
    """

    events: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    answers: list[KubeError | str | None] = field(default_factory=list)
    always: KubeError | None = None
    gate: asyncio.Event | None = None
    busy: int = 0
    most: int = 0

    async def request(
        self, method: str, path: str, *, body: object = None, content_type: str = "application/json"
    ) -> bytes:
        assert isinstance(body, bytes)
        content = msgspec.json.decode(body)
        self.requests.append((method, path, content))
        self.busy += 1
        self.most = max(self.most, self.busy)
        try:
            if self.gate is not None:
                await self.gate.wait()
            return self._answer(method, path, content, content_type)
        finally:
            self.busy -= 1

    def _answer(self, method: str, path: str, content: dict[str, Any], content_type: str) -> bytes:
        answer = self.answers.pop(0) if self.answers else self.always
        if isinstance(answer, KubeError):
            raise answer
        if method == "POST":
            assert content_type == "application/json"
            name = f"{path}/{content['metadata']['name']}"
            if name in self.events:
                raise ApiError("exists", status=409, reason="AlreadyExists")
            self.events[name] = content
        else:
            assert content_type == "application/strategic-merge-patch+json"
            if path not in self.events:
                raise ApiError("not found", status=404, reason="NotFound")
            self.events[path] |= content
        if answer == "unheard":
            raise KubeError("The connection broke.")
        return b"{}"

    @property
    def methods(self) -> list[str]:
        return [method for method, _, _ in self.requests]


@dataclass
class Desk:
    """A recorder at work."""

    server: EventServer
    time: VirtualTime
    recorder: EventRecorder

    def fail(self, note: str = "0/3 nodes are available.", about: ObjectReference = WEB) -> None:
        self.recorder.record(about, None, "Warning", "FailedScheduling", "Scheduling", note)

    @property
    def event(self) -> dict[str, Any]:
        (one,) = self.server.events.values()
        return one


def run(story: Callable[[Desk], Coroutine[Any, Any, None]], **limits: int) -> None:
    async def main() -> None:
        server, time = EventServer(), VirtualTime(now=1_700_000_000.25)
        recorder = EventRecorder(
            server,
            "my-scheduler",
            "my-scheduler-host",
            limits=EventLimits(**limits),
            pacing=time.pacing(),
            now_ns=time.now_ns,
        )
        async with recorder:
            await story(Desk(server, time, recorder))

    asyncio.run(main())


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


def test_failures_that_may_pass_are_tried_again() -> None:
    async def story(desk: Desk) -> None:
        desk.server.answers = [
            KubeError("cannot be reached"),
            ApiError("busy", status=503),
            ApiError("too many", status=429),
        ]
        desk.fail()
        await desk.time.pass_by(0.4)
        assert desk.server.methods == ["POST"]
        await desk.time.pass_by(3.2)
        assert desk.server.methods == ["POST"] * 4
        assert len(desk.server.events) == 1
        counters = desk.recorder.counters
        assert (counters.created, counters.retried, counters.failed) == (1, 3, 0)

    run(story)


def test_an_event_whose_answer_was_lost_is_not_doubled() -> None:
    async def story(desk: Desk) -> None:
        desk.server.answers = ["unheard"]
        desk.fail()
        await desk.time.settle()
        desk.fail()
        await desk.time.pass_by(5)
        assert desk.server.methods == ["POST", "POST", "PATCH"]
        assert desk.event["series"]["count"] == 2

    run(story)


def test_after_twelve_tries_an_event_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    async def story(desk: Desk) -> None:
        desk.server.always = KubeError("The API server cannot be reached.")
        desk.fail()
        await desk.time.pass_by(200)
        assert desk.server.methods == ["POST"] * 12
        assert desk.recorder.counters.failed == 1
        assert "An event was given up: The API server cannot be reached." in caplog.text
        desk.server.always = None
        desk.fail()
        await desk.time.settle()
        assert "series" not in desk.event

    run(story)


@pytest.mark.parametrize(("status", "reason"), [(403, "Forbidden"), (404, "NotFound"), (422, "")])
def test_a_rejection_is_final_and_told_once(
    status: int, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(desk: Desk) -> None:
        desk.server.always = ApiError("namespace is gone", status=status, reason=reason)
        for number in range(50):
            desk.fail(about=msgspec.structs.replace(WEB, uid=str(number)))
        assert await desk.recorder.flush(1)
        assert desk.server.methods == ["POST"] * 50
        assert desk.recorder.counters.failed == 50
        assert caplog.text.count("namespace is gone") == 1
        desk.server.always = None
        desk.fail(about=msgspec.structs.replace(WEB, uid="1"))
        await desk.time.settle()
        assert "series" not in desk.event

    run(story)


def test_a_rejected_count_is_left_out_and_the_event_stays() -> None:
    async def story(desk: Desk) -> None:
        desk.fail()
        await desk.time.settle()
        desk.server.answers = [ApiError("invalid", status=422, reason="Invalid")]
        desk.fail()
        await desk.time.settle()
        assert desk.server.methods == ["POST", "PATCH"]
        assert desk.recorder.counters.failed == 1
        desk.fail()
        await desk.time.settle()
        assert desk.server.methods == ["POST", "PATCH", "PATCH"]
        assert desk.event["series"]["count"] == 3

    run(story)


def test_something_unexpected_does_not_end_a_worker(caplog: pytest.LogCaptureFixture) -> None:
    async def story(desk: Desk) -> None:
        desk.recorder.record(
            msgspec.structs.replace(WEB, kind=object()),
            None,
            "Normal",
            "R",
            "A",
            "n",
        )
        desk.fail()
        assert await desk.recorder.flush(1)
        assert desk.recorder.counters.created == 1
        assert desk.recorder.counters.failed == 1
        assert "could not be written" in caplog.text

    run(story, workers=1)


def test_the_queue_and_the_workers_have_a_limit() -> None:
    async def story(desk: Desk) -> None:
        desk.server.gate = asyncio.Event()
        for number in range(3):
            desk.fail(about=msgspec.structs.replace(WEB, uid=str(number)))
        await desk.time.settle()
        assert desk.server.busy == 3
        for number in range(3, 20):
            desk.fail(about=msgspec.structs.replace(WEB, uid=str(number)))
        await desk.time.settle()
        assert desk.recorder.counters.dropped == 7
        desk.server.gate.set()
        assert await desk.recorder.flush(1)
        assert len(desk.server.events) == 13
        assert desk.server.most == 3
        # one that was left out is new when it happens again
        desk.fail(about=msgspec.structs.replace(WEB, uid="19"))
        assert await desk.recorder.flush(1)
        assert desk.recorder.counters.created == 14

    run(story, queued=10, workers=3)


def test_what_is_recorded_before_the_start_waits() -> None:
    async def main() -> None:
        server = EventServer()
        recorder = EventRecorder(server, "c", "i")
        recorder.record(WEB, None, "Normal", "R", "A", "n")
        assert server.requests == []
        async with recorder:
            assert await recorder.flush(1)
        assert server.methods == ["POST"]

    asyncio.run(main())


def test_names_differ_although_the_clock_stands_still() -> None:
    async def story(desk: Desk) -> None:
        for number in range(5):
            desk.fail(about=msgspec.structs.replace(WEB, uid=str(number)))
        assert await desk.recorder.flush(1)
        assert len(desk.server.events) == 5

    run(story)


def test_memory_is_bounded_for_each_type_and_forgetting_writes_the_count() -> None:
    def about(number: int) -> EventKey:
        regarding = msgspec.structs.replace(WEB, uid=str(number))
        return EventKey(regarding, None, "Normal", "R", "A", Reporter("c", "i"))

    cached = EventCache(limit=3)
    warning = EventKey(WEB, None, "Warning", "R", "A", Reporter("c", "i"))
    rare = cached.observe(warning, "n", 1)
    rare.written = 1
    finished: list[str] = []
    for now in range(2, 100):
        for event in cached.finished(now):
            finished.append(event.key.regarding.uid)
            assert (event.count, event.written) == (2, 1)
        observed = cached.observe(about(now), "n", now)
        observed.written = 1
        if now == 50:
            assert cached.observe(about(now), "n", now) is observed
            assert observed.pending
    assert finished == ["50"]
    assert len(cached) == 4 + 1
    assert cached.observe(warning, "n", 100) is rare
    assert list(cached.series()) == [rare]
    assert [one.count for one in cached.finished(100 + FINISH_NS)] == [2]
    assert len(cached) == 0


def test_events_about_what_is_gone_are_forgotten_and_their_counts_written() -> None:
    async def story(desk: Desk) -> None:
        other = reference(Pod.from_dict({"metadata": {"name": "web-1", "uid": "u-2"}}))
        for about in (WEB, other):
            for _ in range(4):
                desk.fail(about=about)
        assert await desk.recorder.flush(1)
        desk.fail()
        desk.recorder.forget_gone(lambda one: one.uid == WEB.uid)
        assert await desk.recorder.flush(1)
        counts = {
            one["regarding"]["uid"]: one["series"]["count"] for one in desk.server.events.values()
        }
        assert counts == {"u-1": 5, "u-2": 4}
        for about in (WEB, other):
            desk.fail(about=about)
        assert await desk.recorder.flush(1)
        # Of the pod that is gone a new event is told; the other one's series goes on.
        assert len(desk.server.events) == 3

    run(story)


def test_an_event_that_waits_to_be_written_is_not_forgotten() -> None:
    async def story(desk: Desk) -> None:
        desk.fail()
        desk.recorder.forget_gone(lambda _: True)
        assert await desk.recorder.flush(1)
        assert len(desk.server.events) == 1

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
