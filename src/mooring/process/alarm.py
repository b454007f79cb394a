"""A time limit that is set anew again and again, and hardly ever reached.

    set ──> set ──> … ──> rings at the limit that was set last

`kube.http1` has one for each connection and each stream, the loop of `moor run` one for its rests.
The event loop's timer stays where it is as long as it rings early enough: to set one costs more
than to find that it rang for an earlier limit.
"""

import asyncio
from collections.abc import Callable


class Alarm:
    """Calls a function when a time limit is over, on the event loop's thread.

    Args:
        loop: the event loop; limits are by its clock.
        ring: called once for a limit; whoever needs it no more does nothing then.
    """

    __slots__ = ("_limit", "_loop", "_ring", "_rings_at", "_timer")

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], object]) -> None:
        self._loop = loop
        self._ring = ring
        self._limit: float | None = None
        self._rings_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def set(self, seconds: float) -> None:
        """Ring in so many seconds, and not when it was to ring before."""
        limit = self._limit = self._loop.time() + seconds
        if self._timer is None or limit < self._rings_at:
            self._start(limit)

    def stop(self) -> None:
        """Ring no more."""
        self._limit = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._rings_at = when
        self._timer = self._loop.call_at(when, self._rung)

    def _rung(self) -> None:
        self._timer = None
        limit = self._limit
        if limit is None:
            return
        if self._loop.time() < limit:
            self._start(limit)
        else:
            self._limit = None
            self._ring()
