"""Interrupting a plugin that does not come back.

Plugins run on the main thread, between two awaits. A timer of the operating system raises
`TookTooLong` inside whatever runs then, so the decision fails as after any other exception and
the scheduler goes on. Code that is stuck outside of Python cannot be interrupted.
"""

import signal
import threading
from collections.abc import Coroutine, Generator
from types import FrameType, TracebackType
from typing import Any, TypeVar

from mooring.errors import MooringError

T = TypeVar("T")


class TookTooLong(MooringError):  # noqa: N818 - reads as the sentence it is
    """A plugin did not return in time."""


class Deadline:
    """A time limit for the code inside ``with``; without effect outside the main thread.

    Args:
        seconds: how long it may take.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._running = False
        self._usable = threading.current_thread() is threading.main_thread()
        if self._usable:
            signal.signal(signal.SIGALRM, self._ring)

    def __enter__(self) -> None:
        if self._usable:
            self._running = True
            signal.setitimer(signal.ITIMER_REAL, self._seconds)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._running = False  # a bell that rings from here on rings for nobody
        if self._usable:
            signal.setitimer(signal.ITIMER_REAL, 0)

    async def each_step(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine; the limit is for each stretch of it that waits for nobody."""
        result: T = await _Steps(self, work)
        return result

    def _ring(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self._running:
            raise TookTooLong(f"it did not return within {self._seconds:g} seconds")


class _Steps:
    """A coroutine whose steps are made under a deadline."""

    def __init__(self, deadline: Deadline, work: Coroutine[Any, Any, T]) -> None:
        self._deadline = deadline
        self._work = work

    def __await__(self) -> Generator[Any, Any, Any]:
        work = self._work
        answer: Any = None
        error: BaseException | None = None
        try:
            while True:
                with self._deadline:
                    asked = work.send(answer) if error is None else work.throw(error)
                answer = error = None
                try:
                    answer = yield asked
                except BaseException as raised:  # noqa: BLE001 - cancelled, most likely
                    error = raised
        except StopIteration as stop:
            return stop.value
        finally:
            work.close()
