"""Times as Kubernetes writes them, and a clock that does not stand still while we are suspended.

`leader`, `events` and whoever writes conditions call it.
"""

import functools
import time
from collections.abc import Callable
from datetime import UTC, datetime

_SECOND = 1_000_000_000


def micro_time(nanoseconds: int) -> str:
    """A time since 1970 as a Kubernetes ``MicroTime``: ``2026-01-31T12:00:00.000001Z``."""
    seconds, rest = divmod(nanoseconds, _SECOND)
    return f"{_date(seconds)}.{rest // 1000:06}Z"


def second_time(nanoseconds: int) -> str:
    """A time since 1970 as a Kubernetes ``Time``: ``2026-01-31T12:00:00Z``."""
    return f"{_date(nanoseconds // _SECOND)}Z"


@functools.lru_cache(maxsize=16)  # what is written together is of the same second
def _date(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def _boot_clock() -> Callable[[], float]:
    """Seconds that only grow, the time of a suspended machine included where the system can."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return lambda: time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic


boot_clock = _boot_clock()
