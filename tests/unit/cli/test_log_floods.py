"""One broken plugin cannot fill the log, and what is left out is told."""

import io
import logging
from collections.abc import Callable, Iterator

import pytest

from mooring.cli.log_floods import _MOST_SITES, MOST_LINES, FloodHandler
from mooring.errors import PluginError, PolicyError
from mooring.live.binder import _log_plugin
from mooring.log_kinds import once, report_left_out


class Log:
    """A log with a limit, and a clock that a test sets."""

    def __init__(self, stream: io.StringIO | None = None) -> None:
        self.now = 0.0
        self._stream = stream or io.StringIO()
        self.handler = FloodHandler(lambda: self.now, self._stream)

    def write(
        self, text: object, *, line: int = 7, level: int = logging.ERROR, kind: object = None
    ) -> None:
        """Write a line from some call site."""
        record = logging.LogRecord("x", level, "file.py", line, "%s", (text,), None)
        if kind is not None:
            vars(record)["mooring_kind"] = kind
        self.handler.handle(record)

    def read(self) -> list[str]:
        """What was written since the last time."""
        lines = self._stream.getvalue().splitlines()
        self._stream.seek(0)
        self._stream.truncate()
        return lines


@pytest.fixture
def log() -> Log:
    return Log()


def test_each_call_site_may_write_so_many_lines_a_minute(log: Log) -> None:
    for number in range(10_000):
        log.write(number)
        if number in (0, 9_999):
            log.write("another site", line=8)
    lines = [str(number) for number in range(MOST_LINES)]
    assert log.read() == [lines[0], "another site", *lines[1:], "another site"]


def test_lines_below_a_warning_are_not_limited(log: Log) -> None:
    for number in range(100):
        log.write(number, level=logging.INFO)
    assert len(log.read()) == 100


def test_the_next_line_of_any_kind_tells_how_many_were_left_out(log: Log) -> None:
    for number in range(MOST_LINES + 30):
        log.write(number)
    log.now = 59.9
    log.write("too early", line=8, level=logging.INFO)
    assert log.read()[MOST_LINES:] == ["too early"]
    log.now = 60.0
    log.write("something else", line=8, level=logging.INFO)
    assert log.read() == ["30 more like this in the last minute, the latest: 49", "something else"]
    log.write("b")
    log.write("c")
    assert log.read() == ["b", "c"]


def test_at_the_end_it_is_told_at_once(log: Log) -> None:
    for number in range(MOST_LINES + 1):
        log.write(number)
    log.read()
    log.handler.close()
    assert log.read() == ["1 more like this in the last 0s, the latest: 20"]


def test_who_floods_again_while_it_is_told_is_told_again() -> None:
    """A signal's handler may log in the middle of a line."""
    heard: list[Callable[[], None]] = []

    class Stream(io.StringIO):
        def write(self, text: str) -> int:
            if "more like this" in text and heard:
                heard.pop()()
            return super().write(text)

    log = Log(Stream())
    for number in range(MOST_LINES + 2):
        log.write(number)

    def flood() -> None:
        for number in range(MOST_LINES + 3):
            log.write(f"again {number}")

    heard.append(flood)
    log.now = 60.0
    log.write("something else", line=8)
    log.read()
    log.now = 120.0
    log.write("something else", line=8)
    assert log.read() == [
        "3 more like this in the last minute, the latest: again 22", "something else"
    ]  # fmt: skip


@pytest.fixture
def written(log: Log) -> Iterator[Log]:
    """The log of everybody."""
    logger = logging.getLogger("mooring")
    logger.addHandler(log.handler)
    yield log
    logger.removeHandler(log.handler)


def test_kinds_that_are_told_once_are_counted_apart(written: Log) -> None:
    logger = logging.getLogger("mooring.x")
    for number in range(100):
        for kind in range(150):
            logger.warning("kind %d failed, %d", kind, number, extra=once(str(kind)))
    assert written.read() == [f"kind {kind} failed, 0" for kind in range(150)]
    written.now = 60.0
    written.handler.report_left_out()
    told = "99 more like this in the last minute, the latest: kind {} failed, 99"
    assert written.read() == [told.format(kind) for kind in range(150)]


