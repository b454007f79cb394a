"""Times as Kubernetes writes them.

`leader`, `events` and whoever writes conditions call it; it reads no clock.
"""

import functools
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
