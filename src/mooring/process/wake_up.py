"""How the loop of `moor run` rests: until something happens, or a time comes.

`asyncio.Event` with a timeout does the same for three times the cost, which a scheduler pays
several times for each pod that is created while it rests.
"""

import asyncio

from mooring.process.alarm import Alarm


class WakeUp:
    """Wakes one task; used on one event loop."""

    __slots__ = ("_alarm", "_notified", "_waiter")

    def __init__(self) -> None:
        self._notified = False
        self._waiter: asyncio.Future[None] | None = None
        self._alarm: Alarm | None = None

    def notify(self) -> None:
        """Something happened: wake who waits, or who will."""
        self._notified = True
        self._wake()

    def clear(self) -> None:
        """What happened until now wakes nobody."""
        self._notified = False

    async def wait(self, seconds: float) -> None:
        """Wait until something happens, at most so long; others have a turn in any case."""
        if self._notified or seconds <= 0:
            await asyncio.sleep(0)
            return
        loop = asyncio.get_running_loop()
        if self._alarm is None:
            self._alarm = Alarm(loop, self._wake)
        waiter = self._waiter = loop.create_future()
        self._alarm.set(seconds)
        try:
            await waiter
        finally:
            self._waiter = None

    def close(self) -> None:
        """Leave no timer behind."""
        if self._alarm is not None:
            self._alarm.stop()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
