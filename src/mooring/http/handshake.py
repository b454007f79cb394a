"""TLS for a server's connections, which count from the moment they are accepted.

An event loop tells nobody of a connection before its handshake is over: one whose client says
nothing would be neither counted nor closed to make room. So `running` has the server accept plain
connections; each gives its socket to the protocol that will speak on it, together with TLS.

    accepted ──> Handshake ──counted──> shakes hands ──> http.connection_made
                                            └── too slow, rejected, or others need the place: closed
"""

import asyncio
import contextlib
import socket
import ssl
from typing import Any, ClassVar, Final

from uvicorn.server import ServerState

from mooring.http.protocol import WholeBodyProtocol

#: How long a client may take from connecting to the end of its handshake.
HANDSHAKE_SECONDS = 10.0
#: How long a connection that we close waits for its client to say goodbye.
_GOODBYE_SECONDS: Final = 30.0


class Handshake(asyncio.Protocol):
    """A connection whose client has to shake hands before it may say anything."""

    http: ClassVar[type[WholeBodyProtocol]]
    context: ClassVar[ssl.SSLContext]

    #: The one that was accepted, which has given its socket away.
    transport: asyncio.Transport
    _task: "asyncio.Task[None] | None" = None

    def __init__(self, server_state: ServerState, **more: Any) -> None:
        self._server_state = server_state
        self._connection = self.http(server_state=server_state, **more)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client connected."""
        self.transport = transport
        self._connection.accepted(self._hang_up)
        # With its own transport the loop would read the client's first bytes before TLS is there.
        with contextlib.suppress(OSError):  # there is no file descriptor left
            if not transport.is_closing():
                self._begin(transport.get_extra_info("socket").dup())
        transport.abort()
        if self._task is None:
            self._connection.not_made()

    def shutdown(self) -> None:
        """The server ends."""
        self._hang_up()

    def _hang_up(self) -> None:
        if self._task is not None:
            self._task.cancel()
        else:
            self.transport.abort()

    def _begin(self, sock: socket.socket) -> None:
        self._server_state.connections.add(self)  # type: ignore[arg-type]
        self._task = asyncio.get_running_loop().create_task(self._shake_hands(sock))
        # It may be cancelled before it has begun.
        self._task.add_done_callback(lambda _: self._end(sock))

    async def _shake_hands(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the client did not want to, or not in time
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: self._connection,
                sock,
                ssl=self.context,
                ssl_handshake_timeout=HANDSHAKE_SECONDS,
                ssl_shutdown_timeout=min(self._connection.reply_seconds, _GOODBYE_SECONDS),
            )

    def _end(self, sock: socket.socket) -> None:
        self._server_state.connections.discard(self)
        if not self._connection.is_made:
            sock.close()
            self._connection.not_made()


def with_tls(http: type[WholeBodyProtocol], context: ssl.SSLContext) -> type[Handshake]:
    """The class of a server's connections that speak TLS first.

    Args:
        http: the class of what they are after it.
        context: the server's certificate and whom it trusts.
    """
    return type("TlsConnection", (Handshake,), {"http": http, "context": context})
