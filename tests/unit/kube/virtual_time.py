"""A time that only passes when a test says so, for things that sleep and look at clocks."""

import asyncio
import heapq
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from mooring.kube.reflector import Pacing


@dataclass
class VirtualTime:
    """Sleepers wake in the order of their times; nobody really waits.

    Attributes:
        now: seconds.
        on_step: called whenever everybody has settled, to check what must always hold.
    """

    now: float = 1000.0
    on_step: Callable[[], object] = lambda: None
    _sleepers: list[tuple[float, int, asyncio.Future[None]]] = field(default_factory=list)
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    async def sleep(self, seconds: float) -> None:
        waker: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now + max(seconds, 0), next(self._numbers), waker))
        await waker

    def clock(self) -> float:
        return self.now

    def now_ns(self) -> int:
        return round(self.now * 1e6) * 1000

    def pacing(
        self, *, offset: float = 0.0, rate: float = 1.0, random: Callable[[], float] = lambda: 0.0
    ) -> Pacing:
        """The time as a machine sees it whose clock is wrong, or runs at another speed."""

        def sleep(seconds: float) -> Awaitable[None]:
            return self.sleep(seconds / rate)

        return Pacing(
            sleep=sleep, idle=sleep, clock=lambda: self.now * rate + offset, random=random
        )

    async def settle(self) -> None:
        """Let everybody run who can run without time passing."""
        for _ in range(30):
            await asyncio.sleep(0)
        self.on_step()

    async def pass_by(self, seconds: float) -> None:
        """Let time pass, waking sleepers one moment after the other."""
        end = self.now + seconds
        await self.settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            self.now = max(self.now, self._sleepers[0][0])
            while self._sleepers and self._sleepers[0][0] <= self.now:
                waker = heapq.heappop(self._sleepers)[2]
                if not waker.done():
                    waker.set_result(None)
            await self.settle()
        self.now = end
        await self.settle()

    async def until(self, condition: Callable[[], bool], most: float = 600.0) -> None:
        """Let time pass until something holds, looking at least every tenth of a second."""
        end = self.now + most
        await self.settle()
        while not condition():
            assert self.now < end, "timed out waiting"
            step = 0.1
            if self._sleepers:
                step = min(step, max(self._sleepers[0][0] - self.now, 0.0))
            await self.pass_by(step)
