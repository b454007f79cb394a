"""Log lines that repeat: the first in full, the others counted.

A policy that fails on every request, or a caller that sends nonsense all day, must not flood the
log. Used by the extender; the clock is passed in. Belongs to one thread.

    first ──> logged in full ──> others within the minute: counted
                                     └── the minute is over: "12 more like this in the last 60 s"
                                         none came: the next one is logged in full again
"""

import logging
from collections.abc import Callable, Hashable
from typing import Final

from mooring.log_kinds import COUNTED

_MAX_KEYS: Final = 200
_OTHERS: Final = "others"


class _Kind:
    __slots__ = ("level", "more", "since", "text")

    def __init__(self, since: float, level: int, text: str) -> None:
        self.since, self.level, self.text, self.more = since, level, text, 0


class RepeatedLogLines:
    """Logs what may come in floods.

    Args:
        logger: where.
        clock: seconds that only grow.
        seconds: how long others of the same kind are counted only.
    """

    def __init__(
        self, logger: logging.Logger, clock: Callable[[], float], *, seconds: float = 60.0
    ) -> None:
        self._log = logger
        self._clock = clock
        self._seconds = seconds
        self._kinds: dict[Hashable, _Kind] = {}

    def log(
        self, kind: Hashable, level: int, text: str, error: BaseException | None = None
    ) -> None:
        """Log a line, unless one of its kind was logged lately.

        Args:
            kind: what makes two lines alike, such as a function's name.
            level: as in `logging`.
            text: the line.
            error: its traceback is logged with the first one.
        """
        if kind not in self._kinds and len(self._kinds) >= _MAX_KEYS:
            kind = _OTHERS
        known = self._kinds.get(kind)
        now = self._clock()
        if known is not None and now - known.since >= self._seconds:
            known = self._close(kind, known, now)
        if known is not None:
            known.more += 1
            known.text = text
            return
        self._kinds[kind] = _Kind(now, level, text)
        self._log.log(level, "%s", text, exc_info=error, extra=COUNTED)

    def tick(self) -> None:
        """Report what was counted, where the time is over; call it from time to time."""
        now = self._clock()
        for kind, known in list(self._kinds.items()):
            if now - known.since >= self._seconds:
                self._close(kind, known, now)

    def flush(self) -> None:
        """Report all that was counted; nothing comes after it."""
        now = self._clock()
        for kind, known in list(self._kinds.items()):
            self._close(kind, known, now)

    def _close(self, kind: Hashable, known: _Kind, now: float) -> _Kind | None:
        """Report one kind; what is known of it from now on."""
        if not known.more:
            del self._kinds[kind]
            return None
        self._log.log(
            known.level, "%d more like this in the last %.0f s, the latest: %s",
            known.more, now - known.since, known.text, extra=COUNTED,
        )  # fmt: skip
        known.since, known.more = now, 0
        return known
