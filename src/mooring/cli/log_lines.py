"""The text of a log line, made before anybody holds a lock.

What a plugin logs is foreign code: an argument, a message or an error may hang when it is made a
text. So this is done first, while nothing is held and nothing half changed; the handler that
follows gets plain texts alone. A plugin can be interrupted in the frames of this module: `foreign`
names it among those that it sees through. It must never change anything.
"""

import logging
from collections.abc import Generator
from traceback import TracebackException
from types import TracebackType
from typing import IO, Any, Final, TypeAlias

from mooring.errors import EscapeError, PolicyError
from mooring.framework import foreign
from mooring.wording import escaped

_FORMATTER: Final = logging.Formatter()
_ErrorInfo: TypeAlias = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)


class LineHandler(logging.StreamHandler[IO[str]]):
    """Writes lines, the text of which is made before the handler's lock is taken."""

    def handle(self, record: logging.LogRecord) -> bool:
        """Write a line; one whose text cannot be made is told as `logging` does."""
        try:
            line = _rendered(record)
            if record.exc_info and not line.exc_text and not self.leaves_out(line):
                told = _of_foreign_code(record.exc_info)
                shown = (self.formatter or _FORMATTER).formatException(told)
                line.exc_text = foreign.plain(shown)
        except Exception:  # noqa: BLE001 - anybody may log a line that cannot be made
            self.handleError(record)
            return False
        return super().handle(line)

    def leaves_out(self, record: logging.LogRecord) -> bool:  # noqa: ARG002
        """Whether the line will not be written, so that nobody needs its traceback."""
        return False


def _of_foreign_code(told: _ErrorInfo) -> _ErrorInfo:
    """What failed in a policy or a plugin, from its own first line on: how we got there is ours."""
    error = told[1]
    if error is None:
        return told
    while type(error) in (PolicyError, EscapeError) and error.__cause__ is not None:
        error = error.__cause__  # the line itself has what these say
    begin = foreign.own_part(error)
    return (type(error), error, begin) if begin is not None else told


def _rendered(record: logging.LogRecord) -> logging.LogRecord:
    """The same line, with nothing foreign in it, and without what it would show of an error."""
    # `logging.makeLogRecord` would find out time and thread, to be replaced at once.
    line = logging.LogRecord.__new__(logging.LogRecord)
    vars(line).update(
        vars(record),
        name=foreign.plain(record.name),
        levelname=foreign.plain(record.levelname),
        msg=foreign.plain(record.getMessage()),
        args=None,
        pathname=foreign.plain(record.pathname),
        exc_info=None,
    )
    return line


class TracebackFormatter(logging.Formatter):
    """Writes tracebacks in which only mooring and Python begin lines."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's
        """The traceback, in which only mooring and Python begin lines."""
        value: BaseException = ei[1]
        told = TracebackException(type(value), value, ei[2], compact=True)
        others = [told]
        while others:
            one = others.pop()
            one.__class__ = _PlainTraceback
            others += [*(one.exceptions or ()), *filter(None, (one.__cause__, one.__context__))]
        return "".join(told.format()).removesuffix("\n")


class _PlainTraceback(TracebackException):
    """One error of a traceback; what it says of itself, which may be anybody's text, in one line.

    Python makes those of causes and groups itself, so they become such afterwards.
    """

    def format_exception_only(self, *args: Any, **options: Any) -> Generator[str, None, None]:
        """What the error says, and its notes, indented below."""
        said = False
        for line in super().format_exception_only(*args, **options):
            plain = escaped(line.removesuffix("\n"))
            if said:
                plain = f"    {plain}"
            said = said or not plain.startswith(" ")  # before it, the place of a syntax error
            yield f"{plain}\n"
