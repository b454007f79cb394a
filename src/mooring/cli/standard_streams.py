"""Standard input, output and error, whatever became of them before the process started.

`main` calls it. A number below 3 that is not open would be given to the next file or socket, and
libuv ends the process when it closes such a one; so, as Go programs do, each is made ``/dev/null``.
What could not be written in the end is reported in one sentence instead of a traceback. Characters
that a terminal does not have are replaced by others that look like them.
"""

import codecs
import contextlib
import errno
import io
import logging
import os
import sys
from collections.abc import Iterator
from typing import Final

from mooring.errors import InputError
from mooring.wording import escaped

#: For terminals without UTF-8, of the same width: names and numbers stay in their columns.
_PLAIN: Final = {
    "✓": "+", "✗": "x", "…": "~", "·": ".", "×": "x", "→": ">", "—": "-", "▸": ">",
    "█": "#", "░": ".",
}  # fmt: skip
#: What writing to a full disk says, and to what is not open for writing.
_UNWRITABLE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def open_standard_streams() -> None:
    """Open what is closed, and let every text be written to what is open."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free, which is this one: those before it are open.
            os.open(os.devnull, os.O_RDWR)
    # Python leaves out what was closed when it started; everybody else counts on it.
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)
    codecs.register_error("moor", _plain_characters)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="moor")
    # A width of 0 says that nobody knows it; tables would be printed without any character.
    if not os.environ.get("COLUMNS", "1").strip("0"):
        del os.environ["COLUMNS"]


def _plain_characters(error: UnicodeError) -> tuple[str | bytes, int]:
    """What is written in place of characters that the terminal does not have."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_PLAIN.get(one, "?") for one in lacking), error.end


@contextlib.contextmanager
def reporting_output_errors() -> Iterator[None]:
    """Turn the error of writing to standard output into a sentence.

    Raises:
        InputError: it cannot be written.
        BrokenPipeError: nobody reads it any more.
    """
    try:
        yield
    except OSError as error:
        # Files are named in their errors, or were turned into sentences where they are written.
        if error.errno not in _UNWRITABLE or error.filename is not None:
            raise
        forget_output()
        raise InputError(f"standard output cannot be written: {error.strerror}") from error


def print_error(sentence: str) -> None:
    """Say what is wrong on standard error, if anybody can read it."""
    print_note(f"moor: {sentence}")


def print_note(line: str) -> None:
    """One line on standard error; names in it may be anything and must not move the cursor."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{escaped(line)}\n")
        sys.stderr.flush()


class NoteHandler(logging.Handler):
    """Log lines of commands that do not log: warnings, as sentences like all others."""

    def emit(self, record: logging.LogRecord) -> None:
        """Say it."""
        try:
            print_error(record.getMessage())
        except Exception:  # noqa: BLE001 - anybody may log a line that cannot be made
            self.handleError(record)


def forget_output(*numbers: int) -> None:
    """Nothing more is tried with what is left of it, not at the very end either."""
    for number in numbers or (1,):
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
