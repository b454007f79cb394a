"""A plugin's hook that does not return, seen from another thread than the one it runs on.

Nothing can interrupt it there; who waits for the scheduler can say whom it waits for. `LoopThread`
and `Waiting` use it.
"""

import sys
import time
from collections.abc import Callable
from types import FrameType

from mooring.framework.foreign import is_border, is_crossed
from mooring.framework.running_hook import asked_in, where_in
from mooring.wording import counted


class StuckHook:
    """Foreign code that a thread is in; as text, a sentence about it.

    Args:
        thread_id: the thread; None for one that never began.
        clock: seconds that only grow.

    Attributes:
        seconds: for how long the same call has been seen.
    """

    def __init__(
        self, thread_id: int | None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._thread_id = thread_id
        self._clock = clock
        self._call: FrameType | None = None
        self._since = 0.0
        self.seconds = 0.0

    def look(self) -> bool:
        """Whether foreign code runs now."""
        call = _call_in(self._frame())
        now = self._clock()
        if call is not self._call:
            self._call, self._since = call, now
        self.seconds = now - self._since
        return call is not None

    def __str__(self) -> str:
        frame = self._frame()
        seconds = counted(round(self.seconds, 1), "second")
        return f"{asked_in(frame)} has not returned for {seconds}, at {where_in(frame)}"

    def _frame(self) -> FrameType | None:
        """The innermost frame of the thread."""
        if self._thread_id is None:
            return None
        return sys._current_frames().get(self._thread_id)  # noqa: SLF001


def _call_in(frame: FrameType | None) -> FrameType | None:
    """The outermost call of foreign code in this stack."""
    found, inner = None, frame
    while frame is not None and is_crossed(inner):
        if is_border(frame):
            found = frame
        inner, frame = frame, frame.f_back
    return found
