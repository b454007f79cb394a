"""A clock that does not stand still while the machine is suspended. `leader` reads it."""

import time
from collections.abc import Callable


def _boot_clock() -> Callable[[], float]:
    """Seconds that only grow, the time of a suspended machine included where the system can."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return lambda: time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic


boot_clock = _boot_clock()
