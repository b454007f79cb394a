"""Noticing that a stream has gone silent for too long.

`reflector` calls it around an open watch. A connection whose other end is gone, or that something
in between has forgotten, says nothing for ever; only time tells it from one with nothing to say.
Time is passed in, and nothing here reads or writes the stream.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

#: An API server sends a bookmark about every minute, once anything changed since the watch began.
SILENCE_SECONDS: Final = 90.0
#: After a process was stopped, what has arrived meanwhile must be read before silence counts.
_GRACE_SECONDS: Final = 1.0


class Stalled(Exception):  # noqa: N818 - reads as what it is; it never leaves `reflector`
    """Nothing came for too long."""


@asynccontextmanager
async def ends_when_silent(
    heard_at: Callable[[], float],
    clock: Callable[[], float],
    idle: Callable[[float], Awaitable[object]],
) -> AsyncIterator[None]:
    """Interrupt a block when nothing was heard in it for too long.

    Args:
        heard_at: the clock's time at which something was heard last.
        clock: seconds that only grow.
        idle: waits for so many seconds.

    Raises:
        Stalled: nothing came.
    """
    loop = asyncio.get_running_loop()

    async def watch_over(limit: asyncio.Timeout) -> None:
        while True:
            while (left := heard_at() + SILENCE_SECONDS - clock()) > 0:
                await idle(left)
            noticed = heard_at()
            await idle(_GRACE_SECONDS)
            if heard_at() == noticed:
                limit.reschedule(loop.time())
                return

    limit = asyncio.timeout(None)
    try:
        async with limit:
            watcher = asyncio.create_task(watch_over(limit))
            try:
                yield
            finally:
                watcher.cancel()
    except TimeoutError:
        if limit.expired():
            raise Stalled from None
        raise
