"""How long ago something was, in the few characters that a column of a table has.

Owns the wording; the columns of all tables call it. The time now is passed in.
"""

import functools
from datetime import datetime

_MINUTE = 60

UNKNOWN = "<unknown>"


def age(timestamp: str | None, now: float) -> str:
    """How long ago a time was, such as ``5m30s``; a missing one is ``<unknown>``."""
    return duration(now - seconds(timestamp)) if timestamp else UNKNOWN


@functools.lru_cache(maxsize=4096)  # what is made together has the same time
def seconds(timestamp: str) -> float:
    """A time as Kubernetes writes it, in seconds since 1970."""
    return datetime.fromisoformat(timestamp).timestamp()


def duration(length: float) -> str:
    """A length of time with two or three digits that matter."""
    # parity v1.36.4: apimachinery/pkg/util/duration/duration.go HumanDuration
    whole = int(length)
    if whole < -1:
        return "<invalid>"
    if whole < 2 * _MINUTE:
        return f"{max(whole, 0)}s"
    minutes, rest = divmod(whole, _MINUTE)
    if minutes < 10:
        return f"{minutes}m{rest}s" if rest else f"{minutes}m"
    if minutes < 3 * 60:
        return f"{minutes}m"
    hours, rest = divmod(minutes, 60)
    if hours < 8:
        return f"{hours}h{rest}m" if rest else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    days, rest = divmod(hours, 24)
    if days < 8:
        return f"{days}d{rest}h" if rest else f"{days}d"
    if days < 2 * 365:
        return f"{days}d"
    years, rest = divmod(days, 365)
    if years < 8:
        return f"{years}y{rest}d" if rest else f"{years}y"
    return f"{years}y"
