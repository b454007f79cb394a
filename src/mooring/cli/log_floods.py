"""A limit for log lines that come in floods, such as those of a plugin that fails for every pod.

Each place in the code may write so many warnings and errors a minute; the next line from there that
is let through says how many were left out. Lines below a warning are not limited. A filter of the
log's handler; belongs to the whole process.
"""

import logging
import time
from collections.abc import Callable
from typing import Final

#: So many lines from one place are written in one minute.
MOST_LINES: Final = 20
_SECONDS: Final = 60.0


class _Place:
    __slots__ = ("left_out", "lines", "since")

    def __init__(self, since: float) -> None:
        self.since, self.lines, self.left_out = since, 0, 0


class FloodFilter(logging.Filter):
    """Leaves out what is too much.

    Args:
        clock: seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        # There are as many as places in the code that write to the log.
        self._places: dict[tuple[str, int], _Place] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written."""
        if record.levelno < logging.WARNING:
            return True
        now = self._clock()
        place = self._places.setdefault((record.pathname, record.lineno), _Place(now))
        if now - place.since >= _SECONDS:
            place.since, place.lines = now, 0
        place.lines += 1
        if place.lines > MOST_LINES:
            place.left_out += 1
            return False
        if place.left_out:
            record.msg = f"{record.getMessage()} ({place.left_out} more like this were left out)"
            record.args = None
            place.left_out = 0
        return True