def test_a_flood_that_goes_on_is_a_line_a_minute(written: Log) -> None:
    logger = logging.getLogger("mooring.x")
    for _ in range(10_000):
        logger.error("check failed", extra=once("check"))
        written.now += 0.03
        report_left_out()  # nobody has set up a log: nothing happens
        written.handler.report_left_out()
    assert 5 <= len(written.read()) <= 6  # 300 s


def failure(plugin: str, hook: str, number: int, function: str = "", kind: str = "") -> PluginError:
    error = PluginError(f"{plugin} {hook} {function} {number}", plugin=plugin, hook=hook, pod="p")
    if function:
        error.__cause__ = PolicyError("no", function=function, kind=kind)
    return error


def test_a_plugin_that_fails_for_every_pod_hides_no_other_one(written: Log) -> None:
    for number in range(1_000):
        _log_plugin(failure("noisy", "bind", number))
    _log_plugin(failure("calm", "bind", 1))
    _log_plugin(failure("noisy", "pre_bind", 1))
    _log_plugin(failure("noisy", "bind", 1, "function", "KeyError"))
    _log_plugin(failure("noisy", "bind", 2, "function", "KeyError"))
    _log_plugin(failure("noisy", "bind", 3, "function", "ValueError"))
    lines = [line for line in written.read() if " " in line and "Error" not in line]
    assert lines == [
        "noisy bind  0", "calm bind  1", "noisy pre_bind  1",
        "noisy bind function 1", "noisy bind function 3",
    ]  # fmt: skip


def test_a_failure_is_told_once_with_its_traceback_and_then_counted(written: Log) -> None:
    def fail(number: int) -> None:
        _log_plugin(failure("noisy", "filter", number, "check"))

    fail(0)
    first = written.read()
    assert first[0] == "noisy filter check 0"
    assert first[-1] == "mooring.errors.PolicyError: no"
    for number in range(1, 13):
        written.now = 4.0 * number
        fail(number)
    assert written.read() == []
    written.now = 59.0
    written.handler.report_left_out()
    assert written.read() == []
    written.now = 60.0
    written.handler.report_left_out()
    told = "12 more like this in the last minute, the latest: noisy filter check 12"
    assert written.read() == [told]
    written.now = 61.0  # it goes on: nobody needs the traceback again
    fail(13)
    assert written.read() == []
    written.now = 122.0
    written.handler.report_left_out()
    assert written.read() == [
        "1 more like this in the last minute, the latest: noisy filter check 13"
    ]
    written.now = 300.0  # after a rest it may be another story
    fail(14)
    assert written.read()[-1] == "mooring.errors.PolicyError: no"


def test_lines_below_a_warning_are_limited_if_their_writer_says_what_is_alike(log: Log) -> None:
    for number in range(MOST_LINES + 2):
        log.write(number, level=logging.INFO, kind=("unschedulable",))
    assert len(log.read()) == MOST_LINES
    log.now = 60.0
    log.handler.report_left_out()
    assert log.read() == ["2 more like this in the last minute, the latest: 21"]


def test_what_is_remembered_is_bounded(log: Log) -> None:
    for number in range(3 * _MOST_SITES):
        log.write("x", kind=(str(number),))
    assert len(log.handler._sites) <= _MOST_SITES + 1
    assert len(log.read()) == _MOST_SITES + MOST_LINES
    log.now = 60.0
    log.write("x", kind=("another",))
    assert len(log.handler._sites) == 1


@pytest.mark.parametrize("kind", [[], ([],), 7, "x"])
def test_a_kind_that_is_none_is_not_looked_at(log: Log, kind: object) -> None:
    log.write("x", kind=kind)
    assert log.read() == ["x"]
