"""Forwarding the requests of one client to its API server, with the faults the script wants.

`FaultyProxy` has one `Forwarding` for each client, on the event loop of its thread. It changes no
request and no answer except as a fault says, and adds an Audit-ID to requests that have none.
"""

import asyncio
import contextlib
import io
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

import aiohttp
import msgspec
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from mooring.kube.cluster_config import ClusterConfig
from mooring.kube.transport import Tls, proxy_for
from mooring.testing.fault_script import Strike
from mooring.testing.fault_target import FaultTarget
from mooring.testing.faulty_watch import FaultyWatch, WatchStep, status_object

#: These belong to one connection, not to a request.
_OF_THE_CONNECTION: Final = frozenset(
    {
        "connection", "content-length", "host", "keep-alive", "proxy-authenticate",
        "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade",
    }
)  # fmt: skip
_AUDIT_ID: Final = "Audit-ID"
_HELD_SECONDS: Final = 1.0


class ProxiedRequest(NamedTuple):
    """A request that came to the proxy.

    Attributes:
        time: when it was there as a whole, in seconds since 1970.
        client: whose.
        method: the request's.
        path: the request's.
        audit_id: how the API server calls it in its audit log.
        fault: what it meets; empty for nothing.
    """

    time: float
    client: str
    method: str
    path: str
    audit_id: str
    fault: str = ""


