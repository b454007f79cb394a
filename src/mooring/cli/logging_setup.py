"""Log lines: their level from ``-v`` or ``LOG_LEVEL``, their form from ``--log-format``.

docs/guide/logging.md says what is logged at each level. Commands that go on for a while call
`set_up_logging` once.
"""

import logging
import os
from enum import StrEnum
from typing import Final

import msgspec

from mooring.cli.log_floods import FloodHandler
from mooring.cli.log_lines import TracebackFormatter
from mooring.log_kinds import TRACE, yaml_of
from mooring.wording import escaped, escaped_json

_LEVELS: Final = {
    "TRACE": TRACE,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "WARNING": logging.WARNING,
    "ERROR": logging.ERROR,
    "ALERT": logging.CRITICAL,
    "CRITICAL": logging.CRITICAL,
}


class LogFormat(StrEnum):
    """Format of log lines."""

    TEXT = "text"
    JSON = "json"


class TextFormatter(TracebackFormatter):
    """One line for each record, and its YAML or traceback below it.

    Names, reasons and messages come from requests and objects: a line break in one must not look
    like a record of ours, nor may anything else there move the cursor of a terminal. The same holds
    for what an error below says of itself.
    """

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's
        """The line without the traceback."""
        record.message = escaped(record.message)
        lines = [super().formatMessage(record), *map(escaped, yaml_of(record).splitlines())]
        return "\n".join(lines)


class JsonFormatter(logging.Formatter):
    """One JSON object for each line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON, with its YAML and its traceback as one text each."""
        fields = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03d}",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if text := yaml_of(record):
            fields["yaml"] = text
        if record.exc_text:
            fields["traceback"] = record.exc_text
        return escaped_json(msgspec.json.encode(fields).decode())


#: By how often ``-v`` is given.
_VERBOSE: Final = ("", "DEBUG", "TRACE")


def set_up_logging(form: LogFormat, verbose: int = 0) -> None:
    """Send all log lines to standard error.

    Args:
        form: how they look.
        verbose: how often ``-v`` is given; without it the variable ``LOG_LEVEL`` counts.
    """
    named = _VERBOSE[min(verbose, len(_VERBOSE) - 1)] or os.environ.get("LOG_LEVEL", "INFO")
    wanted = named.strip().upper()
    handler = FloodHandler()
    handler.setFormatter(JsonFormatter() if form is LogFormat.JSON else TextFormatter())
    level = _LEVELS.get(wanted, logging.INFO)
    # For policies too, whatever their loggers are called; only the parts we use keep quiet.
    logging.addLevelName(TRACE, "TRACE")
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in ("aiohttp", "asyncio", "uvicorn"):
        logging.getLogger(name).setLevel(TRACE if level <= TRACE else max(level, logging.WARNING))
    if wanted not in _LEVELS:
        logging.getLogger("mooring").warning(
            "unknown LOG_LEVEL=%r, using INFO; use one of %s", wanted, ", ".join(_LEVELS)
        )
