"""Ctrl-C in a simulation: noticed between two steps, so that what there is can be printed.

A second Ctrl-C ends the command at once.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def noticing_interruption() -> Iterator[Callable[[], bool]]:
    """Note the first Ctrl-C in a block instead of raising; says whether there was one."""
    noticed = False

    def notice(_: int, __: FrameType | None) -> None:
        nonlocal noticed
        noticed = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, notice)
    try:
        yield lambda: noticed
    finally:
        signal.signal(signal.SIGINT, before)
