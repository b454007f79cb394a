"""SIGTERM and SIGINT: the first ends a scheduler in order, a second one at once.

The event loop hears of signals between two turns only, and a plugin's hook may hold a turn up for
long. So the handler is Python's own, which runs on the main thread wherever it is, inside a hook,
too. It only looks at the stack and notifies the loop; whatever it interrupted goes on. Only code
that does not come back to Python delays it. `lifecycle` has it.
"""

import asyncio
import logging
import signal
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any, Final

from mooring.framework.foreign import is_crossed
from mooring.framework.running_hook import asked_in

log = logging.getLogger("mooring.live")

_STOPS: Final = (signal.SIGTERM, signal.SIGINT)


class StopSignals:
    """Takes the two signals for the length of a block, on the main thread.

    Args:
        stop: called on the event loop at the first signal.
        exit_now: called with an exit code, at once, at the second.
        note: called at once at the first signal, wherever the main thread is: it may only note it.
    """

    def __init__(
        self,
        stop: Callable[[], object],
        exit_now: Callable[[int], object],
        note: Callable[[], object] = lambda: None,
    ) -> None:
        self._stop = stop
        self._exit_now = exit_now
        self._note = note
        self._loop: asyncio.AbstractEventLoop | None = None
        self._before: list[Any] = []
        self._stopping = False

    def __enter__(self) -> "StopSignals":
        self._loop = asyncio.get_running_loop()
        self._before = [signal.signal(number, self.on_signal) for number in _STOPS]
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in zip(_STOPS, self._before, strict=True):
            signal.signal(number, handler)

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """A signal came.

        Args:
            number: which.
            frame: the innermost one of what it interrupted.
        """
        name = signal.Signals(number).name
        if self._stopping:
            _say(logging.WARNING, "%s, the second signal: exiting immediately", name)
            self._exit_now(1)
            return
        self._stopping = True
        self._note()
        if is_crossed(frame):
            who = asked_in(frame)
            _say(logging.INFO, "%s: stopping once %s has returned", name, who)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop)


def _say(level: int, text: str, *args: object) -> None:
    # It may have interrupted somebody who writes a line just now; then there is no line.
    with suppress(RuntimeError):
        log.log(level, text, *args)
