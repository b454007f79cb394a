"""Requests as bytes: what is the same in all of them is written once.

`session` calls it. A head is made for each value of ``Authorization`` and kept as long as that
stays; a request then adds its first line, the type and the length of its body, and the body.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple, Self
from urllib.parse import urlsplit

_HTTPS_PORT: Final = 443
_HTTP_PORT: Final = 80


class ServerAddress(NamedTuple):
    """Where an API server listens.

    Attributes:
        host: its name or address, without brackets.
        port: its port.
        authority: both as the ``Host`` header has them.
        prefix: what all paths begin with; often empty.
    """

    host: str
    port: int
    authority: str
    prefix: str

    @classmethod
    def of(cls, url: str) -> Self | None:
        """The address in a URL; None if it has parts that need more than plain HTTP/1.1."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            return None
        usual = _HTTPS_PORT if parts.scheme == "https" else _HTTP_PORT
        host = parts.hostname
        if parts.scheme not in ("http", "https") or not host or not is_plain(url):
            return None
        if "@" in parts.netloc or parts.query or parts.fragment or "%" in host:
            return None
        shown = f"[{host}]" if ":" in host else host
        authority = shown if port in (None, usual) else f"{shown}:{port}"
        return cls(host, usual if port is None else port, authority, parts.path)


class RequestHead:
    """What all requests to one server have in common.

    Args:
        address: the server's; None if no request can be written down as it is.
        headers: names and values, in their order.
    """

    def __init__(self, address: ServerAddress | None, headers: Iterable[tuple[str, str]]) -> None:
        self._prefix = address.prefix if address is not None else ""
        lines = [("Host", address.authority if address is not None else ""), *headers]
        self._usable = address is not None and all(is_header(name, value) for name, value in lines)
        self._lines = "".join(f"{name}: {value}\r\n" for name, value in lines)
        self._authorization = ""
        self._ends: dict[str | None, bytes] = {}

    def request(
        self, method: str, path: str, authorization: str, content_type: str, body: bytes | None
    ) -> bytes | None:
        """A complete request; None if it cannot be written down as it is.

        Args:
            method: such as ``POST``.
            path: quoted, with its query.
            authorization: the value of that header; empty for none.
            content_type: what the body is, one of a few.
            body: the body; None for none.
        """
        if authorization != self._authorization:
            self._authorization = authorization
            self._ends.clear()
        kind = content_type if body is not None else None
        end = self._ends.get(kind)
        if end is None:
            if not (self._usable and is_header("Authorization", authorization)):
                return None
            end = self._ends[kind] = self._end(kind)
        if not is_plain(path):
            return None
        line = f"{method} {self._prefix}{path} HTTP/1.1\r\n".encode("ascii")
        if body is None:
            return line + end
        return b"%b%b%d\r\n\r\n%b" % (line, end, len(body), body)

    def _end(self, content_type: str | None) -> bytes:
        """What follows the first line: of a request with a body up to the body's length."""
        who = f"Authorization: {self._authorization}\r\n" if self._authorization else ""
        rest = "\r\n"
        if content_type is not None:
            rest = f"Content-Type: {content_type}\r\nContent-Length: "
        return (self._lines + who + rest).encode("utf-8")


def is_plain(text: str) -> bool:
    """Whether a path or an address needs no quoting: printable ASCII without a space."""
    return text.isascii() and text.isprintable() and " " not in text


def is_header(name: str, value: str) -> bool:
    """Whether a header stays one line."""
    return is_plain(name) and ":" not in name and value.isprintable()
