"""Ending a process although something in it would go on for ever; used by the commands that serve.

Python waits for all threads before it ends. Those of a policy may never end, and are nobody's
business any more.
"""

import _thread
import contextlib
import logging
import os
import sys
import threading
import time
from typing import Final

from mooring.wording import counted

log = logging.getLogger("mooring.process")

#: How long Python may take to end by itself, and the last lines to be written.
_END_SECONDS: Final = 0.5


def exit_soon(code: int) -> None:
    """End the process with this code although a policy left threads behind that may never end."""
    main = threading.main_thread()
    left = [one for one in threading.enumerate() if not one.daemon and one is not main]
    if not left:
        return

    def end() -> None:
        time.sleep(_END_SECONDS)
        threads = counted(len(left), "thread")
        log.warning("%s of the policy did not end: exiting without waiting for it", threads)
        exit_now(code)

    threading.Thread(target=end, name="end", daemon=True).start()


def exit_now(code: int) -> None:
    """End the process at once, with everything said that was to be said.

    Inside the handler of a signal, too. Who holds a lock of the log, or does not take what is
    written, delays the end for a moment only.
    """
    _thread.start_new_thread(_end_in_a_moment, (code,))  # needs no lock, unlike `threading`
    with contextlib.suppress(Exception):
        logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code)


def _end_in_a_moment(code: int) -> None:
    time.sleep(_END_SECONDS)
    os._exit(code)
