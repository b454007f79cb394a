"""Events of a watch are whole, whatever happens to their order and number."""

import json

import pytest
from msgspec.structs import replace

from mooring.testing import Fault, WatchEvents
from mooring.testing.fault_script import FaultScript, Strike
from mooring.testing.fault_target import FaultTarget
from mooring.testing.faulty_watch import FaultyWatch, WatchStep
from mooring.testing.watch_frames import PROTOBUF, WatchFrames, event_type

PODS = FaultTarget.of("a", "GET", "/api/v1/pods?watch=true")


def line(number: int, kind: str = "ADDED") -> bytes:
    return b'{"type":"%s","object":{"number":%d}}\n' % (kind.encode(), number)


def watch(*faults: Fault, content_type: str = "application/json") -> FaultyWatch:
    script = FaultScript([replace(fault, on=WatchEvents()) for fault in faults])

    def decide(event: str) -> Strike | None:
        return script.decide(PODS._replace(event=event))

    return FaultyWatch(content_type, decide)


def sent(steps: list[WatchStep]) -> list[int]:
    """The numbers of the events in the steps."""
    text = b"".join(step.send for step in steps)
    return [json.loads(one)["object"]["number"] for one in text.splitlines()]


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_pieces_become_events(size: int) -> None:
    data = line(1) + line(2) + line(3)
    frames = WatchFrames("application/json;stream=watch")
    found = [f for i in range(0, len(data), size) for f in frames.feed(data[i : i + size])]
    assert found == [line(1), line(2), line(3)]


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_pieces_become_events_in_protobuf(size: int) -> None:
    events = [len(body).to_bytes(4) + body for body in (b"one", b"\n\ntwo", b"x" * 300)]
    data = b"".join(events)
    frames = WatchFrames(f"{PROTOBUF};stream=watch")
    found = [f for i in range(0, len(data), size) for f in frames.feed(data[i : i + size])]
    assert found == events


def test_the_type_of_an_event_is_seen_in_json_only() -> None:
    assert event_type(line(1, "BOOKMARK")) == "BOOKMARK"
    assert event_type(b"\0\0\0\3abc") == "?"


def test_events_pass_as_they_are() -> None:
    assert sent(watch().feed(line(1) + line(2))) == [1, 2]


def test_an_event_comes_twice() -> None:
    assert sent(watch(Fault.duplicate(times=1)).feed(line(1) + line(2))) == [1, 1, 2]


def test_an_event_comes_again_after_some_others() -> None:
    faulty = watch(Fault.duplicate(later=2, times=1, on=WatchEvents()))
    steps = [step for i in range(1, 6) for step in faulty.feed(line(i))]
    assert sent(steps) == [1, 2, 3, 1, 4, 5]


def test_an_event_follows_the_next() -> None:
    faulty = watch(Fault.reorder(times=1))
    assert sent(faulty.feed(line(1))) == []
    assert faulty.holds
    assert sent(faulty.feed(line(2) + line(3))) == [2, 1, 3]
    assert not faulty.holds


def test_an_event_that_waits_in_vain_for_the_next_is_not_lost() -> None:
    faulty = watch(Fault.reorder())
    assert sent(faulty.feed(line(1))) == []
    assert faulty.finish() == line(1)
    assert faulty.finish() == b""


def test_events_that_all_follow_the_next_change_places_two_by_two() -> None:
    faulty = watch(Fault.reorder())
    assert sent(faulty.feed(b"".join(map(line, range(1, 5))))) == [2, 1, 4, 3]


def test_a_delay_and_an_end() -> None:
    assert watch(Fault.delay(0.5)).feed(line(1)) == [WatchStep(line(1), 0.5)]
    assert watch(Fault.drop()).feed(line(1) + line(2)) == [WatchStep(b"", end="silent")]
    assert watch(Fault.cut()).feed(line(1) + line(2)) == [WatchStep(line(1), end="cut")]
    assert watch(Fault.cut(lost=True)).feed(line(1)) == [WatchStep(b"", end="cut")]
    assert watch(Fault.refuse()).feed(line(1)) == [WatchStep(b"", end="cut")]


def test_a_watch_is_refused_with_an_event() -> None:
    (step,) = watch(Fault.refuse(410)).feed(line(1))
    assert step.end == "ended"
    event = json.loads(step.send)
    assert event["type"] == "ERROR"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
