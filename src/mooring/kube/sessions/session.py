"""The connections to one API server, and who we are on each request.

`client` calls it, one `Session` a client. It adds credentials, renews them when the API server
rejects them, and turns broken connections into `KubeError`; it does not look at answers.

    POST, PATCH ───────> http1.pool    half of the connections; never sent twice
    everything else ───> http1.pool    the other half; what is read may be a stream
    a proxy, an address
    with a user's name ─> aiohttp_session, which is imported only then
"""

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from mooring.errors import KubeError
from mooring.kube.cluster_config import ClusterConfig
from mooring.kube.credentials import Credentials
from mooring.kube.http1.connection import ApiReply
from mooring.kube.http1.pool import ConnectionPool
from mooring.kube.http1.request_bytes import RequestHead, ServerAddress
from mooring.kube.http1.transport_errors import TransportError
from mooring.kube.sessions.api_request import AnswerStream, ApiRequest, ClientLimits
from mooring.kube.status import certificate_error, connection_error
from mooring.kube.transport import Tls, proxy_for

if TYPE_CHECKING:
    from mooring.kube.sessions.aiohttp_session import AiohttpSession

CONNECTION_ERRORS = (TransportError, OSError, TimeoutError)
#: What must not be sent again if a kept connection turns out to be closed.
_ONCE: Final = frozenset({"POST", "PATCH"})
_UNAUTHORIZED: Final = int(HTTPStatus.UNAUTHORIZED)
#: An answer that is read as a whole is not longer, such as a page of large objects.
_MOST_READ_BYTES: Final = 1 << 30


