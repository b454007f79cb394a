"""A limit for log lines that come in floods, such as those of a plugin that fails for every pod.

Each call site, a place in the code, may write so many warnings and errors a minute; lines below a
warning are limited only if their writer says what makes them alike (`log_kinds`). Of a plugin's
function that fails the first line is written, with its traceback, and the others are counted for as
long as they come at least once a minute. How many were left out is reported when the minute is
over: with the next line of any kind, when somebody calls `report_left_out`, and at the end of the
process at the latest. A handler of the log; belongs to the whole process.

    first ──> written ──> others within the minute: counted
                              └── the minute is over: "12 more like this in the last minute"
"""

import logging
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import IO, Final

from mooring.cli.log_lines import LineHandler
from mooring.log_kinds import has_kind, is_once, kind_of

#: So many lines from one call site are written in one minute.
MOST_LINES: Final = 20
#: So many call sites are told apart in one minute; further ones count as one.
_MOST_SITES: Final = 1000
_SECONDS: Final = 60.0
#: A call site, and what its lines are about.
_Key = tuple[str | int, ...]
_OTHERS: Final[_Key] = ("others",)


class _CallSite:
    """A call site that writes lines about one thing.

    Attributes:
        since: when its minute began.
        lines: how many there were in it.
        last: when the last one came.
    """

    __slots__ = ("last", "lines", "since")

    def __init__(self, since: float) -> None:
        self.since, self.lines, self.last = since, 0, since


class _LeftOut:
    """Lines of one call site that were not written.

    Attributes:
        since: when the minute of the first one began.
        lines: how many there are.
        last: the last one, without what it might keep alive: logger, level, call site and text.
    """

    __slots__ = ("last", "lines", "since")

    def __init__(self, since: float) -> None:
        self.since, self.lines, self.last = since, 0, ("", 0, "", 0, "")


class FloodHandler(LineHandler):
    """Writes lines to standard error, and leaves out what is too much.

    Args:
        clock: seconds that only grow.
        stream: where to write; standard error without.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, stream: IO[str] | None = None
    ) -> None:
        super().__init__(sys.stderr if stream is None else stream)
        self._clock = clock
        self._sites: dict[_Key, _CallSite] = {}
        self._left_out: dict[_Key, _LeftOut] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, unless there were too many from its call site."""
        now = self._clock()
        self._report(now - _SECONDS, now)
        key = _key(record)
        if key is None or self._is_let_through(key, record, now):
            super().emit(record)

    def leaves_out(self, record: logging.LogRecord) -> bool:
        """Whether there were too many lines from its call site already."""
        key = _key(record)
        site = self._sites.get(key) if key is not None else None
        if site is None or site.lines < _most_lines(record):
            return False
        return self._clock() - (site.last if is_once(record) else site.since) < _SECONDS

    def report_left_out(self, *, everything: bool = False) -> None:
        """Say how many lines were left out, where the minute is over or of everything."""
        with self.lock or nullcontext():
            now = self._clock()
            self._report(now if everything else now - _SECONDS, now)

    def close(self) -> None:
        """Say what was left out; nothing comes after it."""
        now = self._clock()
        self._report(now, now)
        super().close()

    def _is_let_through(self, key: _Key, record: logging.LogRecord, now: float) -> bool:
        if key not in self._sites and len(self._sites) >= _MOST_SITES:
            known = self._sites.items()
            self._sites = {one: at for one, at in known if now - at.since < _SECONDS}
            key = key if len(self._sites) < _MOST_SITES else _OTHERS
        site = self._sites.setdefault(key, _CallSite(now))
        if now - site.since >= _SECONDS:
            goes_on = is_once(record) and now - site.last < _SECONDS
            site.since, site.lines = now, 1 if goes_on else 0
        site.lines += 1
        site.last = now
        if site.lines <= _most_lines(record):
            return True
        left_out = self._left_out.get(key)
        if left_out is None:
            left_out = self._left_out[key] = _LeftOut(site.since)
        left_out.lines += 1
        left_out.last = (
            record.name, record.levelno, record.pathname, record.lineno, record.getMessage()
        )  # fmt: skip
        return False

    def _report(self, until: float, now: float) -> None:
        """Say how many lines were left out in minutes that began until then."""
        for key, left_out in list(self._left_out.items()):
            # Taken out first: a signal's handler may write lines, and leave some out, meanwhile.
            if left_out.since <= until and self._left_out.get(key) is left_out:
                del self._left_out[key]
                super().emit(_summary(left_out, now))


def _key(record: logging.LogRecord) -> _Key | None:
    """What makes lines alike; None if a line is not limited."""
    limited = record.levelno >= logging.WARNING or has_kind(record)
    return (record.pathname, record.lineno, *kind_of(record)) if limited else None


def _most_lines(record: logging.LogRecord) -> int:
    return 1 if is_once(record) else MOST_LINES


def _summary(left_out: _LeftOut, now: float) -> logging.LogRecord:
    """A line that says how many were left out; from the same call site, without traceback."""
    (name, level, path, line, text), seconds = left_out.last, now - left_out.since
    time = "minute" if _SECONDS <= seconds < 1.5 * _SECONDS else f"{seconds:.0f}s"
    text = f"{left_out.lines} more like this in the last {time}, the latest: {text}"
    return logging.LogRecord(name, level, path, line, "%s", (text,), None)
