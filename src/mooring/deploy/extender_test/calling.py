"""Sends requests to one extender as kube-scheduler does, and keeps all that came back.

`Caller` is used by every check and probe here. What goes wrong is part of the `Reply`, never an
exception; how much is read and how long it waits is limited. It never judges an answer.
"""

import asyncio
import io
import time
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Self
from urllib.parse import urljoin, urlsplit

import aiohttp

from mooring.config.types import Extender
from mooring.errors import InputError
from mooring.extender.address import NO_TLS, is_address, server_of, shown, timeout_seconds, why
from mooring.extender.http_extender import CONNECTION_ERRORS, MAX_REPLY_BYTES
from mooring.kube.credentials import Credentials
from mooring.kube.transport import Tls, proxy_for

#: Why there is no answer; empty if there is one.
Failure = Literal[
    "", "unreachable", "no-tls", "tls", "closed", "timeout", "large", "encoding", "redirect"
]
#: Failures to connect, and the ids of the checks that they fail.
_CONNECTION_CHECKS: Final[dict[str, str]] = {
    "unreachable": "reachable", "no-tls": "speaks-tls", "tls": "tls",
}  # fmt: skip

_OK: Final = 200
#: Redirects after which Go sends the same request again; after others it sends a GET without body.
_KEEPS_BODY: Final = (307, 308)
_LOSES_BODY: Final = (301, 302, 303)
# parity v1.36: net/http Client follows as many
_MOST_REDIRECTS: Final = 10
_CONNECTIONS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back.

    Attributes:
        status: the HTTP status; 0 if nothing came.
        body: the whole body, unpacked if it was gzip; empty if it was not read to its end.
        seconds: from the first byte sent until the last one received.
        failure: why there is no answer that kube-scheduler could read.
        problem: the same in words, such as "it closed the connection".
        closes: the extender closed the connection after its answer.
        redirected: where it sent us on the way.
        encoding: what is said to be done to the body, and Go would not undo.
    """

    status: int = 0
    body: bytes = b""
    seconds: float = 0.0
    failure: Failure = ""
    problem: str = ""
    closes: bool = False
    redirected: tuple[str, ...] = ()
    encoding: str = ""

    @property
    def usable(self) -> bool:
        """Whether kube-scheduler would try to decode it."""
        return not self.failure and self.status == _OK

    @property
    def connection_check(self) -> str:
        """The id of the check that there is no connection for; empty if there is one."""
        return _CONNECTION_CHECKS.get(self.failure, "")


def _without_closed_connections(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Leave out what the reply says already: the extender closed while the body was being sent."""
    if not isinstance(context.get("exception"), aiohttp.ClientConnectionError):
        loop.default_exception_handler(context)


def _joined(url: str, where: str) -> str:
    """Where a redirect leads; empty if nobody can ask there."""
    try:
        found = urljoin(url, where)
    except ValueError:
        return ""
    return found if is_address(found) else ""


