"""The files that ``moor migrate`` and ``moor doctor`` are given: read up to a limit, each once.

A folder stands for the files in it that a command wants. What is too large, too many or not text is
one sentence that names the file.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from mooring.deploy.migration.texts import MOST_BYTES
from mooring.errors import InputError

MOST_FILES: Final = 2000
MOST_BYTES_TOGETHER: Final = 16 * 2**20
#: So many files and folders of a folder are looked at, wanted or not.
MOST_LOOKED_AT: Final = 100_000
SUFFIXES: Final = (".json", ".yaml", ".yml")


class GivenFile(NamedTuple):
    """A file that was read; standard input has no path."""

    name: str
    path: Path | None
    raw: bytes
    text: str


def read_files(
    places: Iterable[str],
    wanted: Callable[[Path], bool] = lambda file: file.suffix in SUFFIXES,
    *,
    any_bytes: bool = False,
) -> list[GivenFile]:
    """Read files, the wanted files of folders, and ``-`` for standard input, each once.

    Args:
        places: what the user named.
        wanted: whether a file of a folder counts; hidden ones never do.
        any_bytes: take files that are not UTF-8; a lone surrogate stands for each wrong byte.

    Raises:
        InputError: something cannot be read, or is too much.
    """
    found: dict[str, GivenFile] = {}
    together = 0
    for place in places:
        for path in [None] if place == "-" else _files(place, wanted):
            name = "standard input" if path is None else str(path)
            key = name if path is None else _identity(path)
            if key in found:
                continue
            raw = _read(path, name)
            together += len(raw)
            if len(found) == MOST_FILES:
                raise InputError(f"there are more than {MOST_FILES} files; give fewer")
            if together > MOST_BYTES_TOGETHER:
                most = f"{MOST_BYTES_TOGETHER >> 20} MiB"
                raise InputError(f"the files have more than {most} together; give fewer")
            found[key] = GivenFile(name, path, raw, _decoded(raw, name, any_bytes=any_bytes))
    return list(found.values())


def _files(place: str, wanted: Callable[[Path], bool]) -> list[Path]:
    path = Path(place)
    try:
        if not path.is_dir():
            return [path]
        files = sorted(one for one in _walked(path, place) if one.is_file() and wanted(one))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{place} cannot be read: {why}") from error
    if not files:
        raise InputError(f"{place} has no .json, .yaml or .yml files; name the file")
    return files


def _walked(folder: Path, place: str) -> Iterator[Path]:
    """The files below a folder; hidden files and folders are left out."""
    number = 0
    for where, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if not one.startswith(".")]
        number += len(folders) + len(files)
        if number > MOST_LOOKED_AT:
            raise InputError(f"{place} has more than {MOST_LOOKED_AT} files; give a smaller folder")
        yield from (Path(where, one) for one in files if not one.startswith("."))


def _identity(path: Path) -> str:
    try:
        return str(path.resolve())
    except (OSError, RuntimeError, ValueError):  # reading it says what is wrong
        return str(path)


def _read(path: Path | None, name: str) -> bytes:
    try:
        if path is None:
            raw = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with path.open("rb") as file:
                raw = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"{name} does not exist; specify a file, a directory or -") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{name} cannot be read: {why}") from error
    if len(raw) > MOST_BYTES:
        raise InputError(f"{name} has more than {MOST_BYTES >> 20} MiB; give a smaller file")
    return raw


def _decoded(raw: bytes, name: str, *, any_bytes: bool) -> str:
    try:
        return raw.decode("utf-8-sig", "surrogateescape" if any_bytes else "strict")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not YAML: it is not valid UTF-8 ({error.reason})") from error
