"""One connection to an API server, with one request at a time; made by `pool`.

    idle ──send──> waiting ──the whole answer──> idle, if the server keeps the connection
             │        │
             │        └──lost, silent for too long, not HTTP──> closed, and the sender is told
             └─stream─> waiting ──the head──> streaming ──the end──> idle, as above

What arrives while nobody waits closes the connection: it is not known what it answers.
"""

import asyncio
import ssl
import zlib
from typing import Final, NamedTuple, cast

import httptools

from mooring.kube.http1.stream import ApiStream
from mooring.kube.http1.transport_errors import InvalidResponse, ServerClosed, Truncated
from mooring.process.alarm import Alarm

_FIRST_FINAL: Final = 200
#: No answer to a write is longer.
MOST_BYTES: Final = 16 << 20
#: No head is longer.
_MOST_HEAD_BYTES: Final = 1 << 18
#: zlib's parameter for the gzip format.
_GZIP: Final = 16 + zlib.MAX_WBITS


class ApiReply(NamedTuple):
    """An answer that arrived as a whole.

    Attributes:
        status: the HTTP status.
        body: what came with it.
        retry_after: the header of that name; empty if there was none.
    """

    status: int
    body: bytes
    retry_after: str = ""


class ApiConnection(asyncio.Protocol):
    """Sends requests and parses their answers.

    Args:
        loop: the event loop.
        context: the TLS context that it is made with.
        most_bytes: a whole answer is not longer; a stream may be.

    Attributes:
        context: the TLS context that it was made with.
        idle_since: when it was last put back, by the event loop's clock.
    """

    __slots__ = (
        "_alarm", "_answer", "_begun", "_bytes", "_gzipped", "_head_done", "_head_of_stream",
        "_headers", "_loop", "_most_bytes", "_parser", "_parts", "_retry_after", "_sized",
        "_status", "_stream", "_transport", "context", "idle_since",
    )  # fmt: skip

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        context: ssl.SSLContext | None,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.context = context
        self.idle_since = 0.0
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self._status = 0
        self._answer: asyncio.Future[ApiReply] | None = None
        # The answer that is read while it arrives, and whoever waits for its head.
        self._stream: ApiStream | None = None
        self._head_of_stream: asyncio.Future[ApiStream] | None = None
        self._most_bytes = most_bytes
        self._alarm = Alarm(loop, self._late)
        self._parts: list[bytes] = []
        self._bytes = 0
        self._retry_after = ""
        self._headers: dict[str, str] = {}
        self._begun = self._head_done = self._sized = self._gzipped = False

    @property
    def usable(self) -> bool:
        """Whether another request may be sent."""
        transport = self._transport
        return not self._busy and transport is not None and not transport.is_closing()

    @property
    def _busy(self) -> bool:
        return self._answer is not None or self._stream is not None

    def send(self, request: bytes, seconds: float) -> asyncio.Future[ApiReply]:
        """Send a complete request over a `usable` connection.

        Args:
            request: head and body.
            seconds: for the whole answer.

        Returns:
            The answer; or what went wrong: `TransportError`, `OSError` or `TimeoutError`.
        """
        answer = self._answer = self._loop.create_future()
        self._write(request, seconds)
        return answer

    def stream(self, request: bytes, seconds: float) -> asyncio.Future[ApiStream]:
        """Send a complete request over a `usable` connection, and read the answer as it arrives.

        Args:
            request: head and body.
            seconds: until the answer begins.

        Returns:
            The answer when its head is here; or what went wrong, as with `send`.
        """
        self._stream = ApiStream(self._loop, self._pause)
        head = self._head_of_stream = self._loop.create_future()
        self._write(request, seconds)
        return head

    def _write(self, request: bytes, seconds: float) -> None:
        self._begun = False
        self._bytes = 0
        self._alarm.set(seconds)
        cast("asyncio.Transport", self._transport).write(request)

    def _pause(self, pause: bool) -> None:
        """Let the server wait for whoever reads a stream, or no more."""
        transport = self._transport
        if transport is not None and not transport.is_closing():
            transport.pause_reading() if pause else transport.resume_reading()

    def close(self) -> None:
        """Close it at once; who waits for an answer is told."""
        self._fail(ServerClosed())

    # -- called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """A part of an answer."""
        if not self._busy:
            self.close()
            return
        self._bytes += len(data)
        self._begun = True
        try:
            if self._answer is not None and self._bytes > self._most_bytes:
                self._fail(InvalidResponse())
            elif self._parser is not None:
                self._parser.feed_data(data)
                if self._bytes > _MOST_HEAD_BYTES and not self._head_done:
                    self._fail(InvalidResponse())
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._fail(InvalidResponse())

    def connection_lost(self, error: Exception | None) -> None:
        """It is closed."""
        self._transport = None
        self._parser = None  # each has the other
        self._alarm.stop()
        if error is None and self._ends_with_connection:
            self._complete(keep=False)
        elif self._begun:
            self._fail(Truncated())
        else:
            self._fail(error if isinstance(error, OSError) else ServerClosed())

    @property
    def _ends_with_connection(self) -> bool:
        """Whether the end of the connection is that of the answer, and not of an interim one."""
        final = self._head_done and self._status >= _FIRST_FINAL
        return final and not self._sized and self._busy

    # -- called by the parser

    def on_message_begin(self) -> None:
        """An answer begins."""
        if not self._busy:
            self.close()  # nobody asked for a second one; its rest must not answer what comes next
        self._parts = []
        self._retry_after = ""
        self._head_done = self._sized = self._gzipped = False
        if self._stream is not None:
            self._headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        # Its length rules out nearly all of them.
        length = len(name)
        if length == 11 and name.lower() == b"retry-after":
            self._retry_after = value.decode("latin-1")
        elif (length == 14 and name.lower() == b"content-length") or (
            length == 17 and name.lower() == b"transfer-encoding"
        ):
            self._sized = True
        elif length == 16 and name.lower() == b"content-encoding":
            self._gzipped = value.lower() == b"gzip"
        if self._stream is not None:
            self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """The body begins."""
        self._head_done = True
        if self._parser is not None:
            self._status = self._parser.get_status_code()
        stream, head = self._stream, self._head_of_stream
        if stream is not None and head is not None and self._status >= _FIRST_FINAL:
            stream.status, stream.headers = self._status, self._headers
            self._head_of_stream = None
            if not head.done():
                head.set_result(stream)

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        if self._stream is not None:
            self._stream.feed(body)
        else:
            self._parts.append(body)

    def on_message_complete(self) -> None:
        """The whole answer is here."""
        if self._status < _FIRST_FINAL:
            return  # such as 100 Continue: the answer is yet to come
        self._complete(keep=self._parser is not None and self._parser.should_keep_alive())

    # -- the end of a request

    def _complete(self, *, keep: bool) -> None:
        parts = self._parts
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        if self._gzipped and self._answer is not None:
            try:
                body = self._unzipped(body)
            except zlib.error:
                self._fail(InvalidResponse())
                return
        answer, stream = self._answer, self._stream
        self._answer = self._stream = None
        self._bytes = 0
        self._begun = self._head_done = False
        if answer is not None and not answer.done():
            answer.set_result(ApiReply(self._status, body, self._retry_after))
        if stream is not None:
            stream.end()
        if not keep or (answer is None and stream is None):
            self.close()

    def _unzipped(self, body: bytes) -> bytes:
        unzip = zlib.decompressobj(_GZIP)
        found = unzip.decompress(body, self._most_bytes)
        if not unzip.eof:
            raise zlib.error("it is cut off, or too long")
        return found

    def _fail(self, error: Exception) -> None:
        answer, stream, head = self._answer, self._stream, self._head_of_stream
        self._answer = self._stream = self._head_of_stream = None
        self._begun = self._head_done = False
        waiting = head if head is not None else answer
        if waiting is not None and not waiting.done():
            waiting.set_exception(error)
        if stream is not None:
            stream.end(error)
        if self._transport is not None:
            self._transport.abort()

    def _late(self) -> None:
        """The time of a request is over, or that of one that was answered long ago."""
        if self._answer is not None or self._head_of_stream is not None:
            self._fail(TimeoutError())
