"""Turns with a clock and a decision thread of the test's own: nothing here waits for real time."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from mooring.errors import MooringError
from mooring.extender.decision_thread import DecisionQueue
from mooring.extender.decision_turn import NotDecided, WaitingCaller
from mooring.extender.decision_turns import Turns
from mooring.http.load_limits import LoadLimits


@dataclass
class Interrupt:
    """What would interrupt functions."""

    limits: list[float | None] = field(default_factory=list)
    expired: list[str] = field(default_factory=list)

    def begin(self, seconds: float | None = None) -> None:
        self.limits.append(seconds)

    def expire(self, why: str) -> None:
        self.expired.append(why)


class Rig:
    """Turns, with everything around them in the hands of the test."""

    def __init__(self, limit: int = 3) -> None:
        self.now = 100.0
        self.interrupt = Interrupt()
        self.decisions = DecisionQueue()
        self.before = 0
        self.load_limits = LoadLimits(1000)
        self.turns = Turns(
            self.decisions,
            timeout=10.0,
            limit=limit,
            before=self._count,
            clock=lambda: self.now,
            interrupt=self.interrupt,
        )

    def _count(self) -> None:
        self.before += 1

    def caller(self, size: int = 0) -> WaitingCaller:
        memory = self.load_limits.open()
        memory.add(size)
        return WaitingCaller(self.now, memory)

    async def ask(self, work: Callable[[], object], caller: WaitingCaller | None = None) -> object:
        """Ask as the application does: its hold on the bytes ends with the answer."""
        caller = caller if caller is not None else self.caller()
        try:
            return await self.turns.run(caller, work)
        except MooringError as error:
            return error
        finally:
            assert caller.memory is not None
            caller.memory.release()

    def start(self, work: Callable[[], object], caller: WaitingCaller | None = None) -> "Asked":
        return asyncio.ensure_future(self.ask(work, caller))

    async def settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)

    def decide_all(self) -> None:
        """Let the decision thread do all that waits for it, on this thread."""
        self.decisions.stop()
        self.decisions.run()

    def decide_elsewhere(self) -> threading.Thread:
        thread = threading.Thread(target=self.decisions.run, daemon=True)
        thread.start()
        return thread


Asked = asyncio.Future[object]


def run(test: Callable[[Rig], Awaitable[None]], **options: int) -> None:
    async def main() -> None:
        rig = Rig(**options)
        await test(rig)
        await rig.settle()
        assert rig.turns.waiting == 0
        assert rig.load_limits.bytes == 0

    asyncio.run(main())


def kind(error: object) -> str:
    assert isinstance(error, NotDecided), error
    return error.kind
