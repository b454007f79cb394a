"""Probes and metrics on a socket of their own, over plain HTTP.

The kubelet probes a pod from outside and has no client certificate: an extender that listens on
loopback, or wants certificates, cannot be probed on its own port. `server` starts this beside it
with ``--health-port``. No verb is served here, and nothing can be changed.
"""

import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Final

from starlette.types import ASGIApp

from mooring.http import server as http_server
from mooring.http.limited_connections import limited_connections
from mooring.http.load_limits import LoadLimits
from mooring.http.origin import OwnOrigin

#: Probes and Prometheus need a few.
MAX_CONNECTIONS: Final = 100
#: Nothing is sent here that has a body, and no reply is larger.
_MAX_BYTES: Final = 64 << 20
_MAX_BODY: Final = 1 << 20
_REPLY_SECONDS: Final = 30.0


@contextlib.asynccontextmanager
async def serving_health(
    app: ASGIApp, sock: socket.socket, allow_hosts: frozenset[str] = frozenset()
) -> AsyncIterator[None]:
    """Serve for the length of a block, until the very end of a shutdown.

    Args:
        app: the endpoints.
        sock: where.
        allow_hosts: further names for `OwnOrigin`.
    """
    server = http_server.make_server(
        OwnOrigin(app, sock, allow_hosts),
        http=limited_connections(
            LoadLimits(_MAX_BYTES, MAX_CONNECTIONS),
            max_body=_MAX_BODY,
            reply_seconds=_REPLY_SECONDS,
        ),
    )
    async with http_server.serving(server, sock, abort=True):
        yield
