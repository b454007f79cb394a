"""One request's turn on the decision thread: who asks, what is to be done, and the answer.

Made by `decision_turns` on the event loop; the decision thread claims the work. An answer is given
once, by whoever is first: the decision, or the event loop with an error.
"""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from mooring.errors import MooringError
from mooring.http.load_limits import RequestMemory

R = TypeVar("R")


class NotDecided(MooringError):  # noqa: N818 - reads as the sentence it is raised with
    """A request was not decided: too many wait, it waited too long, its caller left, we are ending.

    Attributes:
        kind: ``busy``, ``late``, ``gone``, ``stuck`` or ``stopping``; a label of metrics.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class WaitingCaller:
    """Who waits for an answer.

    Args:
        began: when it began to ask.
        memory: its bytes, and the news that it has hung up; None if nobody can hang up.
    """

    __slots__ = ("began", "memory")

    def __init__(self, began: float, memory: RequestMemory | None = None) -> None:
        self.began = began
        self.memory = memory


class Turn(Generic[R]):
    """One piece of work that waits, is done, or was given up.

    The event loop and the decision thread both `claim` the work: one of them gets it. With it go
    the request's bytes, which are given back by whoever got it.
    """

    __slots__ = ("_answer", "_work", "blamed", "caller", "loop", "started", "undo")

    def __init__(
        self, caller: WaitingCaller, work: Callable[[], R], undo: Callable[[R], None] | None
    ) -> None:
        self.caller = caller
        self._work = [work]
        self.undo = undo
        self.started: float | None = None
        #: Whether its function counts as one that hung, although it has not returned.
        self.blamed = False
        self.loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[R] | None = self.loop.create_future()
        if caller.memory is not None:
            caller.memory.hold()

    def claim(self) -> Callable[[], R] | None:
        """The work, for the first one who asks."""
        try:
            return self._work.pop()
        except IndexError:
            return None

    def withdraw(self) -> None:
        """Do not do the work, if it has not begun."""
        if self.claim() is not None:
            self.let_go()

    def let_go(self) -> None:
        """The work, and the request's bytes in it, is no more."""
        if self.caller.memory is not None:
            self.caller.memory.release()

    @property
    def is_answered(self) -> bool:
        """Whether nobody waits for the answer any more; true or false on any thread."""
        answer = self._answer
        return answer is None or answer.done()

    async def wait(self) -> R:
        """The answer, once it is there."""
        try:
            return await self._waiting()
        finally:
            # An error keeps the frames it came through, and they keep the request's bytes: nothing
            # that lives on, and no frame among them, may keep the error.
            self._answer = None
            self.withdraw()

    def _waiting(self) -> "asyncio.Future[R]":
        if self._answer is None:
            raise RuntimeError("a turn is waited for once")
        return self._answer

    def answer(self, result: R, error: BaseException | None = None) -> bool:
        """Give the answer; whether anybody waited for it."""
        waiting = self._answer
        if waiting is None or waiting.done():
            return False
        if error is None:
            waiting.set_result(result)
        else:
            waiting.set_exception(error)
        return True

    def give_up(self, error: Exception) -> None:
        """Answer with an error; what is being done goes on, but nobody waits for it."""
        self.withdraw()
        waiting = self._answer
        if waiting is not None and not waiting.done():
            waiting.set_exception(error)


def gone() -> NotDecided:
    """The error for a request whose caller has hung up."""
    return NotDecided("gone", "the caller closed the connection before its request was processed")
