"""Reading on behind the headers of a request that asks for another protocol.

httptools takes all that follows such headers for the other protocol, bodies included. Our servers
speak no other, so they ignore the wish, as HTTP allows: another parser reads on, which is told
nothing but how the body ends. Used by `protocol`.
"""

from collections.abc import Iterable
from typing import Final, Protocol

#: The headers that say where a body ends.
_BODY_HEADERS: Final = (b"content-length", b"transfer-encoding")
_NO_BODY: Final = (b"content-length", b"0")


class Callbacks(Protocol):
    """What a parser calls."""

    def on_message_begin(self) -> None:
        """A request begins."""

    def on_url(self, url: bytes) -> None:
        """A piece of the target."""

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header."""

    def on_headers_complete(self) -> None:
        """The headers are complete."""

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""

    def on_message_complete(self) -> None:
        """The request is complete."""


def head_of_body(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Headers that let a parser read a request's body, and nothing else; empty if it has none.

    Args:
        headers: the request's own, which a parser has found legal.
    """
    found = [one for one in headers if one[0] in _BODY_HEADERS and one != _NO_BODY]
    if not found:
        return b""
    lines = [b"%b: %b" % one for one in found]
    return b"\r\n".join([b"POST / HTTP/1.1", *lines, b"", b""])


class BehindHeaders:
    """Calls a connection for a body and all requests after it, but not for the headers before.

    Args:
        connection: who knows the headers already.
    """

    def __init__(self, connection: Callbacks) -> None:
        self._connection = connection
        self._behind = False
        self.on_body = connection.on_body
        self.on_message_complete = connection.on_message_complete

    def on_message_begin(self) -> None:
        """A request begins."""
        if self._behind:
            self._connection.on_message_begin()

    def on_url(self, url: bytes) -> None:
        """A piece of the target."""
        if self._behind:
            self._connection.on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer."""
        if self._behind:
            self._connection.on_header(name, value)

    def on_headers_complete(self) -> None:
        """The headers are complete."""
        if self._behind:
            self._connection.on_headers_complete()
        self._behind = True
