"""The files of ``moor cluster``: the kubeconfig it writes, and the tokens it reads."""

import csv
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from mooring.embedded.kubeconfig import kubeconfig_text, write_private
from mooring.errors import InputError

_COMMENT: Final = "Written by moor cluster, which removes it at its end."


def check_kubeconfig(path: Path) -> Path:
    """Where the kubeconfig will be, in full.

    Raises:
        InputError: the file of somebody else or of a running cluster is there, or nothing can be
            written there.
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
    _check_unused(full)
    return full


@contextmanager
def written_kubeconfig(
    path: Path, url: str, *, token: str = "", authority: bytes = b""
) -> Iterator[None]:
    """A kubeconfig that is there for the length of a block, and locked against other clusters.

    The lock ends with the process, however it ends; a killed cluster's file can be replaced.

    Args:
        path: where; it was checked before.
        url: where the API server is.
        token: who the user is.
        authority: whom to trust for TLS, in PEM.

    Raises:
        InputError: it cannot be written, or another cluster has begun to use it.
    """
    _check_unused(path)
    text = kubeconfig_text(url, token=token, authority=authority, comment=_COMMENT)
    try:
        write_private(path, text)
        handle = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from error
    try:
        # Some file systems have no locks; the kubeconfig is useful without.
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        # Somebody may have put another file there meanwhile.
        if _content(path) == text:
            path.unlink(missing_ok=True)
        os.close(handle)


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


def _check_unused(path: Path) -> None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(
            f"{path} is used by another moor cluster that is running; stop that one, or specify "
            "another file with --kubeconfig"
        ) from None
    except OSError:
        return
    finally:
        os.close(handle)


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
