"""A process that is left at once says what is left to say, if nothing keeps it from that."""

import subprocess
import sys

SAYS = """
import logging
from mooring.cli.logging_setup import LogFormat, set_up_logging
from mooring.process.exiting import exit_now

set_up_logging(LogFormat.TEXT)
for number in range(22):
    logging.getLogger("x").warning("line %d", number)
exit_now(3)
"""

HELD = """
import logging, threading
from mooring.process.exiting import exit_now

handler = logging.StreamHandler()
logging.getLogger().addHandler(handler)
held = threading.Event()

def hold():
    handler.acquire()
    held.set()
    threading.Event().wait()

threading.Thread(target=hold, daemon=True).start()
held.wait()
exit_now(3)
"""


def run(code: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_lines_that_were_left_out_are_told() -> None:
    done = run(SAYS)
    assert done.returncode == 3
    assert "2 more like this in the last 0s, the latest: line 21" in done.stderr


def test_a_lock_that_somebody_holds_keeps_nobody() -> None:
    assert run(HELD).returncode == 3
