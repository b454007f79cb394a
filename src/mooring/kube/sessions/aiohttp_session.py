"""Requests over aiohttp: through a proxy, or to an address that is not written down as it is.

`session` imports it when it is first needed, because aiohttp takes a tenth of a second. Errors are
those of `http1.transport_errors`, so that nobody else needs to know aiohttp's.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Final

import aiohttp
from aiohttp.abc import AbstractStreamWriter

from mooring.errors import KubeError
from mooring.kube.cluster_config import ClusterConfig
from mooring.kube.credentials import Credentials
from mooring.kube.http1.connection import ApiReply
from mooring.kube.http1.transport_errors import (
    InvalidResponse,
    NotConnected,
    ProxyAnswered,
    ProxyUnreachable,
    ServerClosed,
    TransportError,
    Truncated,
)
from mooring.kube.sessions.api_request import ApiRequest, ClientLimits
from mooring.kube.transport import Tls, keep_alive

_READ_BUFFER_BYTES: Final = 2**18
Headers = Iterable[tuple[str, str]]


class AiohttpSession:
    """Sends calls over a bounded pool of aiohttp's connections; made on a running event loop.

    Args:
        config: which API server, and who we are.
        limits: how long and how much to wait for.
        headers: those of every request.
        proxy: the proxy's URL; None for none.
        tls: the TLS context.
        guard: as in `Session`.
    """

    def __init__(
        self,
        config: ClusterConfig,
        limits: ClientLimits,
        headers: Headers,
        proxy: str | None,
        tls: Tls,
        guard: Callable[[str, str], None] | None,
    ) -> None:
        self._config = config
        self._limits = limits
        self._headers = list(headers)
        self._proxy = proxy
        self._tls = tls
        self._guard = guard
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=limits.connections, keepalive_timeout=60),
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=_READ_BUFFER_BYTES,
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._http.close()

    async def exchange(self, call: ApiRequest, credentials: Credentials) -> ApiReply:
        """Send a call and read the whole answer.

        Raises:
            KubeError: the guard's.
            TransportError: the connection could not be made or broke.
            OSError: the connection broke.
            TimeoutError: it took too long.
        """
        limits = self._limits
        seconds = limits.request_seconds if call.seconds is None else call.seconds
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=limits.connect_seconds)
        try:
            async with await self._send(call, credentials, timeout) as response:
                body = await response.read()
        except aiohttp.ClientError as error:
            raise _transport_error(error) from error
        return ApiReply(response.status, body, response.headers.get("Retry-After", ""))

    @asynccontextmanager
    async def stream(self, call: ApiRequest, credentials: Credentials) -> AsyncIterator["_Stream"]:
        """Send a call and read the answer while it arrives; raises as `exchange` does."""
        limits = self._limits
        timeout = aiohttp.ClientTimeout(sock_connect=limits.connect_seconds)
        try:
            async with asyncio.timeout(limits.request_seconds):
                response = await self._send(call, credentials, timeout, streamed=True)
        except aiohttp.ClientError as error:
            raise _transport_error(error) from error
        async with response:
            if response.connection is not None:
                keep_alive(response.connection.transport)
            yield _Stream(response)

    async def _send(
        self,
        call: ApiRequest,
        credentials: Credentials,
        limit: aiohttp.ClientTimeout,
        *,
        streamed: bool = False,
    ) -> aiohttp.ClientResponse:
        config, headers = self._config, self._headers.copy()
        if streamed or not config.compression:
            headers.append(("Accept-Encoding", "identity"))
        if credentials.authorization:
            headers.append(("Authorization", credentials.authorization))
        if call.content is not None:
            headers.append(("Content-Type", call.content_type))
        try:
            return await self._http.request(
                call.method,
                config.server + call.path_and_query,
                data=self._body(call),
                headers=headers,
                timeout=limit,
                proxy=self._proxy,
                ssl=self._tls.context(credentials) if config.secure else True,
                server_hostname=config.tls_server_name or None,
                allow_redirects=False,
            )
        except aiohttp.ClientError as error:
            if isinstance(error.__cause__, KubeError):
                raise error.__cause__ from None  # the guard's
            raise

    def _body(self, call: ApiRequest) -> "bytes | _GuardedBody | None":
        guard = self._guard
        if guard is None or call.content is None:
            return call.content
        return _GuardedBody(call.content, lambda: guard(call.method, call.path))


class _GuardedBody(aiohttp.BytesPayload):
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


class _Stream:
    """A response as `session.AnswerStream`."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = {
            name.lower(): value for name, value in response.headers.items()
        }
        self._content = response.content

    async def read(self, seconds: float) -> bytes:
        """What has arrived, or comes next; empty at the end and after a silence of so long."""
        try:
            async with asyncio.timeout(seconds) as silence:
                return await self._content.readany()
        except TimeoutError:
            if silence.expired():
                return b""
            raise
        except aiohttp.ClientError as error:
            raise _transport_error(error) from error


def _transport_error(error: aiohttp.ClientError) -> Exception:
    """The same in the words of `http1`."""
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return ProxyAnswered(error.status)
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return ProxyUnreachable(error.os_error)
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        why = error.certificate_error
        return NotConnected(why if isinstance(why, OSError) else OSError(str(why)))
    if isinstance(error, aiohttp.ClientConnectorError):
        return NotConnected(error.os_error)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return ServerClosed()
    if isinstance(error, aiohttp.ClientPayloadError):
        return Truncated()
    if isinstance(error, aiohttp.ClientResponseError):
        return InvalidResponse()
    return error if isinstance(error, OSError) else TransportError(type(error).__name__)
