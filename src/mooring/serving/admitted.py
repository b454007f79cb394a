"""Limits for all connections and requests of a server together.

`connections` makes the class of its connections, which count what arrives until it is answered or
the client has gone; `Admitted` wraps the application and has a request's bytes counted until the
application is done with them. Under any other server, and in tests without one, they are counted as
the application reads them.
"""

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mooring.serving.admission import Admission, Parcel
from mooring.serving.protocol import WholeBodyProtocol

_EXTENSIONS: Final = "extensions"
_PARCEL: Final = "mooring.parcel"


class AdmittedProtocol(WholeBodyProtocol):
    """One connection of a server that counts what it has in memory."""

    admission: ClassVar[Admission]

    _reply: Parcel | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # One for each request that has not been answered; more than one if they are pipelined.
        self._parcels: list[Parcel] = []
        self._hang_up: Callable[[], None] | None = None

    def accepted(self, hang_up: Callable[[], None]) -> None:
        """A client connected and has to shake hands; it counts like any other."""
        self._hang_up = hang_up
        self.admission.connected(self)

    def not_made(self) -> None:
        """The client is gone before it has shaken hands."""
        self.admission.disconnected(self)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client connected, or has shaken hands."""
        super().connection_made(transport)
        counted, self._hang_up = self._hang_up is not None, transport.abort
        if not counted:
            self.admission.connected(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone: nobody waits for the answers to what it asked."""
        self.admission.disconnected(self)
        super().connection_lost(exc)
        parcels, self._parcels = self._parcels, []
        started = len(parcels) - len(self.pipeline)
        for parcel in parcels[:started]:
            parcel.hang_up()
            parcel.release()
        for parcel in parcels[started:]:  # nobody has begun to answer these
            parcel.discard()
        self.pipeline.clear()

    def on_headers_complete(self) -> None:
        """A request's headers are complete; if its body will find no room, it is refused now."""
        if not self._parcels:
            self.admission.waits_for_body(self)
        parcel = self.admission.open()
        self._parcels.append(parcel)
        extensions: dict[str, Any] = self.scope.setdefault("extensions", {})
        extensions[_PARCEL] = parcel
        length = next((value for name, value in self.headers if name == b"content-length"), b"")
        if length.isdigit() and int(length) <= self.max_body:
            parcel.fits(int(length))
        super().on_headers_complete()

    def take_body(self, body: bytes) -> None:
        """Keep a piece of a body, if there is room."""
        if self.cycle.response_complete or not self._parcels:
            return
        parcel = self._parcels[-1]
        if parcel.refused:
            return
        if parcel.fits(len(body)):
            parcel.add(len(body))
            super().take_body(body)
            return
        self._pieces = []
        parcel.discard()
        # The application waits for a body; with any piece it looks at its parcel.
        self.cycle.body = b"?"  # type: ignore[assignment]
        self.cycle.message_event.set()

    def on_message_complete(self) -> None:
        """A request is complete and wants its answer."""
        if not self.cycle.response_complete:
            self.admission.waits_for_us(self)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """A request is answered."""
        if self._parcels:
            self._parcels.pop(0).release()
        super().on_response_complete()
        if not self._parcels:
            self.admission.waits_for_client(self)
        elif self.cycle.more_body:  # of the next request, which was sent too early
            self.admission.waits_for_body(self)

    def make_room(self) -> None:
        """Close: another connection needs the place."""
        # Closing would wait for a client that does not read, or does not say goodbye in TLS.
        if self._hang_up is not None:
            self._hang_up()

    def _hand_over(self) -> None:
        if not self._parcels[-1].refused:
            super()._hand_over()

    def _expect_reading(self) -> None:
        super()._expect_reading()
        self._reply = self.admission.open()
        self._reply.add(self.transport.get_write_buffer_size())

    def _reply_was_read(self) -> None:
        super()._reply_was_read()
        if self._reply is not None:
            self._reply.release()
            self._reply = None


def connections(
    admission: Admission, *, max_body: int, reply_seconds: float
) -> type[AdmittedProtocol]:
    """The class of a server's connections.

    Args:
        admission: counts what they have in memory.
        max_body: the largest body in bytes.
        reply_seconds: how long a client may take to read its reply.
    """
    settings = {"admission": admission, "max_body": max_body, "reply_seconds": reply_seconds}
    return type("Connection", (AdmittedProtocol,), settings)


class Admitted:
    """Has the bytes of every request counted until the application is done with them.

    Args:
        app: what answers the requests.
        admission: what counts them.
    """

    def __init__(self, app: ASGIApp, admission: Admission) -> None:
        self._app = app
        self._admission = admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        extensions = scope.setdefault(_EXTENSIONS, {})
        parcel: Parcel | None = extensions.get(_PARCEL)
        if parcel is None:
            parcel = extensions[_PARCEL] = self._admission.open()
            receive = _counting(receive, parcel)
        else:
            parcel.hold()
        try:
            await self._app(scope, receive, send)
        finally:
            parcel.when_gone(None)
            parcel.release()


def parcel_of(scope: Scope) -> Parcel:
    """The parcel of a request that `Admitted` has let in."""
    found: Parcel = scope[_EXTENSIONS][_PARCEL]
    return found


def _counting(receive: Receive, parcel: Parcel) -> Receive:
    async def counted() -> Message:
        message = await receive()
        if message["type"] == "http.disconnect":
            parcel.hang_up()
        size = len(message.get("body", b""))
        if parcel.fits(size):
            parcel.add(size)
        return message

    return counted
