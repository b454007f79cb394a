"""An answer that is read while it arrives; made by `connection`, read by `session`'s callers.

    fed ──> waiting parts ──read──> reader       fed faster than read: the connection is paused
              │
              └── ended: all of it is here, it broke off, or the reader heard nothing for too long

Whoever reads gets everything that has arrived at once.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from mooring.process.alarm import Alarm

#: With so much that nobody has read, the connection is paused.
_MOST_WAITING_BYTES: Final = 1 << 19


class ApiStream:
    """The body of one answer, part by part.

    Args:
        loop: the event loop.
        pause: called with whether the connection is to be paused.

    Attributes:
        status: the HTTP status.
        headers: by name, in lower case.
        ended: whether nothing comes any more.
    """

    __slots__ = (
        "_alarm", "_error", "_loop", "_parts", "_pause", "_paused", "_size", "_waiter", "ended",
        "headers", "status",
    )  # fmt: skip

    def __init__(self, loop: asyncio.AbstractEventLoop, pause: Callable[[bool], None]) -> None:
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.ended = False
        self._loop = loop
        self._pause = pause
        self._paused = False
        self._parts: list[bytes] = []
        self._size = 0
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        # Who waits is woken with nothing, and takes that for the end.
        self._alarm = Alarm(loop, self._wake)

    async def read(self, seconds: float) -> bytes:
        """What has arrived; if nothing has, what comes next. Empty at the end.

        Args:
            seconds: a silence of so long is the end, too.

        Raises:
            TransportError: it broke off.
            OSError: it broke off.
        """
        if not self._parts and not self.ended:
            await self._news(seconds)
        parts, self._parts = self._parts, []
        self._size = 0
        self._go_on()
        if not parts and self._error is not None:
            raise self._error
        return parts[0] if len(parts) == 1 else b"".join(parts)

    # -- called by the connection

    def feed(self, part: bytes) -> None:
        """A part has arrived."""
        self._parts.append(part)
        self._size += len(part)
        if self._size > _MOST_WAITING_BYTES and not self._paused:
            self._paused = True
            self._pause(True)
        self._wake()

    def end(self, error: Exception | None = None) -> None:
        """Nothing comes any more; why, if that is not all."""
        if not self.ended:
            self.ended = True
            self._error = error
            self._alarm.stop()
            self._go_on()  # what comes next on the connection is another answer
            self._wake()

    def _go_on(self) -> None:
        if self._paused:
            self._paused = False
            self._pause(False)

    # -- waiting

    async def _news(self, seconds: float) -> None:
        """Wait until something is here, or for a silence of so long."""
        waiter = self._waiter = self._loop.create_future()
        self._alarm.set(seconds)
        try:
            await waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
