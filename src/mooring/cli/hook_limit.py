"""A time limit for plugins in commands that ask them and then end: ``moor explain``, ``moor demo``.

A plugin may catch every interruption, Ctrl-C included. Then nothing is left but to end the process
inside of it, as ``moor run`` does.
"""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final

from mooring.cli.standard_streams import print_error
from mooring.framework.foreign import is_crossed
from mooring.framework.running_hook import asked_in, where_in
from mooring.process.deadline import Deadline
from mooring.process.exiting import exit_now
from mooring.wording import counted

#: As in `moor run`.
_MOST_IGNORED: Final = 5
_WRONG_INPUT: Final = 2
_CTRL_C: Final = 130


def hook_deadline(seconds: float) -> Deadline:
    """A limit for plugins in a command that treats Ctrl-C itself; use it with ``with``."""
    return Deadline(seconds, ignored=_stubborn)


@contextlib.contextmanager
def hook_limit(seconds: float) -> Iterator[Deadline]:
    """Limit plugins for the length of a block, in which Ctrl-C ends the process inside them, too.

    Args:
        seconds: how long they may take for one decision; `Deadline.begin` begins another.
    """
    with Deadline(seconds, ignored=_stubborn) as deadline, ctrl_c_inside_hooks():
        yield deadline


@contextlib.contextmanager
def ctrl_c_inside_hooks(exit_now: Callable[[int], object] = exit_now) -> Iterator[None]:
    """Let Ctrl-C end the process inside a plugin for the length of a block.

    Outside of plugins it does what it did before; nor does it more if it is ignored.

    Args:
        exit_now: ends the process at once, with an exit code.
    """
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupted(number: int, frame: FrameType | None) -> None:
        if is_crossed(frame):
            with contextlib.suppress(RuntimeError):  # as below
                print_error("interrupted")
            exit_now(_CTRL_C)
        before(number, frame)

    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _stubborn(times: int, frame: FrameType | None) -> None:
    """A plugin catches every interruption.

    Args:
        times: how many it has caught.
        frame: the innermost one, in which it is now.
    """
    if times < _MOST_IGNORED:
        return
    who, where, often = asked_in(frame), where_in(frame), counted(times, "interruption")
    # It may be in the middle of writing a line itself; then there is none.
    with contextlib.suppress(RuntimeError):
        print_error(f"{who} ignored {often} and is still running at {where}; fix it")
    exit_now(_WRONG_INPUT)
