"""The policy's ``async`` functions: an event loop on a thread of their own.

On the loop that serves, one that blocks instead of waiting would stop the whole server. Here it
delays only others of its kind. It cannot be interrupted, so it is named: to those who wait behind
it, in the log and in ``/livez``. One that goes on although it was cancelled is left behind, and
with too many of them no more are asked. What it leaves on the loop, a task or a callback, cannot
end the loop for the others. The thread begins with the first function and does not keep the process
alive.

    look ──"are you there?"──> loop ──"yes"──> all is well
                                └── no answer: a function blocks it, the stack says which

All belongs to the event loop that serves; the other one tells it what happened there.
"""

import asyncio
import logging
import sys
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from types import FrameType, TracebackType
from typing import Any, TypeVar

from mooring.errors import EscapeError
from mooring.extender.decision_turn import NotDecided
from mooring.extender.decision_turns import LOG_PART, PAUSE_SECONDS
from mooring.extender.in_progress import in_progress
from mooring.framework import foreign
from mooring.framework.left_behind import MOST_LEFT_BEHIND
from mooring.framework.running_hook import rule_in, traceback_of, waiting_frames

log = logging.getLogger("mooring.extender")
R = TypeVar("R")


class NotFinished(TimeoutError):  # noqa: N818 - reads as the sentence it stands for
    """A function took too long.

    Attributes:
        where: a traceback that shows where it was then; None if that is not known.
    """

    def __init__(self, where: TracebackType | None) -> None:
        super().__init__("it took too long")
        self.where = where


class _Call:
    """A function that was asked; somebody waits for it, or has given it up.

    Args:
        pod: the pod it is for.
        until: when it is given up.
    """

    def __init__(self, pod: str, until: float) -> None:
        self.pod = pod
        self.until = until
        self.begun = self.is_late = self.is_given_up = False
        self.answer: asyncio.Future[Any] | None = None
        self.coroutine: object = None
        # Where it was when it was given up.
        self.where: TracebackType | None = None

    def __str__(self) -> str:
        rule = rule_in(waiting_frames(self.coroutine))
        what = f"{rule.kind} {rule.name!r}" if rule is not None else "one"
        return f"{what} for pod {self.pod}"


