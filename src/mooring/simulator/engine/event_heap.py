"""Virtual time: what is to happen when. Owned by a simulation; every part of it puts actions here.

Actions of the same time happen in the order in which they were put here. Background actions, such
as looking after the cluster every ten seconds, do not keep a simulation going.
"""

import heapq
from collections.abc import Callable

Action = Callable[[], object]


class EventHeap:
    """Actions by their time.

    Attributes:
        now: the virtual time, in seconds since the beginning.
        foreground: how many actions there are that keep the simulation going.
    """

    __slots__ = ("_count", "_heap", "foreground", "now")

    def __init__(self) -> None:
        self.now = 0.0
        self.foreground = 0
        self._count = 0
        self._heap: list[tuple[float, int, bool, Action]] = []

    def at(self, time: float, action: Action, *, background: bool = False) -> None:
        """Do something at a time; at once if that is over."""
        self._count += 1
        if not background:
            self.foreground += 1
        now = self.now
        heapq.heappush(self._heap, (max(now, time), self._count, background, action))

    def after(self, seconds: float, action: Action, *, background: bool = False) -> None:
        """Do something in so many seconds."""
        self.at(self.now + seconds, action, background=background)

    def next_time(self) -> float | None:
        """When the next action is due; None if there is none."""
        return self._heap[0][0] if self._heap else None

    def step(self) -> None:
        """Let the time of the next action come, and do it."""
        self.now, _, background, action = heapq.heappop(self._heap)
        if not background:
            self.foreground -= 1
        action()
