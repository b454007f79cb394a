"""Files that commands write: for their owner alone, and complete or not there at all.

``moor snapshot`` writes with it. What a cluster is made of is nobody else's business, so a file
gets the mode 0600 whatever the umask says. It is written beside its place and moved there when all
of it is on the disk; Ctrl-C and a full disk leave what was there before.
"""

import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from mooring.errors import InputError


@contextmanager
def written(place: str) -> Iterator[IO[bytes]]:
    """A file that is there once it is complete, or standard output for ``-``.

    A link is followed. A device or a pipe is written to, not replaced. A file that is there keeps
    its owner and its group.

    Raises:
        InputError: it cannot be written.
    """
    if place == "-":
        yield sys.stdout.buffer
        return  # `main` flushes it and says what is wrong with it
    path = Path(place).resolve()
    try:
        there = path.stat() if path.exists() else None
        if there is not None and stat.S_ISDIR(there.st_mode):
            raise InputError(f"{place} is a directory; specify a file")
        if there is not None and not stat.S_ISREG(there.st_mode):
            with path.open("wb") as out:
                yield out
            return
        beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(handle, "wb") as out:
                if there is not None:
                    _give_to(handle, there, place)
                yield out
                out.flush()
                os.fsync(handle)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"{place} cannot be written: {error.strerror or error}") from error


def same_place(one: str, other: str) -> bool:
    """Whether `written` would write both to the same file, or both to standard output."""
    if "-" in (one, other):
        return one == other
    return Path(one).resolve() == Path(other).resolve()


def _give_to(handle: int, there: os.stat_result, place: str) -> None:
    """Let a new file belong to whom the old one belongs."""
    made = os.fstat(handle)
    if (made.st_uid, made.st_gid) == (there.st_uid, there.st_gid):
        return
    try:
        os.fchown(handle, there.st_uid, there.st_gid)
    except PermissionError as error:
        raise InputError(f"{place} belongs to another user; choose another name") from error
