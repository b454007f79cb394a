"""Which events are written when, and which wait."""

import msgspec

from mooring.kube.event_body import EventKey, Reporter
from mooring.kube.event_cache import CachedEvent
from mooring.kube.event_queue import EventLimits, EventQueue
from tests.unit.kube.event_server import WEB


def event(uid: str, reason: str = "Scheduled") -> CachedEvent:
    about = msgspec.structs.replace(WEB, uid=uid)
    return CachedEvent(EventKey(about, None, "Normal", reason, "A", Reporter("c", "i")), "n", 1)


def queue_of(*events: CachedEvent, **limits: int) -> EventQueue:
    queue = EventQueue(EventLimits(**limits))
    assert all(queue.put(one, 0) for one in events)
    return queue


def test_first_in_first_out_up_to_a_limit() -> None:
    events = [event(str(number)) for number in range(3)]
    queue = queue_of(*events, queued=3)
    assert not queue.put(event("3"), 0)
    assert [queue.take() for _ in range(4)] == [*events, None]
    assert len(queue) == 3
    for one in events:
        queue.done(one)
    assert len(queue) == 0


def test_events_about_one_object_are_written_one_after_the_other() -> None:
    failed, other, bound, third = event("a", "Failed"), event("b"), event("a"), event("a", "Third")
    queue = queue_of(failed, other, bound, third)
    assert [queue.take(), queue.take(), queue.take()] == [failed, other, None]
    assert len(queue) == 4
    queue.done(other)
    assert queue.take() is None
    queue.done(failed)
    late = event("a", "Late")
    assert queue.put(late, 0)
    assert [queue.take(), queue.take()] == [bound, None]
    queue.done(bound)
    assert [queue.take(), queue.take()] == [third, None]
    queue.done(third)
    assert queue.take() is late
    queue.done(late)
    assert len(queue) == 0


def test_objects_without_a_uid_are_told_apart_by_their_names() -> None:
    one, other = event(""), event("")
    named = msgspec.structs.replace(WEB, uid="", name="other")
    third = CachedEvent(one.key._replace(regarding=named), "n", 1)
    queue = queue_of(one, other, third)
    assert [queue.take(), queue.take(), queue.take()] == [one, third, None]


def test_those_that_wait_behind_others_count() -> None:
    queue = queue_of(event("a"), event("a"), queued=2)
    assert queue.take() is not None
    assert queue.take() is None
    assert queue.put(event("b"), 0)
    assert not queue.put(event("c"), 0)


def test_nobody_writes_what_is_held_back_until_it_has_waited_for_long() -> None:
    queue = queue_of(event("a"), workers=3)
    assert queue.writers(0) == 3
    queue.held_back = True
    waited = [queue.writers(5 * step / 2) for step in range(9)]
    assert waited == [0, 0, 1, 1, 2, 2, 3, 3, 3]
    queue.held_back = False
    assert queue.writers(0) == 3
    assert queue.take() is not None
    assert queue.writers(25) == 0


def test_with_too_many_holding_back_ends() -> None:
    queue = queue_of(*(event(str(number)) for number in range(3)), held=3)
    queue.held_back = True
    assert queue.writers(0) == 0
    assert queue.put(event("3"), 0)
    assert queue.writers(0) == 8
