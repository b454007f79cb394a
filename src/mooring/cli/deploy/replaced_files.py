"""Files that ``moor migrate --in-place`` and ``moor doctor --fix`` replace, with backups.

All of them are replaced or none is: they refer to each other. Every new text is on the disk before
the first file is replaced, each by a rename. No backup that is there is overwritten.
"""

import codecs
import contextlib
import os
import secrets
import signal
import stat
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from mooring.deploy.static_pods import is_static_folder
from mooring.errors import InputError

_MOST_BACKUPS: Final = 1000


class Replacement(NamedTuple):
    """A file to replace.

    Attributes:
        path: the file.
        old: what was read from it.
        text: what it gets, after its byte order mark if it has one; None if it stays as a backup
            alone.
    """

    path: Path
    old: bytes
    text: str | None


class _Prepared(NamedTuple):
    """A file whose new text, if it gets one, waits beside it."""

    path: Path
    real: Path
    backup: Path
    beside: Path | None


def replace_with_backups(replacements: Iterable[Replacement]) -> list[str]:
    """Replace files; what was there stays beside each as ``.bak``, ``.bak-1`` and so on.

    Owner and mode stay the same. A link is followed. If one of them cannot be replaced, or Ctrl-C
    comes, all are as they were.

    Returns:
        The names of the backups.

    Raises:
        InputError: one cannot be written, or has changed since it was read.
    """
    prepared: list[_Prepared] = []
    done: list[_Prepared] = []
    try:
        for one in replacements:
            with _as_sentence(one.path):
                _prepare(one, prepared)
        with _without_ctrl_c():
            for ready in prepared:
                with _as_sentence(ready.path):
                    if ready.beside is not None:
                        ready.beside.replace(ready.real)
                    else:
                        ready.real.unlink()
                done.append(ready)
    except BaseException:
        for ready in done:
            with contextlib.suppress(OSError):
                ready.backup.replace(ready.real)
        for ready in prepared:
            if ready not in done:
                with contextlib.suppress(OSError):
                    ready.backup.unlink()
        raise
    finally:
        for ready in prepared:
            if ready.beside is not None:
                with contextlib.suppress(OSError):
                    ready.beside.unlink()
    for ready in prepared:
        if ready.beside is None and ready.path.is_symlink():
            with contextlib.suppress(OSError):
                ready.path.unlink()  # it leads nowhere now
    return [str(one.path.with_name(one.backup.name)) for one in prepared]


def _prepare(one: Replacement, prepared: list[_Prepared]) -> None:
    """Make the backup and write the new text beside the file."""
    real = one.path.resolve()
    there = real.stat()
    if not stat.S_ISREG(there.st_mode):
        raise InputError(
            f"{one.path} is not a regular file; write the result to a file of your own"
        )
    beside = None
    if one.text is not None:
        beside = real.with_name(f".{real.name}.{secrets.token_hex(4)}.part")
    backup = _backup(real, there)
    prepared.append(_Prepared(one.path, real, backup, beside))
    if backup.read_bytes() != one.old:
        raise InputError(f"{one.path} has changed meanwhile; run the command again")
    if beside is not None and one.text is not None:
        mark = codecs.BOM_UTF8 if one.old.startswith(codecs.BOM_UTF8) else b""
        _write(beside, mark + one.text.encode(), there)


@contextlib.contextmanager
def _as_sentence(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be written: {why}") from error


@contextlib.contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C wait until a few renames are done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _backup(real: Path, there: os.stat_result) -> Path:
    """Another name for the file, one that is free; hidden from the kubelet where it reads files."""
    dot = "." if is_static_folder(str(real)) else ""
    for number in range(_MOST_BACKUPS):
        backup = real.with_name(f"{dot}{real.name}.bak{f'-{number}' if number else ''}")
        try:
            os.link(real, backup)
        except FileExistsError:
            continue
        except OSError:
            # A file system without links.
            with contextlib.suppress(FileExistsError):
                _write(backup, real.read_bytes(), there)
                return backup
            continue
        return backup
    raise InputError(f"{real} has {_MOST_BACKUPS} backups already; remove some")


def _write(path: Path, content: bytes, like: os.stat_result) -> None:
    """Write a new file that belongs to the same owner with the same mode, all of it or none."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    opened = os.open(path, flags, 0o600)
    try:
        with os.fdopen(opened, "wb") as out:
            made = os.fstat(out.fileno())
            if (made.st_uid, made.st_gid) != (like.st_uid, like.st_gid):
                os.fchown(out.fileno(), like.st_uid, like.st_gid)
            os.fchmod(out.fileno(), stat.S_IMODE(like.st_mode))
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink()
        raise
