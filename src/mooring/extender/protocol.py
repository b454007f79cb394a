"""uvicorn's HTTP protocol with what an extender needs: large bodies, no waiting for the slow."""

import asyncio
from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

#: How much of a body may wait to be read before the socket is paused. kube-scheduler sends tens of
#: megabytes at once; a pause for every 64 KiB costs more than reading them.
_BUFFER = 4 << 20
#: How long a client may take from connecting to the end of its headers.
_HEADER_SECONDS = 15.0


class ExtenderProtocol(HttpToolsProtocol):
    """One connection."""

    _deadline: asyncio.TimerHandle | None = None

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
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a body arrived."""
        cycle = self.cycle
        if cycle.response_complete:
            return
        cycle.body += body
        if len(cycle.body) > _BUFFER:
            self.flow.pause_reading()
        cycle.message_event.set()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, in JSON as everywhere."""
        content = msgspec.json.encode({"error": msg})
        self.transport.write(
            b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(content), content)
        )
        self.transport.close()

    def _expect_headers(self) -> None:
        self._headers_came()
        self._deadline = self.loop.call_later(_HEADER_SECONDS, self._too_slow)

    def _headers_came(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self, *_: Any) -> None:
        self.transport.close()