class AsyncFunctions:
    """Runs coroutines elsewhere.

    Args:
        clock: seconds that only grow.
        timeout: the caller's timeout in seconds.
    """

    def __init__(self, clock: Callable[[], float], timeout: float) -> None:
        self._clock = clock
        self._timeout = timeout
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        # Set when the loop may end; by us, and not by a function.
        self._ending = threading.Event()
        # Those that are waited for, and those that have begun and not ended.
        self._open: set[_Call] = set()
        self._running: set[_Call] = set()
        # When the loop was asked whether it is there; None once it has answered.
        self._asked: float | None = None
        self._checked = clock()
        self._named = self._stuck = self._leaky = False

    async def run(self, pod: str, work: Callable[[], Coroutine[Any, Any, R]], seconds: float) -> R:
        """Wait for a coroutine, at most for so long; then `look` has it cancelled.

        Args:
            pod: the pod it is for, as ``namespace/name``.
            work: makes the coroutine.
            seconds: how long it may take.

        Raises:
            NotDecided: another function blocks the loop, or too many do not end.
            NotFinished: it took longer.
            EscapeError: it raised what would close whoever waits for it.
        """
        if why := self.why_stuck():
            raise NotDecided("stuck", f"{why}; no async function runs until it returns")
        if why := self._why_leaky():
            raise NotDecided("stuck", f"{why}; no other is called until one ends")
        asked = self._clock()
        call = _Call(pod, asked + seconds)
        tell = partial(_call_back, asyncio.get_running_loop())

        async def begin() -> R:
            call.begun = True
            call.coroutine = coroutine = work()
            tell(partial(self._running.add, call))
            try:
                return await coroutine
            finally:
                tell(partial(self._running.discard, call))

        future = asyncio.run_coroutine_threadsafe(begin(), self._started())
        call.answer = asyncio.wrap_future(future)
        self._open.add(call)
        try:
            found: R = await call.answer
        except asyncio.CancelledError:
            if not call.is_late or _is_cancelled():
                raise
        except GeneratorExit as error:
            if not call.answer.done():  # it is this coroutine that is closed
                raise
            raise EscapeError(foreign.tell(error).text) from error
        else:
            return found
        finally:
            self._open.discard(call)
            call.is_given_up = True
        held_up = not call.begun or self._is_held_up(pod, seconds)
        self._ask()
        if not held_up:
            raise NotFinished(call.where)
        raise NotDecided(
            "late",
            f"the request waited {self._clock() - asked:.1f}s for its turn{self._behind()}, too "
            f"long for the caller's timeout of {self._timeout:g}s",
        )

    def check_blocked(self) -> None:
        """Give up what took too long, see whether a function blocks the loop; again and again."""
        self._forget_ended()
        now = self._clock()
        pause = now - self._checked - PAUSE_SECONDS
        if self._asked is not None and pause > 0:
            self._asked += pause  # the whole process stood still
        self._checked = now
        self._log_blocked(self.blocked_for())
        for call in self._open:
            if now >= call.until and call.answer is not None and not call.answer.done():
                call.where = traceback_of(self._frames(call))
                call.is_late = call.answer.cancel()
        self._tell_leaky()
        if self._open or self._running:
            self._ask()

    def blocked_for(self) -> float:
        """For how long the loop has not come back from a function; 0 if it has."""
        asked = self._asked
        return 0.0 if asked is None else self._clock() - asked

    def stuck_for(self) -> float:
        """For how long a function has blocked the loop, if that is too long; 0 if all is well."""
        seconds = self.blocked_for()
        return seconds if seconds > self._timeout else 0.0

    def why_stuck(self) -> str:
        """The sentence about a function that blocks the loop; empty if all is well."""
        seconds = self.stuck_for()
        if not seconds:
            return ""
        return (
            f"{self._blocking()} has blocked all async functions for {seconds:.0f}s and cannot "
            f"be interrupted"
        )

    @property
    def left_behind(self) -> int:
        """How many functions have not ended although nobody waits for them any more."""
        return sum(call.is_given_up for call in self._running)

    def stop(self) -> None:
        """Cancel all functions and let the thread end; it is not waited for."""
        loop, self._loop = self._loop, None
        self._ending.set()
        if loop is not None:
            with suppress(RuntimeError):  # it is closed already
                loop.call_soon_threadsafe(loop.stop)

    def _ask(self) -> None:
        self._forget_ended()
        if self._asked is None and self._loop is not None:
            self._asked = self._clock()
            answer = partial(_call_back, asyncio.get_running_loop(), self._answered)
            self._loop.call_soon_threadsafe(answer)

    def _answered(self) -> None:
        self._asked = None

    def _log_blocked(self, seconds: float) -> None:
        if seconds <= LOG_PART * self._timeout:
            if self._stuck:
                log.warning("the async function that was stuck has returned; others run again")
            self._named = self._stuck = False
            return
        if not self._named:
            self._named = True
            log.warning("%s has blocked all async functions for %.1fs", self._blocking(), seconds)
        if seconds > self._timeout and not self._stuck:
            self._stuck = True
            log.error(
                "%s cannot be interrupted; /livez fails and binds are rejected until it returns",
                self._blocking(),
            )

    def _why_leaky(self) -> str:
        count = self.left_behind
        if count < MOST_LEFT_BEHIND:
            return ""
        one = next(call for call in self._running if call.is_given_up)
        return (
            f"{count} calls of async functions have not ended although they were cancelled, one "
            f"of them {one}"
        )

    def _tell_leaky(self) -> None:
        why = self._why_leaky()
        if why and not self._leaky:
            log.error("%s; binds are rejected until one ends", why)
        if self._leaky and not why:
            log.warning("async functions that were cancelled have ended; others run again")
        self._leaky = bool(why)

    def _frames(self, call: _Call) -> list[FrameType]:
        """Where a function waits or, if it runs just now, where it is; the innermost last."""
        waiting = waiting_frames(call.coroutine)
        running: list[FrameType] = []
        frame = sys._current_frames().get(self._thread_id or 0)  # noqa: SLF001
        while frame is not None and waiting:
            running.append(frame)
            if frame is waiting[0]:
                return running[::-1]
            frame = frame.f_back
        return waiting

    def _is_held_up(self, pod: str, seconds: float) -> bool:
        """Whether the function of another pod took most of the time."""
        found = in_progress(self._thread_id)
        return found is not None and found.pod != pod and self.blocked_for() >= seconds / 2

    def _behind(self) -> str:
        found = in_progress(self._thread_id)
        return f" behind {found}{found.where}" if found is not None else ""

    def _blocking(self) -> str:
        found = in_progress(self._thread_id)
        return f"{found}{found.where}" if found is not None else "an async function of the policy"

    def _started(self) -> asyncio.AbstractEventLoop:
        self._forget_ended()
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._ending = threading.Event()
            self._thread = threading.Thread(
                target=_run, args=(self._loop, self._ending), name="wait", daemon=True
            )
            self._thread.start()
        return self._loop

    @property
    def _thread_id(self) -> int | None:
        return self._thread.ident if self._thread is not None else None

    def _forget_ended(self) -> None:
        """Nothing answers on a loop that failed: the next function gets another one."""
        if self._thread is not None and not self._thread.is_alive():
            self._loop = self._thread = self._asked = None
            self._running.clear()


def _run(loop: asyncio.AbstractEventLoop, ending: threading.Event) -> None:
    """On the thread of the functions: run the loop until the server ends, whatever they do to it.

    asyncio lets a `SystemExit` in any task or callback end the loop.
    """
    asyncio.set_event_loop(loop)
    try:
        while not ending.is_set():
            try:
                loop.run_forever()
            except (SystemExit, KeyboardInterrupt) as error:
                told = foreign.tell(error)
                log.error(  # noqa: TRY400 - the error itself may be foreign
                    ("what an async function of the policy left on its event loop tried to end "
                    "the process (%s); the loop continues"), told.text, exc_info=told.error,
                )  # fmt: skip
            else:
                if not ending.is_set():
                    log.error(
                        "an async function of the policy stopped its event loop; the loop continues"
                    )
        with suppress(BaseException):  # nobody waits for what they do when they are cancelled
            loop.run_until_complete(_cancel_others())
    except Exception:
        log.exception("the event loop of the policy's async functions failed; it is replaced")
    finally:
        loop.close()


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _call_back(serving: asyncio.AbstractEventLoop, tell: Callable[[], None]) -> None:
    """On the thread of the functions: tell the loop that serves, if it still does."""
    with suppress(RuntimeError):
        serving.call_soon_threadsafe(tell)


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
