"""The files of ``moor migrate``: reading them up to a limit, and replacing one with a backup.

A file is replaced at once or not at all, and no backup that is there is overwritten.
"""

import contextlib
import os
import secrets
import stat
import sys
from pathlib import Path
from typing import Final, NamedTuple

from mooring.deploy.static_pods import is_static_folder
from mooring.errors import InputError

_MOST_BYTES: Final = 4 * 2**20
_MOST_FILES: Final = 500
_MOST_BACKUPS: Final = 1000
_SUFFIXES: Final = (".json", ".yaml", ".yml")


class GivenFile(NamedTuple):
    """A file that was read; standard input has no path."""

    name: str
    path: Path | None
    raw: bytes
    text: str


def read_files(places: list[str]) -> list[GivenFile]:
    """Read files, the YAML and JSON files of folders, and standard input, each once.

    Raises:
        InputError: something cannot be read, or is too large.
    """
    found: dict[str, GivenFile] = {}
    for place in places:
        for path in [None] if place == "-" else _files(place):
            name = "standard input" if path is None else str(path)
            key = name if path is None else str(path.resolve())
            if key not in found:
                raw = _read(path, name)
                found[key] = GivenFile(name, path, raw, _decoded(raw, name))
            if len(found) > _MOST_FILES:
                raise InputError(f"there are more than {_MOST_FILES} files; give fewer")
    return list(found.values())


def _files(place: str) -> list[Path]:
    path = Path(place)
    if not path.is_dir():
        return [path]
    files = sorted(
        one
        for one in path.rglob("*")
        if one.suffix in _SUFFIXES and one.is_file() and not one.name.startswith(".")
    )
    if not files:
        raise InputError(f"{place} has no .json, .yaml or .yml files; name the file")
    return files


def _read(path: Path | None, name: str) -> bytes:
    try:
        if path is None:
            raw = sys.stdin.buffer.read(_MOST_BYTES + 1)
        else:
            with path.open("rb") as file:
                raw = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"{name} does not exist; specify a file, a directory or -") from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}") from error
    if len(raw) > _MOST_BYTES:
        raise InputError(f"{name} has more than {_MOST_BYTES >> 20} MiB; give a smaller file")
    return raw


def _decoded(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is no YAML: {error}") from error


def replace_with_backup(path: Path, old: bytes, text: str) -> str:
    """Replace a file; what was there stays beside it as ``.bak``, ``.bak-1`` and so on.

    Owner and mode stay the same. A link is followed.

    Args:
        path: the file.
        old: what was read from it.
        text: what it gets.

    Returns:
        The name of the backup.

    Raises:
        InputError: it cannot be written, or has changed since it was read.
    """
    real = path.resolve()
    try:
        there = real.stat()
        if not stat.S_ISREG(there.st_mode):
            raise InputError(f"{path} is no regular file; write the result to a file of your own")
        backup = _backup(real, there)
        if backup.read_bytes() != old:
            backup.unlink()
            raise InputError(f"{path} has changed meanwhile; run moor migrate again")
        beside = real.with_name(f".{real.name}.{secrets.token_hex(4)}.part")
        try:
            _write(beside, text.encode(), there)
            beside.replace(real)
        except BaseException:
            with contextlib.suppress(OSError):
                backup.unlink()
            raise
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from error
    return str(path.with_name(backup.name))


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
    """Write a new file that belongs to the same owner with the same mode."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "wb") as out:
        made = os.fstat(out.fileno())
        if (made.st_uid, made.st_gid) != (like.st_uid, like.st_gid):
            os.fchown(out.fileno(), like.st_uid, like.st_gid)
        os.fchmod(out.fileno(), stat.S_IMODE(like.st_mode))
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
