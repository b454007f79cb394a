"""What a command would write of what mooring logs: what repeats is counted there."""

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from mooring.cli.log_floods import FloodHandler


class _MessageAlone(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return record.getMessage()


@contextmanager
def written_log() -> Iterator[list[str]]:
    """The messages that were written in a block; they are there when it has ended."""
    messages: list[str] = []
    stream = io.StringIO()
    logger, handler = logging.getLogger("mooring"), FloodHandler(stream=stream)
    handler.setFormatter(_MessageAlone())
    logger.addHandler(handler)
    try:
        yield messages
    finally:
        logger.removeHandler(handler)
        handler.close()
        messages += stream.getvalue().splitlines()
