"""Interrupting foreign code that computes for ever on a thread other than the main one.

Nobody can end a thread from outside; Python can raise an exception in it, and does so when it next
runs. Whoever sleeps or waits would not hear of it, and until somebody does, Python 3.11 looks for
it at every call of every thread: so only a thread that computes is interrupted. One that waits
costs nothing.

Used by `policy_reloading`, and by `testing.loop_thread`. Who calls this must not need the thread's
work any more.
"""

import ctypes
import sys
import threading
import time
from typing import Final

from mooring.framework.foreign import Interruption, crossing

#: A thread that uses this part of a core computes, and does not wait.
_COMPUTING: Final = 0.02


def interrupt(thread: threading.Thread) -> None:
    """Raise `Interruption` in a thread, wherever it is a moment later."""
    number = ctypes.c_ulong(thread.ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(number, ctypes.py_object(Interruption))


def computes(seconds: float, used: float) -> bool:
    """Whether a thread computes.

    Args:
        seconds: how long it was looked at.
        used: the CPU time that it used meanwhile.
    """
    return used > _COMPUTING * seconds


def cpu_seconds(thread: threading.Thread) -> float:
    """The CPU time that a thread has used; 0 where that cannot be found out."""
    try:
        return time.clock_gettime(time.pthread_getcpuclockid(thread.ident or 0))
    except (AttributeError, OSError):  # not on this platform, or the thread is gone
        return 0.0


class AbandonedThreads:
    """Threads in foreign code whose result nobody waits for any more."""

    def __init__(self) -> None:
        #: For each thread when it was looked at, and the CPU time it had used by then.
        self._looks: dict[threading.Thread, tuple[float, float]] = {}

    def add(self, thread: threading.Thread) -> None:
        """Nobody waits for this one any more."""
        self._looks[thread] = time.monotonic(), cpu_seconds(thread)

    def look(self) -> int:
        """Interrupt those that compute; how many there still are."""
        for thread, (then, used) in list(self._looks.items()):
            if not thread.is_alive():
                del self._looks[thread]
                continue
            now, uses = time.monotonic(), cpu_seconds(thread)
            self._looks[thread] = now, uses
            # Nothing else runs while it is looked at: it is still in this frame when it is struck.
            frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001
            if computes(now - then, uses - used) and crossing(frame) is not None:
                interrupt(thread)
        return len(self._looks)
