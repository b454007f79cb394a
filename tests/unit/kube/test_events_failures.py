"""Events that cannot be written, and how much is kept of them meanwhile."""

import asyncio

import msgspec
import pytest

from mooring.errors import ApiError, KubeError
from mooring.kube.event_body import (
    EventKey,
    Reporter,
    reference,
)
from mooring.kube.event_cache import FINISH_NS, EventCache
from mooring.kube.event_queue import EventLimits
from mooring.kube.events import EventRecorder
from mooring.model.pod import Pod
from tests.unit.kube.event_server import WEB, Desk, EventServer, run


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


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_an_api_server_in_trouble_is_asked_again(status: int) -> None:
    async def story(desk: Desk) -> None:
        desk.server.answers = [ApiError("not now", status=status)]
        desk.fail()
        await desk.time.pass_by(1.0)
        assert desk.server.methods == ["POST"] * 2
        assert desk.recorder.counters.created == 1

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


def test_repeats_about_tens_of_thousands_of_pods_are_found() -> None:
    """Otherwise the API server would get an event for each of them with every change."""

    def about(number: int) -> EventKey:
        regarding = msgspec.structs.replace(WEB, uid=str(number))
        return EventKey(regarding, None, "Warning", "R", "A", Reporter("c", "i"))

    limits = EventLimits()
    cached = EventCache(limits.remembered, limits.warnings_remembered)
    for now in (1, 2, 3):
        for number in range(20_000):
            assert not list(cached.finished(now))
            event = cached.observe(about(number), "n", now)
            assert event.count == now
            event.written = min(now, 2)


def test_warnings_are_bounded_as_well() -> None:
    cached = EventCache(limit=3, warnings=5)
    for number in range(100):
        regarding = msgspec.structs.replace(WEB, uid=str(number))
        assert not list(cached.finished(number))
        event = EventKey(regarding, None, "Warning", "R", "A", Reporter("c", "i"))
        cached.observe(event, "n", number).written = 1
    assert len(cached) == 5 + 1


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
