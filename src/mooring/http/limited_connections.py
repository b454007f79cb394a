"""Limits for all connections and requests of a server together.

`limited_connections` makes the class of its connections, which count what arrives until it is
answered or the client has gone; `LimitedRequests` wraps the application and has a request's bytes
counted until the application is done with them. Under any other server, and in tests without one,
they are counted as the application reads them. The extender's `server` and `app` use it.
"""

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mooring.http.load_limits import LoadLimits, RequestMemory
from mooring.http.protocol import WholeBodyProtocol

_EXTENSIONS: Final = "extensions"
_MEMORY: Final = "mooring.memory"


class LimitedConnection(WholeBodyProtocol):
    """One connection of a server that counts what it has in memory."""

    load_limits: ClassVar[LoadLimits]

    _reply: RequestMemory | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # One for each request that has not been answered; more than one if they are pipelined.
        self._memories: list[RequestMemory] = []
        self._hang_up: Callable[[], None] | None = None

    def accepted(self, hang_up: Callable[[], None]) -> None:
        """A client connected and has to shake hands; it counts like any other."""
        self._hang_up = hang_up
        self.load_limits.connected(self)

    def not_made(self) -> None:
        """The client is gone before it has shaken hands."""
        self.load_limits.disconnected(self)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client connected, or has shaken hands."""
        super().connection_made(transport)
        counted, self._hang_up = self._hang_up is not None, transport.abort
        if not counted:
            self.load_limits.connected(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone: nobody waits for the answers to what it asked."""
        self.load_limits.disconnected(self)
        super().connection_lost(exc)
        memories, self._memories = self._memories, []
        started = len(memories) - len(self.pipeline)
        for memory in memories[:started]:
            memory.hang_up()
            memory.release()
        for memory in memories[started:]:  # nobody has begun to answer these
            memory.discard()
        self.pipeline.clear()

    def on_headers_complete(self) -> None:
        """A request's headers are complete; if its body will find no room, it is rejected now."""
        if not self._memories:
            self.load_limits.waits_for_body(self)
        memory = self.load_limits.open()
        self._memories.append(memory)
        extensions: dict[str, Any] = self.scope.setdefault("extensions", {})
        extensions[_MEMORY] = memory
        length = next((value for name, value in self.headers if name == b"content-length"), b"")
        if length.isdigit() and int(length) <= self.max_body:
            memory.fits(int(length))
        super().on_headers_complete()

    def receive_body(self, body: bytes) -> None:
        """Keep a piece of a body, if there is room."""
        if self.cycle.response_complete or not self._memories:
            return
        memory = self._memories[-1]
        if memory.rejected:
            return
        if memory.fits(len(body)):
            memory.add(len(body))
            super().receive_body(body)
            return
        self._pieces = []
        memory.discard()
        # The application waits for a body; with any piece it asks whether it is rejected.
        self.cycle.body = b"?"  # type: ignore[assignment]
        self.cycle.message_event.set()

    def request_complete(self) -> None:
        """A request is complete and wants its answer."""
        if not self.cycle.response_complete:
            self.load_limits.waits_for_us(self)
        super().request_complete()

    def on_response_complete(self) -> None:
        """A request is answered."""
        if self._memories:
            self._memories.pop(0).release()
        super().on_response_complete()
        if not self._memories:
            self.load_limits.waits_for_client(self)
        elif self.cycle.more_body:  # of the next request, which was sent too early
            self.load_limits.waits_for_body(self)

    def make_room(self) -> None:
        """Close: another connection needs the place."""
        # Closing would wait for a client that does not read, or does not say goodbye in TLS.
        if self._hang_up is not None:
            self._hang_up()

    def _hand_over(self) -> None:
        if not self._memories[-1].rejected:
            super()._hand_over()

    def _expect_reading(self) -> None:
        super()._expect_reading()
        self._reply = self.load_limits.open()
        self._reply.add(self.transport.get_write_buffer_size())

    def _reply_was_read(self) -> None:
        super()._reply_was_read()
        if self._reply is not None:
            self._reply.release()
            self._reply = None


def limited_connections(
    load_limits: LoadLimits, *, max_body: int, reply_seconds: float
) -> type[LimitedConnection]:
    """The class of a server's connections.

    Args:
        load_limits: counts what they have in memory.
        max_body: the largest body in bytes.
        reply_seconds: how long a client may take to read its reply.
    """
    settings = {"load_limits": load_limits, "max_body": max_body, "reply_seconds": reply_seconds}
    return type("Connection", (LimitedConnection,), settings)


class LimitedRequests:
    """Has the bytes of every request counted until the application is done with them.

    Args:
        app: what answers the requests.
        load_limits: what counts them.
    """

    def __init__(self, app: ASGIApp, load_limits: LoadLimits) -> None:
        self._app = app
        self._load_limits = load_limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        extensions = scope.setdefault(_EXTENSIONS, {})
        memory: RequestMemory | None = extensions.get(_MEMORY)
        if memory is None:
            memory = extensions[_MEMORY] = self._load_limits.open()
            receive = _counting(receive, memory)
        else:
            memory.hold()
        try:
            await self._app(scope, receive, send)
        finally:
            memory.when_gone(None)
            memory.release()


def memory_of(scope: Scope) -> RequestMemory:
    """What a request that `LimitedRequests` has let in has in memory."""
    found: RequestMemory = scope[_EXTENSIONS][_MEMORY]
    return found


def _counting(receive: Receive, memory: RequestMemory) -> Receive:
    async def counted() -> Message:
        message = await receive()
        if message["type"] == "http.disconnect":
            memory.hang_up()
        size = len(message.get("body", b""))
        if memory.fits(size):
            memory.add(size)
        return message

    return counted
