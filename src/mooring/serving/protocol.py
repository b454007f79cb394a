"""uvicorn's HTTP protocol with what our servers need: large bodies, no waiting for the slow."""

import asyncio
from typing import Any, ClassVar

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mooring.serving.origin import host_of_target

#: How long a client may take from connecting to the end of its headers.
_HEADER_SECONDS = 15.0


class WholeBodyProtocol(HttpToolsProtocol):
    """One connection.

    kube-scheduler sends tens of megabytes at once. uvicorn would hand them over, and copy them,
    piece by piece; here a body is put together once, when it is complete.
    """

    #: What is larger than this is handed over at once, to be refused.
    max_body: ClassVar[int] = 0

    _deadline: asyncio.TimerHandle | None = None
    _pieces: list[bytes]
    _size: int

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client connected; it has to send a request before long."""
        super().connection_made(transport)
        self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._headers_came()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A request begins."""
        self._expect_headers()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """A request's headers are complete."""
        self._headers_came()
        self._pieces, self._size = [], 0
        if not self.url.startswith(b"/"):
            self._believe_target()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a body arrived."""
        if self.cycle.response_complete or self._size > self.max_body:
            return  # nobody reads on what was refused
        self._pieces.append(body)
        self._size += len(body)
        if self._size > self.max_body:
            self.flow.pause_reading()
            self._hand_over()
            self.cycle.message_event.set()

    def on_message_complete(self) -> None:
        """A request is complete."""
        if not self.cycle.response_complete and self._size <= self.max_body:
            self._hand_over()
        super().on_message_complete()

    def _hand_over(self) -> None:
        # uvicorn copies a bytearray into bytes for the application, but takes bytes as they are.
        self.cycle.body = b"".join(self._pieces)  # type: ignore[assignment]
        self._pieces = []

    def _unsupported_upgrade_warning(self) -> None:
        """An upgrade that was asked for is not made, and nobody need hear of it."""

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, in JSON as everywhere."""
        content = msgspec.json.encode({"error": msg})
        self.transport.write(
            b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(content), content)
        )
        self.transport.close()

    def _believe_target(self) -> None:
        """A target that is a whole URL says which host is meant, whatever ``Host`` says."""
        host = host_of_target(self.url)
        named = [header for header in self.headers if header[0] == b"host"]
        if host is None or len(named) > 1:
            return
        for header in named:
            self.headers.remove(header)
        self.headers.append((b"host", host))

    def _expect_headers(self) -> None:
        self._headers_came()
        self._deadline = self.loop.call_later(_HEADER_SECONDS, self._too_slow)

    def _headers_came(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self, *_: Any) -> None:
        self.transport.close()
