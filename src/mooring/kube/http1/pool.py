"""A bounded number of connections to one server, kept alive between requests; called by `session`.

A request takes the connection that was used last, so that those a burst needed become idle and are
closed after a while. Without an idle one it makes another, or waits for its turn; at first, few are
made at once. A connection on which anything went wrong, or whose sender gave up, is closed: what
comes next on it is not known.
Answers are read as a whole (`send`) or while they arrive (`stream`).
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from errno import ECONNABORTED, ECONNRESET
from os import strerror
from typing import Final

from mooring.kube.http1.connection import MOST_BYTES, ApiConnection, ApiReply
from mooring.kube.http1.dialing import dial
from mooring.kube.http1.request_bytes import ServerAddress
from mooring.kube.http1.slots import Slots
from mooring.kube.http1.stream import ApiStream
from mooring.kube.http1.transport_errors import NotConnected, ServerClosed
from mooring.kube.transport import keep_alive

#: A connection that nobody used for so long is closed; API servers close them after 90 s.
IDLE_SECONDS: Final = 60.0
#: At first so many connections are made at once, and one more for each that is there: the first
#: request of a burst would wait until the server has shaken hands for all of them.
_AT_ONCE: Final = 4


class ConnectionPool:
    """Sends requests over connections of its own.

    Args:
        address: the server's.
        most: so many connections at a time.
        connect_seconds: for a new connection.
        server_name: the name to expect in the server's certificate; empty for the host's.
        most_bytes: a whole answer is not longer; a stream may be.
        repeats: whether a request is sent once more when a kept connection turns out to be closed
            before it is answered; not for what must not happen twice.
    """

    def __init__(
        self,
        address: ServerAddress,
        most: int,
        connect_seconds: float,
        server_name: str = "",
        *,
        most_bytes: int = MOST_BYTES,
        repeats: bool = False,
    ) -> None:
        self._address = address
        self._connect_seconds = connect_seconds
        self._server_name = server_name
        self._most_bytes = most_bytes
        self._repeats = repeats
        self._slots = Slots(most)
        # Who may make a connection now, and how many more at once there will be.
        self._making = Slots(_AT_ONCE)
        self._more_at_once = max(most - _AT_ONCE, 0)
        self._idle: list[ApiConnection] = []
        self._busy: set[ApiConnection] = set()
        self._expiry: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._closed = False

    async def send(
        self,
        request: bytes,
        context: ssl.SSLContext | None,
        seconds: float,
        guard: Callable[[], None] | None = None,
    ) -> ApiReply:
        """Send a request and wait for the whole answer.

        Args:
            request: head and body.
            context: for TLS; None for plain TCP.
            seconds: for everything, waiting for a connection included.
            guard: called right before the request is sent; whatever it raises stops it.

        Raises:
            TransportError: the connection could not be made or broke.
            OSError: the connection broke.
            TimeoutError: it took too long.
        """
        slots = self._slots
        if not slots.take():
            seconds = await self._wait_for_slot(seconds)
        try:
            deadline = self._loop.time() + seconds
            connection, kept = self._take(context), True
            if connection is None:
                connection, kept = await self._connection(context, deadline)
            try:
                return await self._send(connection, request, deadline, guard)
            except (ServerClosed, ConnectionError):
                if not (kept and self._repeats):
                    raise
            connection, _ = await self._connection(context, deadline, fresh=True)
            return await self._send(connection, request, deadline, guard)
        finally:
            slots.give_back()

    async def _send(
        self,
        connection: ApiConnection,
        request: bytes,
        deadline: float,
        guard: Callable[[], None] | None,
    ) -> ApiReply:
        self._busy.add(connection)
        try:
            if guard is not None:
                guard()
            return await connection.send(request, deadline - self._loop.time())
        except asyncio.CancelledError:
            connection.close()
            raise
        finally:
            self._busy.discard(connection)
            if connection.usable:
                self._put_back(connection)

    @asynccontextmanager
    async def stream(
        self, request: bytes, context: ssl.SSLContext | None, seconds: float
    ) -> AsyncIterator[ApiStream]:
        """Send a request and read the answer while it arrives, for the length of a block.

        Args:
            request: head and body.
            context: for TLS; None for plain TCP.
            seconds: until the answer begins, waiting for a connection included.

        Raises:
            TransportError: the connection could not be made or broke.
            OSError: the connection broke.
            TimeoutError: it took too long.
        """
        slots = self._slots
        if not slots.take():
            seconds = await self._wait_for_slot(seconds)
        connection: ApiConnection | None = None
        try:
            connection, stream = await self._begin(request, context, seconds)
            yield stream
        finally:
            if connection is not None:
                self._busy.discard(connection)
                if connection.usable:
                    self._put_back(connection)
                else:
                    connection.close()  # nobody reads the rest
            slots.give_back()

    async def _begin(
        self, request: bytes, context: ssl.SSLContext | None, seconds: float
    ) -> tuple[ApiConnection, ApiStream]:
        """Send a request whose answer is a stream; gives the connection that has it."""
        deadline = self._loop.time() + seconds
        connection, kept = self._take(context), True
        if connection is None:
            connection, kept = await self._connection(context, deadline)
        try:
            return connection, await self._begun(connection, request, deadline)
        except (ServerClosed, ConnectionError):
            if not (kept and self._repeats):
                raise
        connection, _ = await self._connection(context, deadline, fresh=True)
        return connection, await self._begun(connection, request, deadline)

    async def _begun(self, connection: ApiConnection, request: bytes, deadline: float) -> ApiStream:
        self._busy.add(connection)
        try:
            return await connection.stream(request, deadline - self._loop.time())
        except BaseException:
            self._busy.discard(connection)
            connection.close()
            raise

    def close(self) -> None:
        """Close all connections and make no more."""
        self._closed = True
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        for connection in (*self._idle, *self._busy):
            connection.close()
        self._idle.clear()

    async def _wait_for_slot(self, seconds: float) -> float:
        """Wait until one may be sent; the seconds that are left."""
        deadline = self._loop.time() + seconds
        async with asyncio.timeout_at(deadline):
            await self._slots.wait()
        return deadline - self._loop.time()

    async def _connection(
        self, context: ssl.SSLContext | None, deadline: float, *, fresh: bool = False
    ) -> tuple[ApiConnection, bool]:
        """A connection when there was none, and whether it was used before.

        Args:
            context: for TLS; None for plain TCP.
            deadline: until then, by the event loop's clock.
            fresh: it must be a new one.
        """
        making = self._making
        async with asyncio.timeout_at(deadline):
            if not making.take():
                await making.wait()
            try:
                # Another request may have ended meanwhile.
                kept = None if fresh else self._take(context)
                if kept is not None:
                    return kept, True
                if self._closed:
                    raise NotConnected(ConnectionAbortedError(ECONNABORTED, strerror(ECONNABORTED)))
                connection = await self._connect(context)
                if self._more_at_once:
                    self._more_at_once -= 1
                    making.give_back()
                return connection, False
            finally:
                making.give_back()

    def _take(self, context: ssl.SSLContext | None) -> ApiConnection | None:
        """An idle connection; those with other certificates are closed."""
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                if connection.context is context:
                    return connection
                connection.close()
        return None

    def _put_back(self, connection: ApiConnection) -> None:
        connection.idle_since = self._loop.time()
        self._idle.append(connection)
        if self._expiry is None:
            self._expiry = self._loop.call_later(IDLE_SECONDS, self._close_idle)

    def _close_idle(self) -> None:
        """Close what nobody used lately; the longest unused ones are the first."""
        self._expiry = None
        last = self._loop.time() - IDLE_SECONDS
        kept = [one for one in self._idle if one.usable and one.idle_since > last]
        for connection in self._idle:
            if connection.idle_since <= last:
                connection.close()
        self._idle = kept
        if kept:
            left = kept[0].idle_since - last
            self._expiry = self._loop.call_later(left, self._close_idle)

    async def _connect(self, context: ssl.SSLContext | None) -> ApiConnection:
        address = self._address
        name = (self._server_name or address.host) if context is not None else None
        try:
            async with asyncio.timeout(self._connect_seconds):
                dialed = await dial(self._loop, address.host, address.port)
                try:
                    transport, connection = await self._loop.create_connection(
                        lambda: ApiConnection(self._loop, context, self._most_bytes),
                        sock=dialed,
                        ssl=context,
                        server_hostname=name,
                    )
                except BaseException:
                    dialed.close()
                    raise
        except OSError as error:
            if isinstance(error, TimeoutError) and error.errno is None:
                raise  # ours
            raise NotConnected(error) from error
        keep_alive(transport)
        if self._closed:
            connection.close()
        if not connection.usable:
            raise NotConnected(ConnectionResetError(ECONNRESET, strerror(ECONNRESET)))
        return connection
