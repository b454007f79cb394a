"""Folders of files that commands write: nothing is overwritten unless that is asked for.

``moor manifests`` and ``moor init`` write with it. All files are written to a hidden folder first
and then moved into place, so that a full disk, or Ctrl-C meanwhile, leaves none of them.
"""

import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from mooring.errors import InputError

_PRIVATE, _PROGRAM, _PLAIN = 0o600, 0o755, 0o644
#: What a private key in PEM has, alone or in a Secret.
_OF_KEYS: Final = "PRIVATE KEY-----"


def write_files(
    folder: Path,
    files: Mapping[str, str],
    *,
    overwrite: bool = False,
    instead: str = "remove it first",
) -> None:
    """Write files below a folder, which is made if it is missing.

    Args:
        folder: where.
        files: texts by their paths in the folder; ``.sh`` can be run, and only its owner can
            read a file with a private key.
        overwrite: replace what is there.
        instead: what else can be done about a folder that is there.

    Raises:
        InputError: the folder is not empty, or cannot be written.
    """
    try:
        if not overwrite and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            if folder == Path():
                raise InputError(
                    "this folder is not empty, and nothing is overwritten; choose another folder"
                )
            raise InputError(
                f"{folder} already exists and is not overwritten; choose another folder, or "
                f"{instead}"
            )
        folder.mkdir(parents=True, exist_ok=True)
        beside = folder / f".{secrets.token_hex(4)}.part"
        try:
            for name, text in files.items():
                if (folder / name).is_dir():
                    raise InputError(f"{folder / name} is a folder; remove it first")
                _write(beside / name, text)
            for name in files:
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                (beside / name).replace(target)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror or error}") from error


def _write(path: Path, text: str) -> None:
    mode = _PROGRAM if path.suffix == ".sh" else _PLAIN
    if _OF_KEYS in text:
        mode = _PRIVATE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=mode)  # less, if the umask says so
    path.write_text(text, encoding="utf-8")
    if mode == _PROGRAM:
        path.chmod(mode)
