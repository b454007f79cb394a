"""So many at a time, the others in their order; `pool` has some, and the scheduler's client.

    take ──one is free──> taken ──give_back──> free, or taken by whoever waits longest
      └──none is free──> wait ──┘

`asyncio.Semaphore` does the same with four coroutines, which is too much for each of a thousand
requests a second.
"""

import asyncio
from collections import deque


class Slots:
    """A bounded number of slots.

    Args:
        most: so many can be taken at a time.
    """

    __slots__ = ("_free", "_waiting")

    def __init__(self, most: int) -> None:
        self._free = most
        # A slot that is given back while somebody waits is never free in between.
        self._waiting: deque[asyncio.Future[None]] = deque()

    def take(self) -> bool:
        """Take a slot if one is free; then call `give_back`. If none is, `wait`."""
        if self._free:
            self._free -= 1
            return True
        return False

    async def wait(self) -> None:
        """Wait for a slot; then call `give_back`. Who is cancelled has none."""
        slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(slot)
        try:
            await slot
        except asyncio.CancelledError:
            if not slot.cancelled():
                self.give_back()  # it came at the same moment
            elif slot in self._waiting:
                self._waiting.remove(slot)
            raise

    def give_back(self) -> None:
        """A slot is not needed any more."""
        while self._waiting:
            slot = self._waiting.popleft()
            if not slot.done():
                slot.set_result(None)
                return
        self._free += 1
