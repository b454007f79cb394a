"""A policy that calls `os._exit` fails, as one that calls `sys.exit` does, and ends nothing.

Installed once by the command line, which owns the process. Foreign code is recognized by the stack
(`framework.foreign`): mooring's own code ends the process as ever, and so does a child that foreign
code has forked. A crash inside a C extension cannot be caught in this way.
"""

import functools
import os
import sys
from collections.abc import Callable
from typing import NoReturn


def catch_foreign_exits() -> None:
    """Let `os._exit` raise `SystemExit` in foreign code from now on."""
    if not isinstance(os._exit, functools.partial):
        os._exit = functools.partial(_exit, os._exit, os.getpid())


def _exit(really: Callable[[int], NoReturn], process: int, status: int) -> NoReturn:
    from mooring.framework.foreign import crossing  # noqa: PLC0415 - needed in no other command

    if os.getpid() == process and crossing(sys._getframe().f_back) is not None:  # noqa: SLF001
        raise SystemExit(f"os._exit({status})")
    really(status)
