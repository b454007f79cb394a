import logging

import pytest

from mooring.process.repeated_log_lines import RepeatedLogLines

log = logging.getLogger("test.repeats")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def repeats(clock: Clock, caplog: pytest.LogCaptureFixture) -> RepeatedLogLines:
    caplog.set_level(logging.DEBUG, "test.repeats")
    return RepeatedLogLines(log, clock)


def fail(number: int) -> ValueError:
    try:
        raise ValueError(f"number {number}")
    except ValueError as error:
        return error


def test_the_first_is_logged_in_full_and_the_others_are_counted(
    repeats: RepeatedLogLines, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(13):
        repeats.log("check", logging.ERROR, f"check failed: {number}", fail(number))
        clock.now += 1
    assert caplog.messages == ["check failed: 0"]
    assert caplog.records[0].exc_info is not None
    clock.now = 59
    repeats.tick()
    assert len(caplog.records) == 1
    clock.now = 60
    repeats.tick()
    assert caplog.messages[1:] == [
        "12 more like this in the last 60 s, the latest: check failed: 12"
    ]
    assert caplog.records[1].levelname == "ERROR"
    assert caplog.records[1].exc_info is None


def test_a_flood_that_goes_on_is_a_line_a_minute(
    repeats: RepeatedLogLines, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(10_000):
        repeats.log("check", logging.ERROR, "check failed")
        clock.now += 0.03
        repeats.tick()
    assert 5 <= len(caplog.records) <= 6  # 300 s


def test_after_a_quiet_minute_it_is_logged_in_full_again(
    repeats: RepeatedLogLines, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    repeats.log("check", logging.ERROR, "once", fail(1))
    clock.now = 60
    repeats.tick()
    repeats.log("check", logging.ERROR, "twice", fail(2))
    assert caplog.messages == ["once", "twice"]
    assert all(record.exc_info for record in caplog.records)


def test_kinds_are_apart(repeats: RepeatedLogLines, caplog: pytest.LogCaptureFixture) -> None:
    for kind in ("a", "b", "a"):
        repeats.log(kind, logging.WARNING, f"{kind} failed")
    assert caplog.messages == ["a failed", "b failed"]


def test_kinds_are_bounded(repeats: RepeatedLogLines, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(10_000):
        repeats.log(number, logging.WARNING, f"{number} failed")
    assert len(caplog.records) == 201
    assert len(repeats._kinds) == 201


def test_at_the_end_all_is_told(
    repeats: RepeatedLogLines, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        repeats.log("check", logging.ERROR, "check failed")
    clock.now = 5
    repeats.flush()
    assert caplog.messages[1:] == ["2 more like this in the last 5 s, the latest: check failed"]
