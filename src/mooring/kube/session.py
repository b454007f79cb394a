"""The connections to one API server, and who we are on each request.

`client` calls it, one `Session` a client. It adds credentials, renews them when the API server
rejects them, and turns broken connections into `KubeError`; it does not look at answers.

    POST, PATCH with a body ──> http1.pool    what a scheduler sends thousands of
    everything else ──────────> aiohttp       lists, watches, reads; whatever needs a proxy
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote, urlencode

import aiohttp
import msgspec
from aiohttp.abc import AbstractStreamWriter

from mooring.errors import KubeError
from mooring.kube.cluster_config import ClusterConfig
from mooring.kube.credentials import Credentials
from mooring.kube.http1.connection import ApiReply
from mooring.kube.http1.pool import ConnectionPool
from mooring.kube.http1.request_bytes import RequestHead, ServerAddress
from mooring.kube.http1.transport_errors import TransportError
from mooring.kube.status import certificate_error, connection_error
from mooring.kube.transport import Tls, keep_alive, proxy_for

Params = Mapping[str, str | int]

CONNECTION_ERRORS = (aiohttp.ClientError, TransportError, OSError, TimeoutError)
#: The hot writes. aiohttp sends other methods again if a kept connection turns out to be closed.
_LEAN_METHODS: Final = frozenset({"POST", "PATCH"})
_UNAUTHORIZED: Final = int(HTTPStatus.UNAUTHORIZED)
_READ_BUFFER_BYTES = 2**18


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLimits:
    """How long and how much a client waits for.

    Attributes:
        request_seconds: for a whole request, with waiting for a free connection and with the
            pauses a busy API server asks for; of a stream, until it begins.
        connect_seconds: for a new connection.
        stream_read_seconds: for the next bytes of a stream; whoever reads it may give it up sooner.
        connections: at most so many at a time, streams included; half of them are for POST and
            PATCH.
    """

    request_seconds: float = 30.0
    connect_seconds: float = 10.0
    stream_read_seconds: float = 240.0
    connections: int = 100


DEFAULT_LIMITS = ClientLimits()


class ApiRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One request to send.

    Attributes:
        path: already quoted.
        params: the query, not quoted yet.
        content: the body; None for none.
        endless: the answer is a stream without an end.
        seconds: another time limit than usual for the whole answer.
    """

    method: str
    path: str
    params: Params | None = None
    content: bytes | None = None
    content_type: str = ""
    endless: bool = False
    seconds: float | None = None


