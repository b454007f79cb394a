"""The extender's server in this process, and clients that speak to it over raw sockets."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvloop

from mooring.extender import server
from mooring.extender.process import SignalSocket
from mooring.extender.server import ServeOptions
from mooring.extender.service import ExtenderService, ServiceLimits
from mooring.framework.loading import load
from mooring.http.sockets import listen
from mooring.testing import make_pod
from tests.unit.extender.asgi import args, eventually

POLICY = """
import mooring as mr

policy = mr.Policy("served", usage=False)

@policy.filter
def check(pod, node):
    return True
"""
NAMES = args(make_pod("web"), names=["a", "b"])


def run(main: Callable[[], Awaitable[None]]) -> None:
    async def wrapped() -> None:
        await main()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(wrapped())


@asynccontextmanager
async def serving(policy: Path, **options: Any) -> AsyncIterator[int]:
    """Serve in this process; the port."""
    signals = FakeSignals()
    sock = listen("127.0.0.1", 0)
    port = int(sock.getsockname()[1])
    made = ServeOptions(policy=str(policy), port=0, drain=0.0, **options)
    service = ExtenderService(load(str(policy)), limits=ServiceLimits(timeout=made.timeout))
    task = asyncio.create_task(server.serve(made, service, sock, made.certificates(), signals))
    await eventually(lambda: task.done() or bool(signals.calls))
    try:
        yield port
    finally:
        for call in signals.calls:
            call(signal.SIGINT)
        assert await task == 0


class FakeSignals(SignalSocket):
    """Signals are for the process that runs the tests; here the test sends them."""

    def __init__(self) -> None:
        self.calls: list[Callable[[signal.Signals], None]] = []

    def listen(self, call: Callable[[signal.Signals], None]) -> None:
        self.calls.append(call)


class Connection:
    """One raw connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer = reader, writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def reply(self) -> tuple[int, dict[str, str], Any]:
        """The next reply: status, headers, JSON body."""
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        body = await self._reader.readexactly(int(headers["content-length"]))
        return int(head[0].split()[1]), headers, json.loads(body)

    async def ended(self) -> bytes:
        """What comes until the server hangs up."""
        try:
            return await self._reader.read()
        except ConnectionResetError:
            return b""


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Connection]:
    async with asyncio.timeout(300):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            yield Connection(reader, writer)
        finally:
            writer.close()


def request(body: bytes, path: str = "/filter", *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: [::1]", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body
