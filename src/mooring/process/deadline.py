"""Interrupting foreign code that does not come back.

Policies and plugins run on the main thread. A timer of the operating system rings several times
within the limit, and each time looks at the stack that it interrupts:

    foreign code ──────────> its time goes on; past the limit, `Interruption` is raised in it
    mooring's own code ────> nothing, whoever called it: the state may be half changed.
                             If the limit is over, it looks again in a moment.

So the limit can neither break the state nor strike when nobody is late. Time during which the whole
process was stopped does not count. Code that is stuck outside of Python cannot be interrupted.
"""

import gc
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Generator
from types import FrameType
from typing import Any, Final, TypeVar

from mooring.framework.foreign import (
    Interruption,
    crossing,
    first_crossing,
    interruption_in,
)
from mooring.framework.interruptions import interrupted
from mooring.wording import counted

T = TypeVar("T")

#: The timer rings so often within the limit.
_RINGS: Final = 20
#: No two rings are farther apart than this, in seconds.
_MOST_SECONDS: Final = 0.5
#: It looks again after this time when mooring's own code could not be interrupted.
_MOMENT_SECONDS: Final = 0.002
#: Who has less than this part of the limit has waited for its turn before.
_NEARLY_ALL: Final = 0.9


class Deadline:
    """A time limit for foreign code, in force from `start` to `stop`, on the main thread alone.

    Args:
        seconds: how long it may take for one piece of work.
        clock: seconds that only grow.
        ignored: called with how many interruptions foreign code has caught and gone on, and with
            its innermost frame.
    """

    def __init__(
        self,
        seconds: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        ignored: Callable[[int, FrameType | None], object] | None = None,
    ) -> None:
        self.seconds = seconds
        self._clock = clock
        self._apart = min(seconds / _RINGS, _MOST_SECONDS)
        self._limit = seconds
        self._what = "the decision"
        self._expired = ""
        self._spent = 0.0
        self._last: float | None = None
        self._interruptions = 0
        self._interrupted: FrameType | None = None
        self._ignored = ignored
        self._before: Any = None
        self._usable = False
        # Nobody sends SIGALRM once `stop` gives it back: it could end the process.
        self._sending = threading.Lock()

    def start(self) -> None:
        """Put the limit in force; without effect on another thread than the main one."""
        if not self._usable and threading.current_thread() is threading.main_thread():
            self._usable = True
            self._before = signal.signal(signal.SIGALRM, self._ring)
            signal.setitimer(signal.ITIMER_REAL, self._apart, self._apart)

    def stop(self) -> None:
        """Limit nothing any more."""
        if self._usable:
            with self._sending:
                self._usable = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)

    def __enter__(self) -> "Deadline":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def begin(self, seconds: float | None = None, what: str = "the decision") -> None:
        """Another piece of work begins, which has the whole time again.

        Args:
            seconds: what is left of the time, if it began to count before.
            what: the piece of work, in sentences.
        """
        self._what = what
        self._limit = self.seconds if seconds is None else min(seconds, self.seconds)
        self._spent = 0.0
        self._last = None
        self._interrupted = None

    def expire(self, why: str) -> None:
        """No foreign code has any time from now on: interrupt what runs. From any thread.

        Args:
            why: completes a sentence, such as "the server is shutting down".
        """
        self._expired = why
        main = threading.main_thread().ident
        with self._sending:
            if self._usable and main is not None:
                signal.pthread_kill(main, signal.SIGALRM)

    async def each_step(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine; the limit is for each stretch of it that waits for nobody."""
        result: T = await _Steps(self, work)
        return result

    def _ring(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self._usable and self.check(frame):
            signal.setitimer(signal.ITIMER_REAL, _MOMENT_SECONDS, self._apart)

    def check(self, frame: FrameType | None) -> bool:
        """See what runs now; whether the time is over and nobody could be interrupted.

        Args:
            frame: the innermost frame.

        Raises:
            Interruption: in foreign code whose time is over.
        """
        now = self._clock()
        if self._last is not None:
            # More than two rings' time means that the whole process stood still.
            self._spent += min(now - self._last, 2 * self._apart)
        foreign = first_crossing(frame)
        self._last = now if foreign is not None else None
        if foreign is None or (self._spent < self._limit and not self._expired):
            return False
        if crossing(frame) is None or _in_collector(frame):
            return True
        # Who catches everything is interrupted again, but not while this one is on its way out.
        self._spent = self._limit / 2
        # Another call from mooring means that the one before came back: it ignored nothing.
        same = foreign is self._interrupted
        self._interrupted = foreign
        self._interruptions = self._interruptions + 1 if same else 1
        if self._ignored is not None and self._interruptions > 1:
            self._ignored(self._interruptions - 1, frame)
        raise Interruption(interrupted(self._expired or self._late()))

    def _late(self) -> str:
        # What was left of the limit is another number each time, and events are counted by text.
        waited = self._limit < _NEARLY_ALL * self.seconds
        return (
            f"{self._what} took longer than {counted(self.seconds, 'second')}"
            f"{', waiting for its turn included' if waited else ''}"
        )


def _in_collector(frame: FrameType | None) -> bool:
    """Whether the garbage collector calls back just now: what is raised there is lost."""
    codes = {getattr(one, "__code__", None) for one in gc.callbacks}
    while frame is not None and frame.f_code not in codes:
        frame = frame.f_back
    return frame is not None


def was_interrupted(error: BaseException | None) -> bool:
    """Whether an error comes from an interruption."""
    return interruption_in(error) is not None


class _Steps:
    """A coroutine each of whose steps is a piece of work of its own."""

    def __init__(self, deadline: Deadline, work: Coroutine[Any, Any, T]) -> None:
        self._deadline = deadline
        self._work = work

    def __await__(self) -> Generator[Any, Any, Any]:
        work = self._work
        answer: Any = None
        error: BaseException | None = None
        try:
            while True:
                self._deadline.begin(what="a step without an await")
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
