"""Times in objects, as controllers compare and write them."""

import functools
from datetime import datetime

from mooring.kube.timestamps import second_time


def format_time(now: float) -> str:
    """A time as objects have it: ``2026-01-31T12:00:00Z``."""
    return second_time(int(now * 1e9))


@functools.lru_cache(maxsize=1024)
def parse_time(text: str) -> float:
    """A time of an object in seconds since 1970; 0 if it is none."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0
