"""Log lines: their level from ``LOG_LEVEL``, their form from ``--log-format``."""

import logging
import os
from collections.abc import Generator
from enum import StrEnum
from traceback import TracebackException
from typing import Any, Final

import msgspec

from mooring.cli.log_floods import FloodHandler

_LEVELS: Final = {
    "TRACE": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "WARNING": logging.WARNING,
    "ERROR": logging.ERROR,
    "ALERT": logging.CRITICAL,
    "CRITICAL": logging.CRITICAL,
}


class LogFormat(StrEnum):
    """How log lines look."""

    TEXT = "text"
    JSON = "json"


class TextFormatter(logging.Formatter):
    """One line for each record, and a traceback below it.

    Names, reasons and messages come from requests and objects: a line break in one must not look
    like a record of ours, nor may anything else there move the cursor of a terminal. The same holds
    for what an error below says of itself.
    """

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's
        """The line without the traceback."""
        record.message = escaped(record.message)
        return super().formatMessage(record)

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


def escaped(text: str) -> str:
    """A text with control characters written out, such as ``\\n`` for a line break."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )


class JsonFormatter(logging.Formatter):
    """One JSON object for each line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON, with the traceback as one text."""
        fields = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03d}",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_text:
            fields["traceback"] = record.exc_text
        return msgspec.json.encode(fields).decode()


def set_up_logging(form: LogFormat) -> None:
    """Send all log lines to standard error, in the given form and at ``LOG_LEVEL``."""
    wanted = os.environ.get("LOG_LEVEL", "INFO").strip().upper()
    handler = FloodHandler()
    handler.setFormatter(JsonFormatter() if form is LogFormat.JSON else TextFormatter())
    level = _LEVELS.get(wanted, logging.INFO)
    # For policies too, whatever their loggers are called; only the parts we use keep quiet.
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in ("aiohttp", "asyncio", "uvicorn"):
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    if wanted not in _LEVELS:
        logging.getLogger("mooring").warning(
            "LOG_LEVEL=%r is unknown, using INFO; choose one of %s", wanted, ", ".join(_LEVELS)
        )
