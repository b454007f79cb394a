"""File descriptors: as many as there may be, and a sentence when there are none left.

Every connection needs one. `allow_descriptors` is called by commands that serve, before anything
is opened; servers have `watch_descriptors` look after them, and one that limits its connections
asks for how many there is room. libuv accepts and closes connections
when there are no descriptors, so that nothing spins; but it tells nobody.
"""

import asyncio
import errno
import logging
import os
import resource
from typing import Final

from mooring.errors import InputError

log = logging.getLogger("mooring.process")

#: With fewer, not even an event loop with a socket can be made without running out.
LEAST: Final = 24
#: Sockets, files and pipes of a process besides the connections of callers.
_OWN_FILES: Final = 50
_LOOK_SECONDS: Final = 5.0
#: One line in so many looks.
_QUIET_LOOKS: Final = 12


def allow_descriptors() -> int:
    """Allow this process as many file descriptors as it may have, as Go programs do; how many.

    Raises:
        InputError: there are too few to begin with.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
        except (OSError, ValueError):
            pass  # some systems have a lower limit that they do not show
    if soft != resource.RLIM_INFINITY and soft < LEAST:
        raise InputError(
            f"this process may open only {soft} files, but a server needs {LEAST} plus one for "
            "each connection; raise the limit with ulimit -n"
        )
    return soft


def room_for_connections(wanted: int) -> int:
    """For how many connections there are file descriptors; told if these are not all."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY or allowed - _OWN_FILES >= wanted:
        return wanted
    most = max(allowed - _OWN_FILES, 1)
    log.warning(
        ("this process may open %d files, which allows at most %d connections"), allowed, most
    )
    return most


async def watch_descriptors(seconds: float = _LOOK_SECONDS) -> None:
    """Warn when there are no file descriptors left, until cancelled."""
    quiet = 0
    while True:
        if quiet:
            quiet -= 1
        elif not _is_one_left():
            quiet = _QUIET_LOOKS
            log.warning(
                "no file descriptors are left (the limit is %d): new connections are closed; close "
                "some, or raise the limit with ulimit -n",
                resource.getrlimit(resource.RLIMIT_NOFILE)[0],
            )
        await asyncio.sleep(seconds)


def _is_one_left() -> bool:
    try:
        os.close(os.dup(0))
    except OSError as error:
        return error.errno not in (errno.EMFILE, errno.ENFILE)
    return True
