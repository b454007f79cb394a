"""Something that runs on an event loop in a thread of its own until it is told to end.

`EmbeddedThread` has one for the API server and one for the scheduler, so that a policy's function
that does not return holds up the scheduler alone.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final

from mooring.errors import MooringError
from mooring.process.computing_threads import computes, cpu_seconds, interrupt
from mooring.testing.stuck_hook import StuckHook

log = logging.getLogger("mooring.testing")

_START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 30
#: So long foreign code may go on when everything is to end.
_PATIENCE_SECONDS: Final = 1.0


class LoopThread:
    """A thread with an event loop.

    Args:
        name: the thread's.
        live: what runs there; it calls `until_told` once it is ready, and ends soon after that
            returns.
        ended: called at the end, there.

    Attributes:
        failure: what ended it, if it ended by itself.
    """

    def __init__(
        self,
        name: str,
        live: Callable[[], Coroutine[Any, Any, None]],
        ended: Callable[[], object],
    ) -> None:
        self.failure: BaseException | None = None
        self._live = live
        self._ended = ended
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start it and wait until it is ready.

        Raises:
            BaseException: what ended it instead.
        """
        self._thread.start()
        if not self._ready.wait(_START_SECONDS):
            self.stop()
            raise MooringError(f"the cluster did not start within {_START_SECONDS:g} seconds")
        if self.failure is not None:
            self._thread.join()
            raise self.failure

    def stop(self) -> None:
        """End it and wait until nothing of it is left, but not for foreign code for long."""
        if self._thread.ident is None:
            return
        if self._loop is not None and self._end is not None:
            with contextlib.suppress(RuntimeError):  # it ended by itself
                self._loop.call_soon_threadsafe(self._end.set)
        hook = self.stuck_hook()
        hook.look()
        for _ in range(_STOP_SECONDS):
            before = cpu_seconds(self._thread)
            self._thread.join(_PATIENCE_SECONDS)
            if not self._thread.is_alive():
                return
            if hook.look():
                if computes(_PATIENCE_SECONDS, cpu_seconds(self._thread) - before):
                    interrupt(self._thread)  # wherever it is: it is to end
                    self._thread.join(_PATIENCE_SECONDS)
                if self._thread.is_alive():
                    log.warning("%s; its thread is left behind", hook)
                return

    def stuck_hook(self) -> StuckHook:
        """Whom it waits for, looked at from now on."""
        return StuckHook(self._thread.ident)

    # -- in the thread

    async def until_told(self) -> None:
        """Say that all is ready, and wait for the end."""
        self._ready.set()
        assert self._end is not None  # noqa: S101 - it was made before anything else
        await self._end.wait()

    def _run(self) -> None:
        import uvloop  # noqa: PLC0415 - only when a cluster is started

        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._begin())
        except BaseException as error:  # noqa: BLE001 - raised where the cluster is used
            self.failure = error
        finally:
            self._ready.set()
            self._ended()

    async def _begin(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        await self._live()
