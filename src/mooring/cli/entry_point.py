"""Where the ``moor`` command begins, before the commands are imported.

What must be right from the first moment on is done here: signals, and the allocator of `moor run`.
kubectl starts the same program under other names: ``kubectl-moor`` for ``kubectl moor``, and
``kubectl_complete-moor`` for completions of it.

Python's own allocator takes memory by the megabyte and gives a megabyte back when nothing in it is
used any more. After a flood of pods a few objects are left in nearly each of them, so the process
stays as large as it ever was. The C library gives back every free page of 4 KiB
(`process.memory.trim_memory`), for about 6 % more CPU time of a decision. Python asks the
environment which one to use, so the process replaces itself once, when it starts.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from typing import Final

from mooring.process.garbage_collection import no_collection

_VARIABLE: Final = "PYTHONMALLOC"
#: What completion scripts call; it is no command for people.
_COMPLETE: Final = "__complete"


def main() -> None:
    """Run the command line."""
    # Python's own handler would answer Ctrl-C with a traceback while modules are imported.
    with _ctrl_c_ends():
        if sys.argv[1:2] == [_COMPLETE]:
            sys.argv[1:2] = []
            complete()
        _prepare()
        with no_collection():
            from mooring.cli import main as command_line
    try:
        command_line.main()
    finally:
        # What is left to do needs no traceback of it, either.
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def complete() -> None:
    """Answer a shell that completes a command line; does not return."""
    from mooring.cli.completion.answering import answer

    answer(sys.argv[1:])


@contextlib.contextmanager
def _ctrl_c_ends() -> Iterator[None]:
    """Let Ctrl-C end the process at once and quietly, unless somebody else has a use for it."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _prepare() -> None:
    if sys.argv[1:2] in (["run"], ["serve"]):
        # `moor run` will compare its state on this signal; until then, and to `moor serve`, the
        # signal must do no harm.
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    use_malloc()


def use_malloc() -> None:
    """Start again with the C library's allocator, if this is `moor run` and nobody chose another.

    Does nothing where it would not help: with another C library than glibc, or if Python does not
    read the environment. Does nothing, either, in a process that is not `moor` alone.
    """
    arguments = sys.argv[1:]
    if arguments[:1] != ["run"] or sys.orig_argv[-len(arguments) :] != arguments:
        return
    if _VARIABLE in os.environ or sys.flags.ignore_environment:
        return
    if not sys.executable or not _is_glibc():
        return
    with contextlib.suppress(OSError):  # it goes on with Python's own
        environment = {**os.environ, _VARIABLE: "malloc"}
        os.execve(sys.executable, sys.orig_argv, environment)  # noqa: S606 - the same again


def _is_glibc() -> bool:
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc")
    except (AttributeError, ValueError, OSError):  # the name is not known here
        return False
