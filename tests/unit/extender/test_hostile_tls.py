"""The limit of connections holds with TLS: from accepting one until it is gone."""

import asyncio
import signal
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import mooring as mr
from mooring.extender import server
from mooring.extender.server import ServeOptions
from mooring.extender.service import ExtenderService, ServiceLimits
from mooring.http import handshake
from mooring.http.load_limits import LoadLimits
from mooring.http.sockets import listen
from mooring.http.tls import Certificates
from mooring.testing.certificates import Authority
from tests.unit.extender.asgi import eventually
from tests.unit.extender.sockets import NAMES, Connection, FakeSignals, connected, request, run

MOST = 5


@dataclass
class Rig:
    """An extender that speaks TLS."""

    port: int
    load_limits: LoadLimits
    client: ssl.SSLContext

    def deaf(self) -> ssl.SSLSocket:
        """Shake hands, and never read anything."""
        sock = socket.create_connection(("127.0.0.1", self.port), 60)
        return self.client.wrap_socket(sock, server_hostname="localhost")

    async def answered(self) -> int:
        """The status that a well-behaved caller gets."""
        async with asyncio.timeout(60):
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", self.port, ssl=self.client, server_hostname="localhost"
            )
            connection = Connection(reader, writer)
            await connection.send(request(NAMES))
            status = (await connection.reply())[0]
            writer.close()
            return status


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    (tmp_path / "ca").mkdir()
    return Authority(tmp_path / "ca")


@asynccontextmanager
async def hostile(authority: Authority, **options: Any) -> AsyncIterator[Rig]:
    """Serve for the length of a block; at its end nobody is connected."""
    pair, signals = authority.server("here"), FakeSignals()
    made = ServeOptions(policy="", port=0, timeout=30.0, drain=0.0, max_connections=MOST, **options)
    service = ExtenderService(
        mr.Policy("p", usage=False), limits=ServiceLimits(timeout=made.timeout)
    )
    load_limits = LoadLimits(made.max_held, made.max_connections)
    certificates = Certificates(pair.certificate, pair.key)
    sock = listen("127.0.0.1", 0)
    port = int(sock.getsockname()[1])
    task = asyncio.create_task(
        server.serve(made, service, sock, certificates, signals, load_limits)
    )
    await eventually(lambda: task.done() or bool(signals.calls))
    try:
        yield Rig(port, load_limits, ssl.create_default_context(cafile=str(authority.file)))
    finally:
        for call in signals.calls:
            call(signal.SIGINT)
        assert await task == 0
    assert load_limits.connections == 0


def test_those_that_never_shake_hands_count(authority: Authority) -> None:
    """As was seen: 300 of them took 300 file descriptors, where 5 connections were allowed."""

    async def main() -> None:
        async with hostile(authority) as rig, AsyncExitStack() as stack:
            # All at once: some have to go before anything was done for them.
            silent = [
                stack.enter_context(socket.create_connection(("127.0.0.1", rig.port)))
                for _ in range(10 * MOST)
            ]
            await eventually(lambda: rig.load_limits.displaced == 9 * MOST)
            await eventually(lambda: rig.load_limits.connections == MOST)
            assert await asyncio.to_thread(silent[0].recv, 1) == b""
            assert await rig.answered() == 200

    run(main)


def test_those_that_never_read_make_room_at_once(authority: Authority) -> None:
    """As was seen: a connection that was closed waited for its client to say goodbye."""

    async def main() -> None:
        async with hostile(authority) as rig, AsyncExitStack() as stack:
            for _ in range(3 * MOST):
                stack.enter_context(closing(await asyncio.to_thread(rig.deaf)))
            await eventually(lambda: rig.load_limits.connections <= MOST)
            assert rig.load_limits.displaced == 2 * MOST
            assert await rig.answered() == 200

    run(main)


def test_who_takes_long_to_shake_hands_is_hung_up_on(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with hostile(authority) as rig, connected(rig.port) as silent:
            assert await silent.ended() == b""
            await eventually(lambda: rig.load_limits.connections == 0)
            assert rig.load_limits.displaced == 0

    monkeypatch.setattr(handshake, "HANDSHAKE_SECONDS", 0.01)
    run(main)


def test_what_is_no_handshake_is_nobody_news(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with hostile(authority) as rig:
            async with connected(rig.port) as plain:
                await plain.send(request(NAMES))
                assert not (await plain.ended()).startswith(b"HTTP")
            async with connected(rig.port):
                await eventually(lambda: rig.load_limits.connections == 1)
            await eventually(lambda: rig.load_limits.connections == 0)
            assert await rig.answered() == 200

    run(main)
    assert "Traceback" not in caplog.text


def test_the_end_does_not_wait_for_a_handshake(authority: Authority) -> None:
    async def main() -> None:
        async with AsyncExitStack() as stack:
            async with hostile(authority) as rig:
                silent = await stack.enter_async_context(connected(rig.port))
                await eventually(lambda: rig.load_limits.connections == 1)
            assert await silent.ended() == b""

    run(main)