class GuardedBody(aiohttp.BytesPayload):
    """A body that is sent only if it may be when its turn comes.

    Args:
        content: the body.
        guard: asked last, when the connection is there; it raises `KubeError` to stop the request.
    """

    def __init__(self, content: bytes, guard: Callable[[], None]) -> None:
        super().__init__(content)
        self._guard = guard

    async def write_with_length(
        self, writer: AbstractStreamWriter, content_length: int | None
    ) -> None:
        """Send it; aiohttp calls this."""
        self._guard()
        await super().write_with_length(writer, content_length)


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
        self._guard = guard
        self._tls = Tls(config)
        self._secure = config.secure
        self._proxy = proxy_for(config)
        usual = {"Accept": "application/json", "User-Agent": user_agent}
        for name, _ in config.headers:
            usual.pop(name, None)
        self._headers = [*usual.items(), *config.headers]
        self._address = None if self._proxy is not None else ServerAddress.of(config.server)
        # Compression costs the API server as much as making a list; answers to writes are short.
        self._streamed = [*self._headers, ("Accept-Encoding", "identity")]
        self._head = RequestHead(self._address, self._streamed)
        if not config.compression:
            self._headers = self._streamed
        self._timeout = aiohttp.ClientTimeout(
            total=limits.request_seconds, sock_connect=limits.connect_seconds
        )
        self._endless = aiohttp.ClientTimeout(sock_connect=limits.connect_seconds)
        self._request_seconds = limits.request_seconds
        self._connect_seconds = limits.connect_seconds
        self._pool_size = max(limits.connections // 2, 1)
        self._connections = max(limits.connections - self._pool_size, 1)
        self._http: aiohttp.ClientSession | None = None
        self._pool: ConnectionPool | None = None

    async def open(self) -> None:
        """Make the pools; needs a running event loop."""
        if self._address is not None:
            self._pool = ConnectionPool(
                self._address, self._pool_size, self._connect_seconds, self.config.tls_server_name
            )
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._connections, keepalive_timeout=60),
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=_READ_BUFFER_BYTES,
        )

    async def close(self) -> None:
        """Close all connections."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None
        if self._http is not None:
            await self._http.close()
            self._http = None

    async def exchange(self, call: ApiRequest) -> ApiReply:
        """Send a call and read the whole answer; after a 401 as `send` does.

        Raises:
            KubeError: the API server could not be reached, or the connection broke.
        """
        pool, auth = self._pool, self.config.auth
        if pool is None or call.content is None or call.method not in _LEAN_METHODS:
            return await self._read(call)
        credentials = await auth.credentials()
        renewed = False
        while True:
            sending = self._sending(pool, call, credentials)
            if sending is None:
                return await self._read(call)
            try:
                reply = await sending
            except CONNECTION_ERRORS as error:
                raise self.connection_error(error) from error
            if reply.status != _UNAUTHORIZED or renewed or not await self._renew(credentials):
                return reply
            credentials, renewed = await auth.credentials(), True

    async def _read(self, call: ApiRequest) -> ApiReply:
        async with await self.send(call) as response:
            try:
                body = await response.read()
            except CONNECTION_ERRORS as error:
                raise self.connection_error(error) from error
        return ApiReply(response.status, body, response.headers.get("Retry-After", ""))

    def _sending(
        self, pool: ConnectionPool, call: ApiRequest, credentials: Credentials
    ) -> Coroutine[Any, Any, ApiReply] | None:
        """A request over the pool, to be awaited; None if it cannot be written down as it is."""
        path, content = _with_query(call), call.content or b""
        request = self._head.request(
            call.method, path, credentials.authorization, call.content_type, content
        )
        if request is None:
            return None
        return pool.send(
            request,
            self._tls.context(credentials) if self._secure else None,
            self._request_seconds if call.seconds is None else call.seconds,
            None if self._guard is None else partial(self._guard, call.method, call.path),
        )

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

    async def send(self, call: ApiRequest) -> aiohttp.ClientResponse:
        """Send a call over aiohttp; after a 401 once more, if there are other credentials to try.

        Raises:
            KubeError: the API server could not be reached.
        """
        config = self.config
        credentials = await config.auth.credentials()
        response = await self._attempt(call, credentials)
        if response.status != HTTPStatus.UNAUTHORIZED:
            return response
        try:
            await response.read()  # the response keeps it for the caller
            if not await self._renew(credentials):
                return response
        except CONNECTION_ERRORS as error:
            response.close()
            raise self.connection_error(error) from error
        except BaseException:
            response.close()
            raise
        response.release()
        return await self._attempt(call, await config.auth.credentials())

    async def _attempt(self, call: ApiRequest, credentials: Credentials) -> aiohttp.ClientResponse:
        if self._http is None:
            raise RuntimeError("use the client as a context manager: async with Client(...)")
        config = self.config
        headers = list(self._streamed if call.endless else self._headers)
        if credentials.authorization:
            headers.append(("Authorization", credentials.authorization))
        if call.content is not None:
            headers.append(("Content-Type", call.content_type))
        url = config.server + _with_query(call)
        try:
            async with asyncio.timeout(self._request_seconds if call.endless else None):
                response = await self._http.request(
                    call.method,
                    url,
                    data=self._body(call),
                    headers=headers,
                    timeout=self._timeout_of(call),
                    proxy=self._proxy,
                    ssl=self._tls.context(credentials) if self._secure else True,
                    server_hostname=config.tls_server_name or None,
                    allow_redirects=False,
                )
        except CONNECTION_ERRORS as error:
            if isinstance(error.__cause__, KubeError):
                raise error.__cause__ from None  # the guard's
            raise self.connection_error(error) from error
        if call.endless and response.connection is not None:
            keep_alive(response.connection.transport)
        return response

    def _body(self, call: ApiRequest) -> bytes | GuardedBody | None:
        guard = self._guard
        if guard is None or call.content is None:
            return call.content
        return GuardedBody(call.content, lambda: guard(call.method, call.path))

    def _timeout_of(self, call: ApiRequest) -> aiohttp.ClientTimeout:
        if call.endless:
            return self._endless
        if call.seconds is None:
            return self._timeout
        return aiohttp.ClientTimeout(total=call.seconds, sock_connect=self._timeout.sock_connect)

    def connection_error(self, error: Exception) -> KubeError:
        """The sentence for a connection that could not be made or broke."""
        if certificate_error(error) is not None:
            self._tls.forget()  # the certificate authority may have been replaced since
        return connection_error(self.config, error)


def _with_query(call: ApiRequest) -> str:
    if not call.params:
        return call.path
    return f"{call.path}?{urlencode(call.params, quote_via=quote)}"
