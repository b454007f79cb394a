"""The files of ``moor cluster``: the kubeconfig it writes, and the tokens it reads."""

import csv
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mooring.embedded.kubeconfig import kubeconfig_text, write_private
from mooring.errors import InputError

_COMMENT: Final = "Written by moor cluster, which removes it at its end."


def check_kubeconfig(path: Path) -> Path:
    """Where the kubeconfig will be, in full.

    Raises:
        InputError: somebody else's file is there, or nothing can be written there.
    """
    full = path.expanduser().absolute()
    standard = Path("~/.kube/config").expanduser().absolute()
    if full == standard or full.resolve() == standard.resolve():
        raise InputError(
            f"{path} is kubectl's own file and is not overwritten; specify another file with "
            "--kubeconfig"
        )
    if full.is_dir():
        raise InputError(f"{path} is a directory; specify a file with --kubeconfig")
    if not full.parent.is_dir():
        raise InputError(
            f"the directory {full.parent} for the kubeconfig does not exist; create it"
        )
    if full.exists() and not _is_ours(full):
        raise InputError(
            f"{path} was not written by moor cluster and is not overwritten; specify another file "
            f"with --kubeconfig"
        )
    return full


@contextmanager
def written_kubeconfig(
    path: Path, url: str, *, token: str = "", authority: bytes = b""
) -> Iterator[None]:
    """A kubeconfig that is there for the length of a block.

    Args:
        path: where; it was checked before.
        url: where the API server is.
        token: who the user is.
        authority: whom to trust for TLS, in PEM.

    Raises:
        InputError: it cannot be written.
    """
    text = kubeconfig_text(url, token=token, authority=authority, comment=_COMMENT)
    try:
        write_private(path, text)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from error
    try:
        yield
    finally:
        # Another cluster may have written its own there meanwhile.
        if _content(path) == text:
            path.unlink(missing_ok=True)


def read_tokens(path: Path) -> dict[str, str]:
    """The users by token, from a file as kube-apiserver takes it: ``token,user,uid,groups``.

    Raises:
        InputError: the file cannot be read, or a line has no token or no user.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not valid UTF-8") from error
    tokens: dict[str, str] = {}
    for number, fields in enumerate(csv.reader(text.splitlines(), skipinitialspace=True), 1):
        if not fields or fields[0].startswith("#"):
            continue
        token, user = fields[0].strip(), (fields[1].strip() if len(fields) > 1 else "")
        if not token or not user:
            raise InputError(f"line {number} of {path} is not a token and a user; write token,user")
        if token in tokens:
            raise InputError(f"line {number} of {path} repeats the token of an earlier line")
        tokens[token] = user
    if not tokens:
        raise InputError(f"{path} contains no tokens; write one token,user per line")
    return tokens


def shown(path: Path) -> str:
    """A path as one would type it in a shell."""
    text = str(path)
    plain = all(one.isalnum() or one in "/._-+@:," for one in text)
    return text if plain else "'" + text.replace("'", "'\\''") + "'"


def _is_ours(path: Path) -> bool:
    text = _content(path)
    return text is not None and text.startswith(f"# {_COMMENT}")


def _content(path: Path) -> str | None:
    try:
        if path.stat().st_size > os.sysconf("SC_PAGE_SIZE") * 64:
            return None
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
