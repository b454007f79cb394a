"""``moor __complete`` and ``kubectl_complete-moor``: answers a shell, in silence.

`entry_point` calls it. A shell shows whatever is printed in the middle of the command line, so
nothing is but the answer: not an error, not a warning of a library or of a program that gets
credentials. Nor may the prompt be gone for long, whatever hangs.
"""

import contextlib
import os
import re
import signal
import sys
from collections.abc import Sequence
from typing import Final

#: The process ends so long after it gave up the cluster, whatever it waits for.
_MORE_SECONDS: Final = 1.0
#: What a shell takes as it is. Whoever writes a kubeconfig chooses the names in it, and a shell
#: would run what stands in one such as ``$(…)``: other names are left to be typed.
_HARMLESS: Final = re.compile(r"[\w@%+=:,./~^-]*", re.ASCII)


def answer(words: Sequence[str]) -> None:
    """Print the completions of the last word, and what the shell is to do with them."""
    with contextlib.suppress(BaseException):
        _be_quiet()
        print(_lines(words), flush=True)
    os._exit(0)  # a thread that still looks up a name is not waited for


def _lines(words: Sequence[str]) -> str:
    from typer.main import get_command

    from mooring.cli.completion.completions import Completions, complete
    from mooring.cli.main import app

    found = Completions([])
    with contextlib.suppress(Exception):
        found = complete(get_command(app), words)
    lines = ["\t".join(filter(None, one)) for one in found.items if _HARMLESS.fullmatch(one[0])]
    return "\n".join([*lines, f":{int(found.directive)}"])


def _be_quiet() -> None:
    """Read nothing, print nothing but the answer, and end in time."""
    from mooring.cli.completion.cluster_names import seconds

    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 2)
    if sys.stdout is not None:
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, seconds() + _MORE_SECONDS)