class Session:
    """Sends calls over a bounded pool of connections.

    Args:
        config: which API server, and who we are.
        limits: how long and how much to wait for.
        user_agent: how we name ourselves.
        guard: called with method and path right before a body is sent, however long the request
            waited for a connection; it raises `KubeError` to stop it.
    """

    def __init__(
        self,
        config: ClusterConfig,
        limits: ClientLimits,
        user_agent: str,
        guard: Callable[[str, str], None] | None = None,
    ) -> None:
        self.config = config
        self._limits = limits
        self._guard = guard
        self._tls = Tls(config)
        self._proxy = proxy_for(config)
        usual = {"Accept": "application/json", "User-Agent": user_agent}
        for name, _ in config.headers:
            usual.pop(name, None)
        headers = [*usual.items(), *config.headers]
        self._address = None if self._proxy is not None else ServerAddress.of(config.server)
        # Compression costs the API server as much as making a list; answers to writes are short.
        plain = [*headers, ("Accept-Encoding", "identity")]
        self._head = self._reading_head = RequestHead(self._address, plain)
        if config.compression:
            zipped = [*headers, ("Accept-Encoding", "gzip")]
            self._reading_head = RequestHead(self._address, zipped)
        self._headers = headers
        self._open = False
        self._writes: ConnectionPool | None = None
        self._reads: ConnectionPool | None = None
        self._other: AiohttpSession | None = None

    async def open(self) -> None:
        """Make the pools; needs a running event loop."""
        self._open = True
        address, limits = self._address, self._limits
        if address is not None:
            half = max(limits.connections // 2, 1)
            rest, name = max(limits.connections - half, 1), self.config.tls_server_name
            connect_seconds = limits.connect_seconds
            self._writes = ConnectionPool(address, half, connect_seconds, name)
            self._reads = ConnectionPool(
                address, rest, connect_seconds, name, most_bytes=_MOST_READ_BYTES, repeats=True
            )

    async def close(self) -> None:
        """Close all connections."""
        self._open = False
        for pool in (self._writes, self._reads):
            if pool is not None:
                pool.close()
        self._writes = self._reads = None
        if self._other is not None:
            await self._other.close()
            self._other = None

    async def exchange(self, call: ApiRequest) -> ApiReply:
        """Send a call and read the whole answer; after a 401 once more with other credentials.

        Raises:
            KubeError: the API server could not be reached, or the connection broke.
        """
        auth = self.config.auth
        credentials = await auth.credentials()
        reply = await self._answer(call, credentials)
        if reply.status != _UNAUTHORIZED or not await self._renew(credentials):
            return reply
        return await self._answer(call, await auth.credentials())

    async def _answer(self, call: ApiRequest, credentials: Credentials) -> ApiReply:
        once = call.method in _ONCE
        pool, head = (
            self._writes if once else self._reads,
            self._head if once else self._reading_head,
        )
        request = self._written(call, head, credentials)
        try:
            if pool is None or request is None:
                return await self._elsewhere().exchange(call, credentials)
            guard = self._guard
            return await pool.send(
                request,
                self._context(credentials),
                self._limits.request_seconds if call.seconds is None else call.seconds,
                None
                if guard is None or call.content is None
                else partial(guard, call.method, call.path),
            )
        except CONNECTION_ERRORS as error:
            raise self.connection_error(error) from error

    @asynccontextmanager
    async def stream(self, call: ApiRequest) -> AsyncIterator[AnswerStream]:
        """Send a call and read the answer while it arrives; after a 401 as `exchange` does.

        Raises:
            KubeError: the API server could not be reached. What goes wrong while the answer is read
                is for the reader, who has `connection_error` for it.
        """
        auth = self.config.auth
        credentials = await auth.credentials()
        async with AsyncExitStack() as stack:
            answer = await self._entered(stack, self._begin(call, credentials))
            if answer.status == _UNAUTHORIZED and await self._renew(credentials):
                await stack.aclose()
                answer = await self._entered(stack, self._begin(call, await auth.credentials()))
            yield answer

    def _begin(
        self, call: ApiRequest, credentials: Credentials
    ) -> AbstractAsyncContextManager[AnswerStream]:
        request = self._written(call, self._head, credentials)
        if self._reads is None or request is None:
            return self._elsewhere().stream(call, credentials)
        seconds = self._limits.request_seconds
        return self._reads.stream(request, self._context(credentials), seconds)

    async def _entered(
        self, stack: AsyncExitStack, begun: AbstractAsyncContextManager[AnswerStream]
    ) -> AnswerStream:
        try:
            return await stack.enter_async_context(begun)
        except CONNECTION_ERRORS as error:
            raise self.connection_error(error) from error

    def _written(
        self, call: ApiRequest, head: RequestHead, credentials: Credentials
    ) -> bytes | None:
        """The request as bytes; None if it cannot be written down as it is."""
        if not self._open:
            raise RuntimeError("use the client as a context manager: async with Client(...)")
        return head.request(
            call.method, call.path_and_query, credentials.authorization, call.content_type,
            call.content,
        )  # fmt: skip

    def _context(self, credentials: Credentials) -> ssl.SSLContext | None:
        return self._tls.context(credentials) if self.config.secure else None

    def _elsewhere(self) -> "AiohttpSession":
        """What sends requests that need more than plain HTTP/1.1."""
        if self._other is None:
            # Importing aiohttp takes a tenth of a second, and hardly anybody needs it.
            from mooring.kube.sessions.aiohttp_session import AiohttpSession  # noqa: PLC0415

            self._other = AiohttpSession(
                self.config, self._limits, self._headers, self._proxy, self._tls, self._guard
            )
        return self._other

    async def _renew(self, rejected: Credentials) -> bool:
        """After a 401: whether there are other credentials to try.

        Raises:
            KubeError: they could not be had.
        """
        try:
            renewed = await self.config.auth.renew(rejected)
        except CONNECTION_ERRORS as error:
            raise self.connection_error(error) from error
        if self.config.cert_file is not None:
            self._tls.forget()
            return True
        return renewed

    def connection_error(self, error: Exception) -> KubeError:
        """The sentence for a connection that could not be made or broke."""
        if certificate_error(error) is not None:
            self._tls.forget()  # the certificate authority may have been replaced since
        return connection_error(self.config, error)
