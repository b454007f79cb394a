"""Logging when a scheduler is not ready any more, and when it is again.

``/readyz`` shows it to whoever asks; later nobody can ask. One line for each change, whatever else
is logged meanwhile. That it is not ready yet, or stops, is logged by others. `lifecycle` runs it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from mooring.live.health import Health

log = logging.getLogger("mooring.live")

#: It looks so often. What fails together is mostly logged together then.
_PAUSE_SECONDS: Final = 2.0


class ReadinessLog:
    """Watches the checks of ``/readyz``.

    Args:
        health: has them.
    """

    def __init__(self, health: Health) -> None:
        self._health = health
        #: The names of the checks that fail; None before the process was ready for the first time.
        self._failing: frozenset[str] | None = None

    def check(self) -> None:
        """Log what has changed since the last time."""
        if self._health.stopping:
            return
        asked = {check.name: check.problem() for check in self._health.ready_checks()}
        problems = {name: problem for name, problem in asked.items() if problem}
        failing = frozenset(problems)
        if failing == self._failing or (self._failing is None and failing):
            return
        if failing:
            log.warning("no longer ready: %s", "; ".join(problems.values()))
        elif self._failing is not None:
            log.info("ready again")
        self._failing = failing

    async def run(self, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
        """Look again and again, until cancelled."""
        while True:
            self.check()
            await sleep(_PAUSE_SECONDS)
