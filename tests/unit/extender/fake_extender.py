"""An extender on a loopback port that answers with whatever a test wants."""

import json
import ssl
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

from mooring.config.configuration import read_configuration
from mooring.config.types import Extender
from mooring.extender.client import ExtenderClients
from mooring.extender.http_extender import open_session

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class FakeExtender:
    """Answers by path.

    Attributes:
        replies: by path, what to answer: bytes as they are, anything else as JSON, or a handler.
        script: handlers for the next requests, before anything else.
        asked: the paths in the order they were asked for, with the bodies.
        headers: those of the last request.
    """

    replies: dict[str, Any] = field(default_factory=dict)
    script: deque[Handler] = field(default_factory=deque)
    asked: list[tuple[str, Any]] = field(default_factory=list)
    bodies: defaultdict[str, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    headers: dict[str, str] = field(default_factory=dict)
    url: str = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.headers = {key.lower(): value for key, value in request.headers.items()}
        self.bodies[request.path].append(body)
        self.asked.append((request.path, json.loads(body) if body else None))
        if self.script:
            return await self.script.popleft()(request)
        if request.path not in self.replies:
            return web.Response(status=404, text="no such verb")
        reply = self.replies[request.path]
        if callable(reply):
            found: web.StreamResponse = await reply(request)
            return found
        return web.Response(body=reply if isinstance(reply, bytes) else msgspec.json.encode(reply))

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]


def status(code: int, text: str = "", **headers: str) -> Handler:
    """Answers with a status."""

    async def reply(request: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=code, text=text, headers=named)

    return reply


async def hang_up(request: web.Request) -> web.StreamResponse:
    """Closes the connection without an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


@asynccontextmanager
async def fake_extender(tls: ssl.SSLContext | None = None) -> AsyncIterator[FakeExtender]:
    """Run a fake extender for the length of a block."""
    fake = FakeExtender()
    app = web.Application(client_max_size=2**30)
    app.router.add_route("*", "/{path:.*}", fake.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    fake.url = f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield fake
    finally:
        await runner.cleanup()


def settings(url: str, **fields: Any) -> Extender:
    """An extender as a configuration file has it, read as such."""
    configuration = read_configuration(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "extenders": [{"urlPrefix": url, **fields}],
        }
    )
    return configuration.extenders[0]


@asynccontextmanager
async def clients(*extenders: Extender) -> AsyncIterator[ExtenderClients]:
    """The client of these extenders."""
    async with session() as http:
        yield ExtenderClients(extenders, http)


@asynccontextmanager
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    """A pool of connections."""
    async with open_session() as http:
        yield http
