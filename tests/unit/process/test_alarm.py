"""When an alarm rings, on an event loop whose time a test sets."""

from collections.abc import Callable
from typing import Any

import pytest

from mooring.process.alarm import Alarm


class Timer:
    def __init__(self, when: float, ring: Callable[[], object]) -> None:
        self.when = when
        self.ring = ring
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """An event loop that has nothing but timers.

    Attributes:
        timers: all that were ever set.
    """

    def __init__(self) -> None:
        self.now = 100.0
        self.timers: list[Timer] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, ring: Callable[[], object]) -> Timer:
        self.timers.append(Timer(when, ring))
        return self.timers[-1]

    def pass_by(self, seconds: float) -> None:
        end = self.now + seconds
        while due := [one for one in self.timers if not one.cancelled and one.when <= end]:
            first = min(due, key=lambda one: one.when)
            self.now = first.when
            first.cancelled = True
            first.ring()
        self.now = end


def alarm() -> tuple[Alarm, Loop, list[float]]:
    loop, rung = Loop(), list[float]()
    some: Any = loop
    return Alarm(some, lambda: rung.append(loop.now)), loop, rung


def test_it_rings_once_at_the_limit() -> None:
    made, loop, rung = alarm()
    made.set(10)
    loop.pass_by(9.9)
    assert rung == []
    loop.pass_by(100)
    assert rung == [110]
    made.set(1)
    loop.pass_by(100)
    assert rung == [110, 210.9]


def test_only_the_last_limit_counts_and_one_timer_serves_many() -> None:
    made, loop, rung = alarm()
    for _ in range(100):
        made.set(10)
        loop.pass_by(0.01)
    assert len(loop.timers) == 1
    loop.pass_by(100)
    assert rung == [pytest.approx(100.99 + 10)]
    assert len(loop.timers) == 2


def test_an_earlier_limit_is_kept_and_the_timer_of_the_later_one_is_gone() -> None:
    made, loop, rung = alarm()
    made.set(30)
    made.set(1)
    assert [one.cancelled for one in loop.timers] == [True, False]
    loop.pass_by(100)
    assert rung == [101]


def test_stopped_it_leaves_no_timer_and_can_be_set_again() -> None:
    made, loop, rung = alarm()
    made.stop()
    made.set(1)
    made.stop()
    assert all(one.cancelled for one in loop.timers)
    loop.pass_by(10)
    assert rung == []
    made.set(1)
    loop.pass_by(10)
    assert rung == [111]
