"""Turns on the decision thread: who waits for one, for how long at most, and who is rejected.

A request is answered before its caller gives up, whatever the policy does:

    asked ──> waits for its turn ──> decided ──> answered
                │                      │ 0.8 × timeout: the function is interrupted, an error
                │                      │ 0.94 × timeout: not interruptible, an error all the same
                ├── too many wait: rejected at once
                ├── a function is stuck: rejected at once
                ├── the caller hung up: dropped
                └── 0.9 × timeout: an error that names what it waited for

All belongs to the event loop, except what `_run_turn` does on the decision thread. The clock is
passed in; `check_timeouts` is called again and again by `ExtenderService`.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import get_ident
from typing import Any, Final, Protocol, TypeVar

from mooring.errors import MooringError, PolicyError
from mooring.extender.decision_thread import DecisionQueue
from mooring.extender.decision_turn import NotDecided, Turn, WaitingCaller, gone
from mooring.extender.in_progress import InProgress, in_progress
from mooring.wording import are, counted

log = logging.getLogger("mooring.extender")
R = TypeVar("R")

#: The part of the caller's timeout that functions may take.
FUNCTION_PART: Final = 0.8
#: The part after which a request that waits for its turn is answered in any case.
_ANSWER_PART: Final = 0.9
#: The part after which one is answered whose function should have been interrupted by now.
_GIVE_UP_PART: Final = 0.94
#: The part after which the log names a function that has not returned.
LOG_PART: Final = 0.5
#: More than this between two looks means that the process was stopped.
PAUSE_SECONDS: Final = 1.0


class TimeLimit(Protocol):
    """What interrupts a function, if anything can: `Deadline`, in practice."""

    def begin(self, seconds: float | None = None) -> None:
        """Another piece of work begins, which may take so long."""

    def expire(self, why: str) -> None:
        """Interrupt the work as soon as possible; from another thread."""


class Turns:
    """Who decides next.

    Args:
        decisions: what the decision thread has to do.
        timeout: the caller's timeout in seconds.
        limit: how many requests may wait.
        before: called on the decision thread before each piece of work.
        clock: seconds that only grow.
        interrupt: what interrupts functions; None if nothing can.
    """

    def __init__(
        self,
        decisions: DecisionQueue,
        *,
        timeout: float,
        limit: int,
        before: Callable[[], None],
        clock: Callable[[], float],
        interrupt: TimeLimit | None = None,
    ) -> None:
        self.timeout = timeout
        self.limit = limit
        self._decisions = decisions
        self._before = before
        self._clock = clock
        self._interrupt = interrupt
        self._open: dict[Turn[Any], None] = {}
        self._current: Turn[Any] | None = None
        self._stopping = ""
        self._checked = clock()
        self._named: Turn[Any] | None = None
        # The function that the log has named last, and when its turn was over.
        self._slow: InProgress | None = None
        self._slow_until = 0.0
        self._stuck: Turn[Any] | None = None
        #: Called once with a function that cannot be interrupted.
        self.on_stuck: Callable[[InProgress], None] = lambda _: None

    @property
    def waiting(self) -> int:
        """How many requests wait for an answer, the one that is being decided included."""
        return len(self._open)

    def run_later(self, call: Callable[[], None]) -> None:
        """Do something on the decision thread for which nobody waits."""
        self._decisions.put(call)

    def functions_within(self, caller: WaitingCaller) -> float:
        """How many seconds functions still have for this caller."""
        return max(caller.began + FUNCTION_PART * self.timeout - self._clock(), 0.0)

    def answer_within(self, caller: WaitingCaller) -> float:
        """How many seconds there still are to answer this caller."""
        return max(caller.began + _ANSWER_PART * self.timeout - self._clock(), 0.0)

    async def run(
        self, caller: WaitingCaller, work: Callable[[], R], undo: Callable[[R], None] | None = None
    ) -> R:
        """Do a piece of work on the decision thread and wait for what comes of it.

        Args:
            caller: who waits.
            work: what is to be done.
            undo: done on the decision thread with the result if nobody waits for it any more.

        Raises:
            NotDecided: it was not done, or not in time.
        """
        memory = caller.memory
        if memory is not None and memory.gone:
            raise gone()
        self._reject()
        turn = Turn(caller, work, undo)
        self._open[turn] = None
        if memory is not None:
            memory.when_gone(lambda: turn.give_up(gone()))
        self._decisions.put(partial(self._run_turn, turn))
        try:
            return await turn.wait()
        finally:
            del self._open[turn]
            if memory is not None:
                memory.when_gone(None)

    def stuck_for(self) -> float:
        """For how long a function has not returned that should have; 0 if all is well."""
        turn = self._current
        if turn is None or turn.started is None:
            return 0.0
        seconds = self._clock() - turn.started
        return seconds if seconds > self.timeout else 0.0

    def why_stuck(self) -> str:
        """The sentence about a function that does not return; empty if all is well."""
        seconds = self.stuck_for()
        if not seconds:
            return ""
        found = in_progress(self._decisions.thread_id)
        what = str(found) if found is not None else "a decision"
        return f"{what} {_not_returned(f'{seconds:.0f}')} and cannot be interrupted"

    def is_blamed(self) -> bool:
        """Whether `on_stuck` was called for the function that runs; on the decision thread."""
        turn = self._current
        return turn is not None and turn.blamed and get_ident() == self._decisions.thread_id

    def check_timeouts(self) -> None:
        """See who has waited too long, and for what."""
        now = self._clock()
        turn, pause = self._current, now - self._checked - PAUSE_SECONDS
        if turn is not None and turn.started is not None and pause > 0:
            turn.started += pause  # the whole process stood still
        self._checked = now
        self._check_current(now)
        late = [turn for turn in self._open if self._is_late(turn, now)]
        if late:
            found = in_progress(self._decisions.thread_id)
            for turn in late:
                behind = self._held_up(turn) if turn.started is None else None
                error = self._late(turn, now, behind or found)
                if isinstance(error, PolicyError):
                    self._blame(turn, found)
                turn.give_up(error)

    def _is_late(self, turn: Turn[Any], now: float) -> bool:
        part = _ANSWER_PART if turn is not self._current else _GIVE_UP_PART
        return now - turn.caller.began >= part * self.timeout and not turn.is_answered

    def stop(self, why: str) -> None:
        """Decide nothing more: who waits gets an error, the function that runs is interrupted."""
        self._stopping = why
        for turn in list(self._open):
            if turn is not self._current:
                turn.give_up(NotDecided("stopping", why))
        if self._interrupt is not None:
            self._interrupt.expire(why)

    def abandon(self) -> None:
        """Leave behind what could not be interrupted, with an answer."""
        for turn in list(self._open):
            turn.give_up(NotDecided("stopping", self._stopping))

    def _reject(self) -> None:
        if self._stopping:
            raise NotDecided("stopping", self._stopping)
        if stuck := self.why_stuck():
            raise NotDecided("stuck", f"{stuck}; no request can be processed until it does")
        if len(self._open) >= self.limit:
            raise NotDecided(
                "busy",
                f"{counted(len(self._open), 'request')} {are(len(self._open))} already "
                "waiting, which is "
                f"the maximum (--max-waiting); try again later",
            )

    def _run_turn(self, turn: Turn[Any]) -> None:
        """On the decision thread: do a piece of work."""
        work = turn.claim()
        if work is None:
            return
        now = self._clock()
        left = turn.caller.began + FUNCTION_PART * self.timeout - now
        result: Any = None
        error: BaseException | None = None
        if left <= 0:
            error = self._late(turn, now, self._held_up(turn))
        else:
            turn.started, self._current = now, turn
            if self._interrupt is not None:
                self._interrupt.begin(left)
            try:
                self._before()
                result = work()
            except BaseException as raised:  # noqa: BLE001 - it is raised where it is awaited
                error = raised
            self._current = None
            if turn is self._named:
                self._slow_until = self._clock()
        del work
        try:
            if turn.is_answered and error is None and turn.undo is not None:
                # Before anybody else's turn; if it is given up after this, `_finish` sees to it.
                undo, turn.undo = turn.undo, None
                undo(result)
        finally:
            with suppress(RuntimeError):  # the loop is closed: nobody waits for anything any more
                turn.loop.call_soon_threadsafe(self._finish, turn, result, error)

    def _finish(self, turn: Turn[R], result: R, error: BaseException | None) -> None:
        turn.let_go()
        if not turn.answer(result, error) and error is None and turn.undo is not None:
            self._decisions.put(partial(turn.undo, result))

    def _check_current(self, now: float) -> None:
        turn = self._current
        if self._stuck is not None and turn is not self._stuck:
            log.warning("the function that was stuck has returned; requests are processed again")
            self._stuck = None
        if turn is None or turn.started is None:
            return
        seconds = now - turn.started
        if seconds > LOG_PART * self.timeout and turn is not self._named:
            self._slow = found = in_progress(self._decisions.thread_id)
            self._slow_until, self._named = float("inf"), turn
            if self._current is not turn:  # it was over meanwhile, and this may be of the next one
                self._slow, self._slow_until = None, now
                return
            if found is not None:
                log.warning("%s %s%s", found, _not_returned(f"{seconds:.1f}"), found.where)
        if seconds > self.timeout and turn is not self._stuck:
            self._stuck = turn
            found = in_progress(self._decisions.thread_id)
            log.error(
                ("%s%s cannot be interrupted; /livez fails and requests are rejected until it "
                "returns"),
                found if found is not None else "a decision", found.where if found else "",
            )  # fmt: skip
            self._blame(turn, found)

    def _blame(self, turn: Turn[Any], found: InProgress | None) -> None:
        if found is not None and not turn.blamed:
            turn.blamed = True
            self.on_stuck(found)

    def _held_up(self, turn: Turn[Any]) -> InProgress | None:
        """The slow function whose turn was over after this one began to wait, if there is one."""
        return self._slow if self._slow_until >= turn.caller.began else None

    def _late(self, turn: Turn[Any], now: float, found: InProgress | None) -> MooringError:
        waited = now - turn.caller.began
        if turn.started is not None and found is not None:
            return PolicyError(
                f"{found} {_not_returned(f'{now - turn.started:.1f}')} and cannot be "
                f"interrupted; the caller's timeout is {self.timeout:g}s",
                function=found.rule.name,
                node=found.node or None,
                pod=found.pod,
            )
        behind = f" behind {found}{found.where}" if found is not None else ""
        return NotDecided(
            "late",
            f"the request waited {waited:.1f}s for its turn{behind}, too long for the caller's "
            f"timeout of {self.timeout:g}s",
        )


def _not_returned(seconds: str) -> str:
    # A function is asked for one node after the other: nobody knows when it was asked for this one.
    return f"has not returned {seconds}s after the decision began"
