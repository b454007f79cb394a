"""uvicorn's HTTP protocol with what our servers need: large bodies, no waiting for the slow.

A client that sends its headers slowly or without end, or does not read its reply, is hung up on.
`limited_connections` adds limits for all connections together.
"""

import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import msgspec
from httptools import HttpParserUpgrade, HttpRequestParser
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mooring.http.origin import host_of_target
from mooring.http.upgrades import BehindHeaders, head_of_body

#: How long a client may take from connecting to the end of its headers.
_HEADER_SECONDS = 15.0
#: How many bytes headers may have, the target included.
_HEADER_BYTES: Final = 64 << 10
#: What a header has besides its name and its value: a colon, a blank, the end of the line.
_HEADER_EXTRA: Final = 4
#: A body in chunks may come with so many bytes for each of its own; a chunk of one has six.
_CHUNK_PART: Final = 8
#: How long the rest of a body is read, and thrown away, after the request was answered.
_LINGER_SECONDS = 5.0
#: Smaller pieces of a body are put together at once: each would cost more than it holds.
_SMALL_PIECE: Final = 4096
_LARGE_PIECE: Final = 1 << 20


class WholeBodyProtocol(HttpToolsProtocol):
    """One connection.

    kube-scheduler sends tens of megabytes at once. uvicorn would hand them over, and copy them,
    piece by piece; here a body is put together once, when it is complete.
    """

    #: What is larger than this is handed over at once, to be rejected.
    max_body: ClassVar[int] = 0
    #: How long a client may take to read its reply.
    reply_seconds: ClassVar[float] = 120.0

    #: Whether the client may say something, after its handshake if there is one.
    is_made = False
    _deadline: asyncio.TimerHandle | None = None
    _reply_deadline: asyncio.TimerHandle | None = None
    # What arrived before the headers were complete, and how long the headers read so far are.
    _head: int = 0
    _header_bytes: int = 0
    _in_body = False
    _body_seen: int = 0
    _pieces: list[bytes | bytearray]
    _size: int = 0
    # What is being parsed, and what is left of it behind headers that ask for another protocol.
    _reading = memoryview(b"")
    _unread: Sequence[bytes | memoryview] = ()

    def accepted(self, hang_up: Callable[[], None]) -> None:
        """A client connected and has to shake hands first: then it is made, or never."""

    def not_made(self) -> None:
        """The client that was accepted is gone before the connection was made."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client connected; it has to send a request before long."""
        super().connection_made(transport)
        self.is_made = True
        self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone, and so is what it sent."""
        self._stop_waiting()
        self._reply_was_read()
        self._pieces = []
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Something arrived."""
        in_body, before = self._in_body, self._body_seen
        if not in_body:
            self._head += len(data)
        self._parse(data)
        while self._unread and not self.transport.is_closing():
            first, *self._unread = self._unread
            self._parse(first)
        self._reading, self._unread = memoryview(b""), ()
        if in_body and self._in_body:
            # What is neither body nor the sizes of its chunks is a trailer without end.
            body = self._body_seen - before
            self._head = max(self._head + len(data) - _CHUNK_PART * body, 0)
        if self._head > _HEADER_BYTES and not self.transport.is_closing():
            self._reject_headers()

    def on_url(self, url: bytes) -> None:
        """A piece of the target."""
        self._count_header(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer behind a body, which nobody reads."""
        if not self._in_body:
            self._count_header(len(name) + len(value) + _HEADER_EXTRA)
            super().on_header(name, value)

    def on_message_begin(self) -> None:
        """A request begins."""
        self._header_bytes = 0
        self._expect_headers()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """A request's headers are complete."""
        self._stop_waiting()
        self._head, self._in_body = 0, True
        self._pieces, self._size = [], 0
        if not self.url.startswith(b"/"):
            self._believe_target()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a body arrived."""
        self._body_seen += len(body)
        self.receive_body(body)

    def receive_body(self, body: bytes) -> None:
        """Keep a piece of a body."""
        if self.cycle.response_complete or self._size > self.max_body:
            return  # nobody reads on what was rejected
        self._keep(body)
        if self._size > self.max_body:
            self.flow.pause_reading()
            self._hand_over()
            self.cycle.message_event.set()

    def on_message_complete(self) -> None:
        """All was read; of a request that asks for another protocol, all but its body."""
        if not (self.parser.should_upgrade() and head_of_body(self.headers)):
            self.request_complete()

    def request_complete(self) -> None:
        """A request is complete."""
        self._in_body = False
        self._head = 0
        if self.cycle.response_complete:
            self._expect_next()  # it was answered before all of it had come
        elif self._size <= self.max_body:
            self._hand_over()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """A request is answered."""
        if self.flow.write_paused:
            self._expect_reading()
        super().on_response_complete()
        if self._in_body and not self.pipeline:
            self._pieces = []
            self._stop_waiting()
            self._deadline = self.loop.call_later(_LINGER_SECONDS, self._too_slow)

    def pause_writing(self) -> None:
        """The client reads more slowly than we write."""
        super().pause_writing()
        if self.cycle.response_complete:
            self._expect_reading()

    def resume_writing(self) -> None:
        """The client has read nearly all there is."""
        super().resume_writing()
        self._reply_was_read()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, in JSON as everywhere."""
        if not self.transport.is_closing():
            self._reject(b"400 Bad Request", msg)

    def _count_header(self, size: int) -> None:
        # All may arrive at once, together with a body: only the parser knows where headers end.
        self._header_bytes += size
        if self._header_bytes > _HEADER_BYTES:
            self._reject_headers()
            raise ValueError("the headers are too long")  # the parser reads no further

    def _reject_headers(self) -> None:
        self._reject(b"431 Request Header Fields Too Large", "the headers are too long")

    def _reject(self, status: bytes, sentence: str) -> None:
        content = msgspec.json.encode({"error": sentence})
        self.transport.write(
            b"HTTP/1.1 %b\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (status, len(content), content)
        )
        self.transport.close()

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        pieces = self._pieces
        if len(piece) >= _SMALL_PIECE:
            pieces.append(piece)
        elif pieces and isinstance(pieces[-1], bytearray) and len(pieces[-1]) < _LARGE_PIECE:
            pieces[-1] += piece
        else:
            pieces.append(bytearray(piece))

    def _hand_over(self) -> None:
        # uvicorn copies a bytearray into bytes for the application, but takes bytes as they are.
        self.cycle.body = b"".join(self._pieces)  # type: ignore[assignment]
        self._pieces = []

    def _unsupported_upgrade_warning(self) -> None:
        """Another protocol was asked for, and is not spoken; called while the parser says so."""
        asked = sys.exception()
        offset: int = asked.args[0] if isinstance(asked, HttpParserUpgrade) else 0
        head = head_of_body(self.headers)
        self.parser = HttpRequestParser(BehindHeaders(self) if head else self)
        self._unread = [one for one in (head, self._reading[offset:], *self._unread) if len(one)]

    def _parse(self, data: bytes | memoryview) -> None:
        self._reading = memoryview(data)
        super().data_received(data)  # type: ignore[arg-type] # the parser takes both

    def _expect_next(self) -> None:
        self._stop_waiting()
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

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
        self._stop_waiting()
        self._deadline = self.loop.call_later(_HEADER_SECONDS, self._too_slow)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _expect_reading(self) -> None:
        self._reply_was_read()
        # Closing would wait until all is sent.
        self._reply_deadline = self.loop.call_later(self.reply_seconds, self.transport.abort)

    def _reply_was_read(self) -> None:
        if self._reply_deadline is not None:
            self._reply_deadline.cancel()
            self._reply_deadline = None

    def _too_slow(self, *_: Any) -> None:
        self.transport.close()
