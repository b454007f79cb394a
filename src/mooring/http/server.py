"""A uvicorn server as one thing that starts and ends; every server of ours is made here."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator

import uvicorn

from mooring.http.handshake import with_tls
from mooring.http.origin import OwnOrigin
from mooring.http.protocol import WholeBodyProtocol
from mooring.http.tls import Certificates
from mooring.process.file_descriptors import watch_descriptors

_KEEP_ALIVE_SECONDS = 5


class Server(uvicorn.Server):
    """uvicorn's server, with signals left to us."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def make_server(
    app: OwnOrigin,
    *,
    http: type[WholeBodyProtocol] = WholeBodyProtocol,
    certificates: Certificates | None = None,
    close_seconds: int = 1,
    keep_alive_seconds: int = _KEEP_ALIVE_SECONDS,
) -> Server:
    """A server for an ASGI application: no log, no lifespan, no web sockets.

    Args:
        app: the application, kept away from other sites' web pages.
        http: the class of a connection.
        certificates: for TLS; None for plain HTTP.
        close_seconds: how long requests under way are waited for at the end.
        keep_alive_seconds: how long an idle connection is kept.
    """
    settings = uvicorn.Config(
        app,
        http=http,
        loop="none",
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=keep_alive_seconds,
        timeout_graceful_shutdown=close_seconds,
    )
    settings.load()
    if certificates is not None:
        settings.http_protocol_class = with_tls(http, certificates.context)
    return Server(settings)


@contextlib.asynccontextmanager
async def serving(
    server: Server,
    sock: socket.socket,
    certificates: Certificates | None = None,
    *,
    abort: bool = False,
) -> AsyncIterator[list[asyncio.Task[None]]]:
    """Serve for the length of a block; yields the tasks that do it, which should not end.

    Args:
        server: what serves.
        sock: where.
        certificates: are looked after for renewals.
        abort: hang up on all clients at the end, whatever they wait for.
    """
    tasks = [asyncio.create_task(server.serve(sockets=[sock]))]
    tasks.append(asyncio.create_task(watch_descriptors()))
    if certificates is not None:
        tasks.append(asyncio.create_task(certificates.watch()))
    try:
        yield tasks
    finally:
        if abort:
            for connection in list(server.server_state.connections):
                connection.transport.abort()
        server.should_exit = True
        await asyncio.wait(tasks[:1], timeout=2 * (server.config.timeout_graceful_shutdown or 1))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