class Caller:
    """Calls one extender; use it with ``async with``.

    Args:
        settings: the extender, as a configuration has it.
        max_reply: the largest answer in bytes.

    Raises:
        InputError: its address or its TLS settings cannot be used.
    """

    def __init__(self, settings: Extender, *, max_reply: int = MAX_REPLY_BYTES) -> None:
        self.settings = settings
        self.name = shown(settings.url_prefix)
        if not is_address(settings.url_prefix):
            raise InputError(
                f"{settings.url_prefix or 'an empty urlPrefix'} is not an address; "
                f"give one such as http://127.0.0.1:8888"
            )
        self.seconds = timeout_seconds(settings)
        self._max_reply = max_reply
        self._server = server_of(settings)
        self._proxy = proxy_for(self._server)
        self._tls = Tls(self._server).context(Credentials()) if self._server.secure else None
        self._http: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        asyncio.get_running_loop().set_exception_handler(_without_closed_connections)
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit_per_host=_CONNECTIONS, keepalive_timeout=30),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(),
            auto_decompress=False,
            # As Go's transport does, which unpacks gzip and nothing else.
            headers={
                "User-Agent": "mooring-extender-test",
                "Content-Type": "application/json",
                "Accept-Encoding": "gzip",
            },
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._http is not None:
            await self._http.close()

    def another(self) -> "Caller":
        """One that calls the same extender over connections of its own."""
        return Caller(self.settings, max_reply=self._max_reply)

    @property
    def secure(self) -> bool:
        """Whether the connection is encrypted."""
        return self._tls is not None

    @property
    def direct(self) -> bool:
        """Whether no proxy stands in between."""
        return self._proxy is None

    def url(self, verb: str) -> str:
        """Where a verb is asked."""
        # parity v1.36.4: extender.go send
        return f"{self.settings.url_prefix.rstrip('/')}/{verb}"

    def shown_url(self, verb: str) -> str:
        """Where a verb is asked, for people."""
        return f"{self.name.rstrip('/')}/{verb}"

    async def post(self, verb: str, body: bytes, *, repeat: bool = True) -> Reply:
        """Ask a verb; follows redirects as far as Go would.

        Args:
            verb: what follows the ``urlPrefix``.
            body: what is sent.
            repeat: ask once more if the connection was closed, as it may have been idle too long.
        """
        start = time.perf_counter()
        try:
            async with asyncio.timeout(self.seconds):
                reply = await self._follow(self.url(verb), body)
                if reply.failure == "closed" and repeat:
                    reply = await self._follow(self.url(verb), body)
        except TimeoutError:
            reply = Reply(
                failure="timeout", problem=f"it did not answer within {self.seconds:g} seconds"
            )
        return replace(reply, seconds=time.perf_counter() - start)

    async def hang_up(self, sent: bytes) -> None:
        """Send a request or a part of one, and close the connection without waiting.

        Raises:
            OSError: there is no connection.
        """
        async with self.silent_connection() as (_, writer):
            writer.write(sent)
            await writer.drain()

    @asynccontextmanager
    async def silent_connection(
        self,
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """A connection of its own, on which only the caller sends anything.

        Raises:
            OSError: it cannot be opened.
        """
        parts = urlsplit(self.settings.url_prefix)
        host = parts.hostname or ""
        async with asyncio.timeout(self.seconds):
            reader, writer = await asyncio.open_connection(
                host,
                parts.port or (443 if self.secure else 80),
                ssl=self._tls,
                server_hostname=(self._server.tls_server_name or host) if self._tls else None,
            )
        try:
            yield reader, writer
        finally:
            writer.close()

    def head(self, verb: str, length: int) -> bytes:
        """The head of a request for `silent_connection`."""
        parts = urlsplit(self.url(verb))
        netloc = parts.netloc.rpartition("@")[2]
        return (
            f"POST {parts.path or '/'} HTTP/1.1\r\nHost: {netloc}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        ).encode()

    async def _follow(self, url: str, body: bytes) -> Reply:
        passed: tuple[str, ...] = ()
        while True:
            reply, where = await self._post(url, body)
            reply = replace(reply, redirected=passed)
            if not where:
                return reply
            url = _joined(url, where)
            passed += (f"{reply.status} to {shown(url) if url else 'no address'}",)
            if not url:
                problem = f"it redirected with {passed[-1]}"
                return replace(reply, failure="redirect", problem=problem, redirected=passed)
            if reply.status in _LOSES_BODY:
                return replace(
                    reply,
                    failure="redirect",
                    problem=f"it redirected with {passed[-1]}, after which Go's client sends a GET",
                    redirected=passed,
                )
            if len(passed) >= _MOST_REDIRECTS:
                problem = f"it redirected {len(passed)} times"
                return replace(reply, failure="redirect", problem=problem, redirected=passed)

    async def _post(self, url: str, body: bytes) -> tuple[Reply, str]:
        """Send a request; the reply, and where it is redirected to."""
        if self._http is None:
            raise RuntimeError("use the caller with async with")
        try:
            async with self._http.post(
                url,
                data=io.BytesIO(body),
                proxy=self._proxy,
                ssl=True if self._tls is None else self._tls,
                server_hostname=self._server.tls_server_name or None,
                allow_redirects=False,
            ) as response:
                where = response.headers.get("Location", "")
                if response.status not in (*_KEEPS_BODY, *_LOSES_BODY):
                    where = ""
                return await self._read(response), where
        except aiohttp.ClientConnectorCertificateError as error:
            return Reply(failure="tls", problem=why(error)), ""
        except aiohttp.ClientConnectorSSLError as error:
            problem = why(error)
            failure: Failure = "no-tls" if problem == NO_TLS else "tls"
            return Reply(failure=failure, problem=problem), ""
        except aiohttp.ClientConnectorError as error:
            return Reply(failure="unreachable", problem=why(error)), ""
        except CONNECTION_ERRORS as error:
            if isinstance(error, TimeoutError):
                raise
            return Reply(failure="closed", problem=why(error)), ""

    async def _read(self, response: aiohttp.ClientResponse) -> Reply:
        version = response.version or aiohttp.HttpVersion11
        said = response.headers.get("Connection", "").lower()
        closes = said == "close" or (version < aiohttp.HttpVersion11 and said != "keep-alive")
        reply = Reply(status=response.status, closes=closes)
        encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        reply = replace(reply, encoding="" if encoding in ("gzip", "identity") else encoding)
        unpack = zlib.decompressobj(wbits=31) if encoding == "gzip" else None
        chunks = []
        left = self._max_reply
        async for chunk in response.content.iter_any():
            try:
                part = unpack.decompress(chunk, left + 1) if unpack is not None else chunk
            except zlib.error:
                response.close()
                problem = "it answered with Content-Encoding gzip, and the body is not gzip"
                return replace(reply, failure="encoding", problem=problem)
            left -= len(part)
            if left < 0:
                response.close()
                return replace(
                    reply,
                    failure="large",
                    problem=f"it answered with more than {self._max_reply} bytes",
                )
            chunks.append(part)
        return replace(reply, body=b"".join(chunks))
