"""Texts of a configuration that become a header, a URL, the name of a file, or part of a sentence.

`kubeconfig` and `config` call it. A text that cannot be used is named by its place and never
quoted: it may be a secret.
"""

import re
from typing import Final
from urllib.parse import urlsplit

from mooring.errors import ConfigError

_SHOWN: Final = 200
_NO_HOST: Final = re.compile(r"[\s/?#@\[\]\\\0]")


def one_line(text: str, what: str, where: str) -> str:
    """The text itself, if a header or the name of a file can hold it.

    Args:
        text: the text.
        what: which field it is, such as ``token``.
        where: whose, such as ``user "me" of ~/.kube/config``.

    Raises:
        ConfigError: it has control characters.
    """
    if text.isprintable():
        return text
    raise ConfigError(
        f"The {what} of {where} contains a line break or another control character; fix it."
    )


def check_url(text: str, what: str, where: str) -> None:
    """See that a text is the address of a server or a proxy.

    Raises:
        ConfigError: it is none.
    """
    try:
        parts = urlsplit(one_line(text, what, where))
        well = parts.scheme in ("http", "https") and parts.port != 0 and is_host(parts.hostname)
    except ValueError:
        well = False
    if not well:
        raise ConfigError(f"The {what} of {where} is not an http:// or https:// URL; fix it.")


def is_host(name: str | None) -> bool:
    """Whether a text may be the name or the address of a host."""
    if not name or _NO_HOST.search(name):
        return False
    try:
        name.encode("idna")
    except UnicodeError:
        return False
    return True


def shown(text: str) -> str:
    """A name, fit for one line of a terminal or a log."""
    return "".join(c if c.isprintable() else "?" for c in text[:_SHOWN])
