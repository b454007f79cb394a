"""The endpoints, asked without and with a socket."""

import asyncio
import http.client
import json
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mooring.http.sockets import listen
from mooring.http.tls import Certificates
from mooring.live.health import Health
from mooring.live.server import SchedulerApp, serving
from mooring.testing.certificates import Authority
from mooring.version import __version__
from tests.unit.extender.asgi import Reply, send


def make_app(health: Health | None = None) -> SchedulerApp:
    found = health if health is not None else Health({}, lambda: 0.0)
    return SchedulerApp(found, lambda: b"some_metric 1\n", lambda: {"parallelism": 16})


def get(path: str, health: Health | None = None, method: str = "GET") -> Reply:
    return asyncio.run(send(make_app(health).asgi(), method, path))


class TestEndpoints:
    @pytest.mark.parametrize("path", ["/healthz", "/livez"])
    def test_well(self, path: str) -> None:
        reply = get(path)
        assert (reply.status, reply.body) == (200, b"ok")
        name = path[1:]
        reply = get(f"{path}?verbose=1")
        assert reply.body.decode() == (f"[+]ping ok\n[+]scheduling-loop ok\n{name} check passed\n")

    def test_not_ready(self) -> None:
        reply = get("/readyz")
        assert reply.status == 500
        assert b"[-]sched-handler-sync failed: handlers are not fully synchronized" in reply.body
        assert reply.headers["content-type"] == "text/plain; charset=utf-8"

    def test_ready(self) -> None:
        health = Health({}, lambda: 0.0)
        health.handlers_synced = True
        assert get("/readyz", health).body == b"ok"

    def test_excluded(self) -> None:
        reply = get("/readyz?exclude=sched-handler-sync&verbose")
        assert reply.status == 200
        assert b"[+]sched-handler-sync excluded: ok" in reply.body

    def test_one_check(self) -> None:
        assert get("/readyz/shutdown").body == b"ok"
        reply = get("/readyz/sched-handler-sync")
        assert (reply.status, reply.body) == (500, b"handlers are not fully synchronized")
        assert get("/healthz/ping").status == 200
        assert get("/healthz/nothing").status == 404

    def test_metrics(self) -> None:
        reply = get("/metrics")
        assert reply.body == b"some_metric 1\n"
        assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"

    def test_configuration(self) -> None:
        assert get("/configz").json() == {"componentconfig": {"parallelism": 16}}

    def test_version(self) -> None:
        assert get("/version").json() == {"version": __version__}

    def test_nothing_can_be_changed(self) -> None:
        for path in ("/healthz", "/metrics", "/configz"):
            assert get(path, method="POST").status == 405
        assert get("/").status == 404
        assert get("/healthz/").status == 404


class TestServing:
    def served(
        self,
        ask: Callable[[int], Any],
        certificates: Certificates | None = None,
    ) -> Any:
        async def run() -> Any:
            with listen("127.0.0.1", 0) as sock:
                async with serving(make_app(), sock, certificates) as tasks:
                    found = await asyncio.to_thread(ask, sock.getsockname()[1])
                    assert not any(task.done() for task in tasks)
                assert all(task.done() for task in tasks)
            return found

        return asyncio.run(run())

    def test_plain(self) -> None:
        def ask(port: int) -> bytes:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            connection.request("GET", "/configz")
            body = connection.getresponse().read()
            connection.close()
            return body

        assert json.loads(self.served(ask)) == {"componentconfig": {"parallelism": 16}}

    def test_tls(self, tmp_path: Path) -> None:
        authority = Authority(tmp_path)
        pair = authority.server("s")
        trust = ssl.create_default_context(cafile=authority.file)

        def ask(port: int) -> int:
            connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=20, context=trust)
            connection.request("GET", "/healthz")
            status = connection.getresponse().status
            connection.close()
            return status

        assert self.served(ask, Certificates(pair.certificate, pair.key)) == 200

    def test_a_client_that_stays_does_not_hold_up_the_end(self) -> None:
        def ask(port: int) -> http.client.HTTPConnection:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            return connection

        self.served(ask).close()


def test_connections_that_ask_nothing_make_room_for_probes() -> None:
    async def run() -> None:
        sock = listen("127.0.0.1", 0)
        port = sock.getsockname()[1]
        async with serving(make_app(), sock, None):
            idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(150)]
            for _, writer in idle:
                writer.write(b"GET /livez HTTP/1.1\r\n")
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
            closed = [await one.read() == b"" for one, _ in idle[:51]]
            assert all(closed)
            for _, one in (*idle, (reader, writer)):
                one.close()

    asyncio.run(run())
