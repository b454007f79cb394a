"""The text of a log line, made before anybody holds a lock.

What a plugin logs is foreign code: an argument, a message or an error may hang when it is made a
text. So this is done first, while nothing is held and nothing half changed; the handler that
follows gets plain texts alone. A plugin can be interrupted in the frames of this module: `foreign`
names it among those that it sees through. It must never change anything.
"""

import logging
from typing import IO, Final

from mooring.framework import foreign

_FORMATTER: Final = logging.Formatter()


class LineHandler(logging.StreamHandler[IO[str]]):
    """Writes lines, the text of which is made before the handler's lock is taken."""

    def handle(self, record: logging.LogRecord) -> bool:
        """Write a line; one whose text cannot be made is told as `logging` does."""
        try:
            line = _rendered(record)
            if record.exc_info and not line.exc_text and not self.leaves_out(line):
                line.exc_text = foreign.plain(_FORMATTER.formatException(record.exc_info))
        except Exception:  # noqa: BLE001 - anybody may log a line that cannot be made
            self.handleError(record)
            return False
        return super().handle(line)

    def leaves_out(self, record: logging.LogRecord) -> bool:  # noqa: ARG002
        """Whether the line will not be written, so that nobody needs its traceback."""
        return False


def _rendered(record: logging.LogRecord) -> logging.LogRecord:
    """The same line, with nothing foreign in it, and without what it would show of an error."""
    return logging.makeLogRecord(
        {
            **vars(record),
            "name": foreign.plain(record.name),
            "levelname": foreign.plain(record.levelname),
            "msg": foreign.plain(record.getMessage()),
            "args": None,
            "pathname": foreign.plain(record.pathname),
            "exc_info": None,
        }
    )
