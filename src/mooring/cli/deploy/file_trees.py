"""Folders of files that commands write: nothing is overwritten unless that is asked for.

``moor manifests`` and ``moor init`` write with it.
"""

from collections.abc import Mapping
from pathlib import Path

from mooring.errors import InputError


def write_files(folder: Path, files: Mapping[str, str], *, overwrite: bool = False) -> None:
    """Write files below a folder, which is made if it is missing.

    Args:
        folder: where.
        files: texts by their paths in the folder; ``.sh`` can be run, and only their owner can
            read private keys.
        overwrite: replace what is there.

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
                f"remove it first"
            )
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".key":
                path.touch(mode=0o600)
            path.write_text(text, encoding="utf-8")
            if path.suffix == ".sh":
                path.chmod(0o755)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror or error}") from error
