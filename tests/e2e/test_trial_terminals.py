"""The terminals of the trial: whatever runs there ends with them."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.testing.child_process import wait_for
from tests.e2e.trial_scripts import Terminal

#: Ctrl-C does not end it, as little as it ends a program that has not seen it yet.
STUBBORN = """sh -c 'trap "" INT; echo $$ > pid; echo started; exec sleep 1000'"""


@pytest.fixture
def hangups_are_ignored() -> Iterator[None]:
    """As in everything that nohup starts: children inherit it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGHUP, before)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.usefixtures("hangups_are_ignored")
def test_a_command_ends_with_its_terminal(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, dict(os.environ))
    terminal.type(STUBBORN)
    terminal.wait_shown("started")
    pid = int((tmp_path / "pid").read_text())
    assert is_running(pid)
    terminal.close()
    try:
        wait_for(lambda: not is_running(pid), "the command to end", 10)
    finally:
        if is_running(pid):
            os.kill(pid, signal.SIGKILL)
