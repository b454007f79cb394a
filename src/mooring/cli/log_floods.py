"""A limit for log lines that come in floods, such as those of a plugin that fails for every pod.

Each call site, a place in the code, may write so many warnings and errors a minute; if they are
about plugins, each function of them and each hook may (`log_kinds`). How many were left out is
reported when the minute is over, with the next line of any kind, and at the end of the process at
the latest. Lines below a warning are not limited. A handler of the log; belongs to the whole
process.
"""

import logging
import sys
import time
from collections.abc import Callable
from typing import IO, Final

from mooring.cli.log_lines import LineHandler
from mooring.log_kinds import kind_of

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
    """

    __slots__ = ("lines", "since")

    def __init__(self, since: float) -> None:
        self.since, self.lines = since, 0


class _LeftOut:
    """Lines of one call site that were not written.

    Attributes:
        since: when the minute of the first one began.
        lines: how many there are.
        last: the last one, without what it might keep alive.
    """

    __slots__ = ("last", "lines", "since")

    def __init__(self, since: float, last: logging.LogRecord) -> None:
        self.since, self.lines, self.last = since, 0, last


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
        self._report_left_out(now - _SECONDS)
        key = _key(record)
        if key is None or self._is_let_through(key, record, now):
            super().emit(record)

    def leaves_out(self, record: logging.LogRecord) -> bool:
        """Whether there were too many lines from its call site already."""
        key = _key(record)
        site = self._sites.get(key) if key is not None else None
        return (
            site is not None and site.lines >= MOST_LINES and self._clock() - site.since < _SECONDS
        )

    def close(self) -> None:
        """Say what was left out; nothing comes after it."""
        self._report_left_out(self._clock())
        super().close()

    def _is_let_through(self, key: _Key, record: logging.LogRecord, now: float) -> bool:
        if key not in self._sites and len(self._sites) >= _MOST_SITES:
            known = self._sites.items()
            self._sites = {one: at for one, at in known if now - at.since < _SECONDS}
            key = key if len(self._sites) < _MOST_SITES else _OTHERS
        site = self._sites.setdefault(key, _CallSite(now))
        if now - site.since >= _SECONDS:
            site.since, site.lines = now, 0
        site.lines += 1
        if site.lines <= MOST_LINES:
            return True
        last = _plain(record, record.getMessage())
        left_out = self._left_out.setdefault(key, _LeftOut(site.since, last))
        left_out.lines, left_out.last = left_out.lines + 1, last
        return False

    def _report_left_out(self, until: float) -> None:
        """Say how many lines were left out in minutes that began until then."""
        for key, left_out in list(self._left_out.items()):
            # Taken out first: a signal's handler may write lines, and leave some out, meanwhile.
            if left_out.since <= until and self._left_out.get(key) is left_out:
                del self._left_out[key]
                super().emit(_summary(left_out))


def _key(record: logging.LogRecord) -> _Key | None:
    """What makes lines alike; None if a line is not limited."""
    kind = kind_of(record) if record.levelno >= logging.WARNING else None
    return (record.pathname, record.lineno, *kind) if kind is not None else None


def _summary(left_out: _LeftOut) -> logging.LogRecord:
    last = left_out.last
    were = "line like this was" if left_out.lines == 1 else "lines like this were"
    return _plain(last, f"{left_out.lines} more {were} left out, the last: {last.getMessage()}")


def _plain(record: logging.LogRecord, text: str) -> logging.LogRecord:
    """A line from the same call site, without traceback."""
    return logging.LogRecord(
        record.name, record.levelno, record.pathname, record.lineno, "%s", (text,), None
    )
