"""The policy's ``async`` functions: an event loop on a thread of their own.

On the loop that serves, one that blocks instead of waiting would stop the whole server. Here it
delays only others of its kind, whose callers are told. The thread begins with the first function
and does not keep the process alive.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

R = TypeVar("R")


class WaitingFunctions:
    """Runs coroutines elsewhere.

    Args:
        clock: seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._doubt: float | None = None

    async def run(self, work: Coroutine[Any, Any, R], seconds: float) -> R:
        """Wait for a coroutine, at most for so long; then it is cancelled.

        Raises:
            TimeoutError: it took longer.
        """
        future = asyncio.run_coroutine_threadsafe(work, self._started())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), max(seconds, 0.0))
        except TimeoutError:
            if self._doubt is None and self._loop is not None:
                self._doubt = self._clock()
                self._loop.call_soon_threadsafe(self._trust)
            raise

    def blocked_for(self) -> float:
        """For how long the loop has not come back from a function that blocks it; 0 if it has."""
        doubt = self._doubt
        return 0.0 if doubt is None else self._clock() - doubt

    def stop(self) -> None:
        """Let the thread end; it is not waited for."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _trust(self) -> None:
        self._doubt = None

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._run, args=(self._loop,), name="wait", daemon=True).start()
        return self._loop

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            loop.close()
