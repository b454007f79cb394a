"""The kubeconfig of an embedded cluster, as text and as a file that only its owner can read.

``moor cluster``, ``moor demo`` and `mooring.testing.cluster` write it.
"""

import base64
import os
import secrets
from pathlib import Path
from typing import Any, Final

import yaml

#: What the context, the cluster and the user are called.
NAME: Final = "mooring"


def kubeconfig_text(url: str, *, token: str = "", authority: bytes = b"", comment: str = "") -> str:
    """A kubeconfig with one context.

    Args:
        url: where the API server is.
        token: who the user is; empty for nobody in particular.
        authority: whom to trust for TLS, in PEM; empty for those the machine trusts.
        comment: the first line.
    """
    cluster: dict[str, Any] = {"server": url}
    if authority:
        cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": NAME,
        "clusters": [{"name": NAME, "cluster": cluster}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
        "users": [{"name": NAME, "user": {"token": token} if token else {}}],
    }
    first = f"# {comment}\n" if comment else ""
    return first + yaml.safe_dump(content, sort_keys=False)


def write_private(path: Path, text: str) -> None:
    """Write a file that nobody else may read; it is complete or not there.

    Raises:
        OSError: it cannot be written.
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