class Forwarding:
    """Answers the requests of one client.

    Args:
        name: the client's.
        config: the client's way to the API server, with its credentials.
        decide: the fault that a request or an event meets.
        passed: called with every request.
    """

    def __init__(
        self,
        name: str,
        config: ClusterConfig,
        decide: Callable[[FaultTarget], Strike | None],
        passed: Callable[[ProxiedRequest], None],
    ) -> None:
        self._name = name
        self._config = config
        self._decide = decide
        self._passed = passed
        self._tls = Tls(config)
        self._proxy = proxy_for(config)
        self._session: aiohttp.ClientSession | None = None
        #: Requests that are held back, by fault; set when another of the kind was answered.
        self._held: dict[int, asyncio.Event] = {}

    def open(self) -> None:
        """Make the connections' pool; needs a running event loop."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=15),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10),
        )

    async def close(self) -> None:
        """Close all connections to the API server."""
        if self._session is not None:
            await self._session.close()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request; aiohttp calls it."""
        transport = request.transport
        if transport is None:
            return web.Response()
        body = b"".join([piece async for piece in request.content.iter_any()])
        agent = request.headers.get("User-Agent", "")
        target = FaultTarget.of(self._name, request.method, request.raw_path, agent)
        strike = self._decide(target)
        fault = strike.fault.kind if strike is not None else ""
        headers = CIMultiDict(
            (key, value)
            for key, value in request.headers.items()
            if key.lower() not in _OF_THE_CONNECTION
        )
        audit_id = headers.setdefault(_AUDIT_ID, str(uuid.uuid4()))
        self._passed(
            ProxiedRequest(time.time(), self._name, target.method, target.path, audit_id, fault)
        )
        if "Upgrade" in request.headers:
            return _refusal(501, None)
        try:
            if strike is not None and strike.fault.kind == "refuse":
                return self._refuse(strike, transport)
            return await self._answer(request, target, (headers, body), strike)
        except (aiohttp.ClientError, OSError):
            # Nobody answers there, or the client has gone: either way there is no answer.
            transport.abort()
            return web.Response()

    def _refuse(self, strike: Strike, transport: asyncio.Transport) -> web.Response:
        if strike.fault.status:
            return _refusal(strike.fault.status, strike.fault.retry_after)
        transport.abort()
        return web.Response()

    async def _answer(
        self,
        request: web.BaseRequest,
        target: FaultTarget,
        content: tuple[CIMultiDict[str], bytes],
        strike: Strike | None,
    ) -> web.StreamResponse:
        kind = strike.fault.kind if strike is not None else ""
        if strike is not None:
            await self._before(request, content, strike)
        async with self._send(request, content) as answer:
            headers = CIMultiDict(
                (key, value)
                for key, value in answer.headers.items()
                if key.lower() not in _OF_THE_CONNECTION
            )
            reply = web.StreamResponse(status=answer.status, headers=headers)
            if target.watch and answer.status < 300:
                if kind == "cut" and request.transport is not None:
                    request.transport.abort()
                    return reply
                reply.enable_chunked_encoding()
                await self._watch(request, target, answer, reply)
                return reply
            whole = await answer.read()
        for event in self._held.values():
            event.set()
        reply.content_length = len(whole)
        if request.method == "HEAD":
            reply.content_length = answer.content_length
        if kind == "cut" and strike is not None:
            await _cut(request, reply, b"" if strike.fault.lost else whole)
            return reply
        await reply.prepare(request)
        await reply.write_eof(whole if request.method != "HEAD" else b"")
        return reply

    async def _before(
        self,
        request: web.BaseRequest,
        content: tuple[CIMultiDict[str], bytes],
        strike: Strike,
    ) -> None:
        """What a fault does to a request before it is forwarded."""
        kind = strike.fault.kind
        if kind == "delay":
            await asyncio.sleep(strike.seconds)
        elif kind == "drop":
            await asyncio.get_running_loop().create_future()  # until the client gives up
        elif kind == "reorder":
            event = self._held[strike.number] = asyncio.Event()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), strike.seconds)
            self._held.pop(strike.number, None)
        elif kind == "duplicate":
            async with self._send(request, content) as lost:
                lost.close()  # it took effect, and nobody hears of it

    @asynccontextmanager
    async def _send(
        self, request: web.BaseRequest, content: tuple[CIMultiDict[str], bytes]
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request to the API server, as the client, for as long as its answer is read."""
        config = self._config
        if self._session is None:
            raise OSError("the proxy is closed")
        context = self._tls.context(await config.auth.credentials()) if config.secure else True
        headers, body = content
        async with self._session.request(
            request.method,
            URL(config.server + request.raw_path, encoded=True),
            data=io.BytesIO(body) if body else None,
            headers=headers,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            allow_redirects=False,
            proxy=self._proxy,
            ssl=context,
            server_hostname=config.tls_server_name or None,
        ) as answer:
            yield answer

    async def _watch(
        self,
        request: web.BaseRequest,
        target: FaultTarget,
        answer: aiohttp.ClientResponse,
        reply: web.StreamResponse,
    ) -> None:
        await reply.prepare(request)
        watch = FaultyWatch(
            answer.headers.get("Content-Type", ""),
            lambda event: self._decide(target._replace(event=event)),
        )
        pieces = answer.content.iter_any()
        while True:
            try:
                seconds = _HELD_SECONDS if watch.holds else None
                piece = await asyncio.wait_for(anext(pieces), seconds)
            except StopAsyncIteration:
                break
            except TimeoutError:
                await reply.write(watch.finish())
                pieces = answer.content.iter_any()
                continue
            for step in watch.feed(piece):
                if await self._step(request, reply, step):
                    return
        await reply.write(watch.finish())

    async def _step(
        self, request: web.BaseRequest, reply: web.StreamResponse, step: WatchStep
    ) -> bool:
        """Do one step of a watch; whether it was the last."""
        if step.wait:
            await asyncio.sleep(step.wait)
        if request.transport is None or request.transport.is_closing():
            return True  # the client has left
        if step.end == "cut":
            await _cut_chunk(request, reply, step.send)
        elif step.send:
            await reply.write(step.send)
        if step.end == "silent":
            await asyncio.get_running_loop().create_future()
        return bool(step.end)


async def _cut(request: web.BaseRequest, reply: web.StreamResponse, whole: bytes) -> None:
    """Send half of an answer and break the connection."""
    half = whole[: len(whole) // 2]
    if half:
        await reply.prepare(request)
        await reply.write(half)
    _break(request)


async def _cut_chunk(request: web.BaseRequest, reply: web.StreamResponse, frame: bytes) -> None:
    """Send a third of an event, begin a chunk with the rest, and break the connection in it."""
    third, rest = frame[: len(frame) // 3], frame[len(frame) // 3 :]
    if third:
        await reply.write(third)
        if request.transport is not None:
            request.transport.write(b"%x\r\n" % len(rest) + rest[: len(rest) // 2])
    _break(request)


def _break(request: web.BaseRequest) -> None:
    """Close the connection; what was written before goes out first."""
    if request.transport is not None:
        request.transport.close()


def _refusal(status: int, retry_after: int | None) -> web.Response:
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return web.Response(
        status=status,
        headers=headers,
        body=msgspec.json.encode(status_object(status)),
        content_type="application/json",
    )
