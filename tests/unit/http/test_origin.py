"""Foreign web pages get nothing from any of our servers; everybody else goes on working.

Every case is sent as bytes over a socket to each real server.
"""

import asyncio
import json
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mooring.embedded.server import EmbeddedCluster
from mooring.embedded.server import Options as ClusterOptions
from mooring.errors import InputError
from mooring.extender import server as extender_server
from mooring.extender.service import ExtenderService
from mooring.framework.loading import load
from mooring.http.origin import OwnOrigin, read_allowed_hosts
from mooring.http.sockets import listen
from mooring.live.health import Health
from mooring.live.server import SchedulerApp, serving
from tests.unit.extender.sockets import FakeSignals

#: Nobody waits so long unless something is wrong.
PATIENCE = 120.0
ALLOWED = frozenset(("moor.example", "fd00::7"))
#: The request gets through to the server's own code.
PASSES = 0
EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - that is what is tested


class Served(NamedTuple):
    """A server that listens.

    Attributes:
        read: a path that answers GET with 200.
        write: a path to post to.
        body: what is posted.
        wrote: the status of that.
        as_a_form: its status if it is said to be a form or a text.
    """

    host: str
    port: int
    read: str
    write: str
    body: bytes
    wrote: int
    as_a_form: int


Start = Callable[[str], AbstractAsyncContextManager[Served]]


@asynccontextmanager
async def extender(host: str, tmp_path: Path) -> AsyncIterator[Served]:
    """What ``moor serve`` serves."""
    policy = tmp_path / "policy.py"
    policy.write_text(
        "import mooring as mr\npolicy = mr.Policy('p', usage=False)\n"
        "@policy.filter\ndef every(pod, node): return True\n"
    )
    signals = FakeSignals()
    sock = listen(host, 0)
    port = sock.getsockname()[1]
    options = extender_server.ServeOptions(policy=str(policy), allow_hosts=ALLOWED)
    service = ExtenderService(load(str(policy)))
    task = asyncio.create_task(extender_server.serve(options, service, sock, None, signals))
    async with asyncio.timeout(PATIENCE):
        while not (task.done() or signals.calls):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    body = json.dumps({"Pod": {"metadata": {"name": "p"}}, "NodeNames": ["n"]}).encode()
    try:
        yield Served(host, port, "/version", "/filter", body, 200, 200)
    finally:
        for call in signals.calls:
            call(signal.SIGINT)
        await task


@asynccontextmanager
async def scheduler(host: str, *_: object) -> AsyncIterator[Served]:
    """What ``moor run`` serves."""
    app = SchedulerApp(Health({}, lambda: 0.0), lambda: b"some_metric 1\n", dict)
    with listen(host, 0) as sock:
        async with serving(app, sock, None, ALLOWED):
            yield Served(host, sock.getsockname()[1], "/metrics", "/configz", b"{}", 405, 405)


@asynccontextmanager
async def cluster(host: str, *_: object) -> AsyncIterator[Served]:
    """What ``moor cluster`` and ``moor demo`` serve."""
    body = json.dumps({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "n"}}).encode()
    options = ClusterOptions(host=host, allow_hosts=ALLOWED, kubelet=None, controllers=False)
    async with EmbeddedCluster((), options) as running:
        path = "/api/v1/namespaces?dryRun=All"
        yield Served(host, running.port, "/version", path, body, 201, 415)


SERVERS: dict[str, Callable[..., AbstractAsyncContextManager[Served]]] = {
    "serve": extender,
    "run": scheduler,
    "cluster": cluster,
}


@pytest.fixture(params=SERVERS)
def start(request: pytest.FixtureRequest, tmp_path: Path) -> Start:
    return lambda host: SERVERS[request.param](host, tmp_path)


class Case(NamedTuple):
    """A request and its answer.

    In lines and target, ``PORT`` is the server's port; a line ``host: ...`` replaces the usual
    Host, an empty one leaves it out.
    """

    name: str
    method: str
    lines: tuple[str, ...] = ()
    expected: int = PASSES
    target: str = "PATH"
    version: str = "HTTP/1.1"


JSON = "content-type: application/json"
TEXT = "content-type: text/plain"
FORM = "content-type: application/x-www-form-urlencoded"
PARTS = "content-type: multipart/form-data; boundary=x"

#: However the server listens.
EVERYWHERE = (
    # Those that are no browsers.
    Case("kube-scheduler", "POST", (JSON, "user-agent: Go-http-client/1.1")),
    Case("curl --data", "POST", (FORM, "user-agent: curl/8.5.0")),
    Case("a client that says text", "POST", (TEXT,)),
    Case("a client that says nothing", "POST", ()),
    Case("Prometheus", "GET", ("accept: application/openmetrics-text", "user-agent: Prometheus/3")),
    Case("HTTP/1.0 without a Host", "GET", ("host:",), version="HTTP/1.0"),
    Case("HTTP/1.0 with an empty Host", "GET", ("host: ",), version="HTTP/1.0"),
    Case("the whole URL as target", "GET", target="http://127.0.0.1:PORTPATH"),
    # The user's own doing.
    Case("an address typed in", "GET", ("sec-fetch-site: none", "sec-fetch-mode: navigate")),
    Case(
        "a link followed", "GET",
        ("sec-fetch-site: cross-site", "sec-fetch-mode: navigate", "sec-fetch-dest: document"),
    ),
    Case("a page of our own", "POST", (JSON, "origin: http://127.0.0.1:PORT")),
    Case(
        "a page of our own, by name", "POST",
        (JSON, "host: localhost:PORT", "origin: http://localhost:PORT"),
    ),
    Case(
        "a page of our own, by another case", "POST",
        (JSON, "host: LocalHost:PORT", "origin: http://localhost:PORT"),
    ),
    Case(
        "a page of our own, by an allowed name", "POST",
        (JSON, "host: moor.example", "origin: https://moor.example"),
    ),
    Case(
        "a page of our own, with the usual port", "POST",
        (JSON, "host: moor.example:80", "origin: http://moor.example"),
    ),
    Case(
        "a page of our own that fetches", "GET",
        ("sec-fetch-site: same-origin", "sec-fetch-mode: cors", "sec-fetch-dest: empty"),
    ),
    Case("an allowed name", "GET", ("host: moor.example:1234",)),
    Case("an allowed name, written out", "GET", ("host: Moor.Example.",)),
    Case("an allowed address", "GET", ("host: [fd00::7]:80",)),
    # Foreign pages.
    Case("another site", "POST", (JSON, "origin: https://evil.example"), 403),
    Case("another site, text", "POST", (TEXT, "origin: https://evil.example"), 403),
    Case("another site, a form", "POST", (FORM, "origin: https://evil.example"), 403),
    Case("another site reads", "GET", ("origin: https://evil.example",), 403),
    Case("another site deletes", "DELETE", ("origin: https://evil.example",), 403),
    Case("another site puts", "PUT", (JSON, "origin: https://evil.example"), 403),
    Case(
        "another site asks first", "OPTIONS",
        (
            "origin: https://evil.example", "access-control-request-method: POST",
            "access-control-request-private-network: true",
        ),
        403,
    ),
    Case(
        "another site opens a web socket", "GET",
        (
            "origin: https://evil.example", "connection: upgrade", "upgrade: websocket",
            "sec-websocket-version: 13", "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==",
        ),
        403,
    ),
    Case("a sandbox or a file", "POST", (JSON, "origin: null"), 403),
    Case("no origin at all", "POST", (JSON, "origin:"), 403),
    Case("an extension", "POST", (JSON, "origin: chrome-extension://abcdef"), 403),
    Case("another port", "POST", (JSON, "origin: http://127.0.0.1:1"), 403),
    Case("another port, the usual one", "POST", (JSON, "origin: http://127.0.0.1"), 403),
    Case("another name for the same", "POST", (JSON, "origin: http://localhost:PORT"), 403),
    Case("an origin with a user", "POST", (JSON, "origin: http://127.0.0.1:PORT@evil.com"), 403),
    Case("an origin that begins alike", "POST", (JSON, "origin: http://127.0.0.1:PORT.evil"), 403),
    Case("an origin that goes on", "POST", (JSON, "origin: http://127.0.0.1:PORT, http://x"), 403),
    Case(
        "two origins", "POST",
        (JSON, "origin: http://127.0.0.1:PORT", "origin: https://evil.example"), 403,
    ),
    Case(
        "a rebound name with an origin", "POST",
        (JSON, "host: evil.example:PORT", "origin: http://evil.example:PORT"), 403,
    ),
    Case(
        "a rebound name in the target, with an origin", "POST",
        (JSON, "origin: http://evil.example:PORT"), 403, "http://evil.example:PORTPATH",
    ),
    Case(
        "an image of another site", "GET",
        ("sec-fetch-site: cross-site", "sec-fetch-mode: no-cors", "sec-fetch-dest: image"), 403,
    ),
    Case(
        "a script of another port", "GET",
        ("sec-fetch-site: same-site", "sec-fetch-mode: no-cors", "sec-fetch-dest: script"), 403,
    ),
    Case(
        "a frame of another site", "GET",
        ("sec-fetch-site: cross-site", "sec-fetch-mode: navigate", "sec-fetch-dest: iframe"), 403,
    ),
    Case(
        "a form of another site, without an origin", "POST",
        (
            FORM, "sec-fetch-site: cross-site", "sec-fetch-mode: navigate",
            "sec-fetch-dest: document",
        ),
        403,
    ),
    # A page of our own that sends what a form could have sent.
    *(
        Case(f"our own page, {kind}", "POST", (kind, "origin: http://127.0.0.1:PORT"), 415)
        for kind in (TEXT, FORM, PARTS, "content-type: TEXT/Plain;charset=UTF-8", "")
    ),
    # What is no proper request.
    Case("no Host", "GET", ("host:",), 400),
    Case("an empty Host", "GET", ("host: ",), 400),
    Case("two Hosts", "GET", ("host: 127.0.0.1:PORT", "host: 127.0.0.1:PORT"), 400),
    Case("two Hosts, one foreign", "GET", ("host: 127.0.0.1:PORT", "host: evil.example"), 400),
    Case(
        "two Hosts and a whole URL", "GET", ("host: 127.0.0.1:PORT", "host: evil.example"), 400,
        "http://127.0.0.1:PORTPATH",
    ),
    Case("a list of Hosts", "GET", ("host: 127.0.0.1:PORT, evil.example",), 400),
    Case("a Host with a user", "GET", ("host: 127.0.0.1@evil.example",), 400),
    Case("half a bracket", "GET", ("host: [::1",), 400),
    Case("a bracket around a name", "GET", ("host: [evil.example]:80",), 400),
    Case("no port in the end", "GET", ("host: 127.0.0.1:80:90",), 400),
    Case("half a bracket in the target", "GET", (), 400, "http://[::1PATH"),
)  # fmt: skip

#: On loopback alone.
ON_LOOPBACK = (
    Case("an address", "GET", ("host: 127.0.0.1:PORT",)),
    Case("an address without a port", "GET", ("host: 127.0.0.1",)),
    Case("an address with an empty port", "GET", ("host: 127.0.0.1:",)),
    Case("another loopback address", "GET", ("host: 127.8.9.10:PORT",)),
    Case("IPv6", "GET", ("host: [::1]:PORT",)),
    Case("IPv6 without a port", "GET", ("host: [::1]",)),
    Case("IPv6 written out", "GET", ("host: [0:0:0:0:0:0:0:1]:PORT",)),
    Case("IPv4 in IPv6", "GET", ("host: [::ffff:127.0.0.1]:PORT",)),
    Case("the usual name", "GET", ("host: localhost",)),
    Case("the usual name, tunnelled", "GET", ("host: localhost:9999",)),
    Case("a rebound name", "GET", ("host: evil.example:PORT",), 403),
    Case("a rebound name, HTTP/1.0", "GET", ("host: evil.example:PORT",), 403, version="HTTP/1.0"),
    Case("a rebound name posts", "POST", (JSON, "host: evil.example:PORT"), 403),
    Case("a name that begins alike", "GET", ("host: 127.0.0.1.evil.example:PORT",), 403),
    Case("a name that begins alike, too", "GET", ("host: localhost.evil.example",), 403),
    Case("an address of somebody else", "GET", ("host: 10.0.0.1:PORT",), 403),
    Case("every address", "GET", ("host: 0.0.0.0:PORT",), 403),
    Case("a rebound name in the target", "GET", (), 403, "http://evil.example:PORTPATH"),
    Case(
        "a user in front of a rebound name", "GET", (), 403,
        "http://127.0.0.1@evil.example:PORTPATH",
    ),
)  # fmt: skip

#: On all interfaces: probes and Services come under names and addresses we cannot know.
ELSEWHERE = (
    Case("a probe", "GET", ("host: 10.244.1.7:PORT", "user-agent: kube-probe/1.36")),
    Case("a Service", "POST", (JSON, "host: extender.kube-system.svc.cluster.local:8888")),
    Case("a Service over IPv6", "GET", ("host: [fd00:10:244::7]:PORT",)),
    Case("a Service in the target", "GET", (), PASSES, "http://metrics.kube-system.svc:PORTPATH"),
    Case(
        "a page of our own, by an address", "POST",
        (JSON, "host: 10.244.1.7:PORT", "origin: http://10.244.1.7:PORT"),
    ),
    Case(
        "a page of our own, by a name nobody allowed", "POST",
        (JSON, "host: extender.svc:PORT", "origin: http://extender.svc:PORT"), 403,
    ),
)  # fmt: skip


def request_bytes(case: Case, served: Served) -> bytes:
    reads = case.method in ("GET", "OPTIONS", "DELETE")
    body = b"" if reads else served.body
    lines = list(case.lines)
    if not any(line.startswith("host:") for line in lines):
        literal = f"[{served.host}]" if ":" in served.host else "127.0.0.1"
        lines.insert(0, f"host: {literal}:PORT")
        lines = [line.replace("http://127.0.0.1:PORT", f"http://{literal}:PORT") for line in lines]
    lines = [line for line in lines if line not in ("", "host:")]
    if body:
        lines.append(f"content-length: {len(body)}")
    if not any(line.startswith("connection:") for line in lines):
        lines.append("connection: close")
    target = case.target.replace("PATH", served.read if reads else served.write)
    head = "\r\n".join([f"{case.method} {target} {case.version}", *lines, "", ""])
    return head.replace("PORT", str(served.port)).encode() + body


async def answer(case: Case, served: Served) -> tuple[int, bytes]:
    """Status and body."""
    async with asyncio.timeout(PATIENCE):
        connect_to = "127.0.0.1" if served.host == EVERY_ADDRESS else served.host
        reader, writer = await asyncio.open_connection(connect_to, served.port)
        try:
            writer.write(request_bytes(case, served))
            head = await reader.readuntil(b"\r\n\r\n")
            length = [
                int(line.split(b":")[1])
                for line in head.lower().split(b"\r\n")
                if line.startswith(b"content-length")
            ]
            body = await reader.readexactly(length[0]) if length else b""
        finally:
            writer.close()
        return int(head.split()[1]), body


def check(start: Start, host: str, cases: tuple[Case, ...]) -> None:
    async def main() -> None:
        found, expected = {}, {}
        async with start(host) as served:
            for case in cases:
                status, body = await answer(case, served)
                found[case.name] = status
                passed = 200 if case.method == "GET" else served.wrote
                if {TEXT, FORM} & set(case.lines):
                    passed = served.as_a_form
                expected[case.name] = case.expected or passed
                if status in (400, 403, 415):
                    told = json.loads(body)
                    assert told.get("error") or told["message"], case.name
        assert len(found) == len(cases), "two cases have the same name"
        assert found == expected

    asyncio.run(main())


def test_on_loopback(start: Start) -> None:
    check(start, "127.0.0.1", EVERYWHERE + ON_LOOPBACK)


def test_by_the_name_of_loopback(start: Start) -> None:
    check(start, "localhost", ON_LOOPBACK)


def test_on_all_interfaces(start: Start) -> None:
    check(start, EVERY_ADDRESS, EVERYWHERE + ELSEWHERE)


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_on_loopback_over_ipv6(start: Start) -> None:
    check(start, "::1", EVERYWHERE + ON_LOOPBACK)


def test_the_target_of_connect_is_no_page(start: Start) -> None:
    async def main() -> None:
        async with start("127.0.0.1") as served:
            case = Case("a tunnel", "CONNECT", (), 400, "evil.example:443")
            status, _ = await answer(case, served)
            assert 400 <= status < 500

    asyncio.run(main())


def test_kubectl_is_told_in_a_status() -> None:
    async def main() -> None:
        async with cluster("127.0.0.1") as served:
            case = Case("a name", "GET", ("host: evil.example",))
            status, body = await answer(case, served)
            told: dict[str, Any] = json.loads(body)
            assert (status, told["kind"], told["reason"]) == (403, "Status", "Forbidden")
            assert told["message"] == (
                "this server listens on loopback and is not known as evil.example; use "
                "localhost or 127.0.0.1, or start it with --allow-host evil.example"
            )

    asyncio.run(main())


class TestLog:
    """Who is rejected decides how often it happens, not how much is logged."""

    @pytest.fixture
    def sock(self) -> Iterator[socket.socket]:
        with listen("127.0.0.1", 0) as sock:
            yield sock

    def test_is_one_line_a_minute(
        self, sock: socket.socket, caplog: pytest.LogCaptureFixture
    ) -> None:
        now = 100.0
        own = OwnOrigin(_nobody, sock, clock=lambda: now)
        caplog.set_level(logging.WARNING)
        for _ in range(1000):
            asyncio.run(_ask(own, b"https://evil.example\r\nx\x1b[2J"))
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        assert caplog.messages[0] == (
            "rejected POST '/bind' with 403: this server does not answer requests from web "
            "pages of other sites (Origin https://evil.example??x?[2J)"
        )
        now += 60.0
        asyncio.run(_ask(own, b"x" * 10_000))
        assert len(caplog.messages) == 2
        assert caplog.messages[1].endswith("(999 more since the last line)")
        assert len(caplog.messages[1]) < 400


async def _nobody(*_: object) -> None:
    raise AssertionError("a foreign request got through")


async def _ask(own: OwnOrigin, origin: bytes) -> None:
    async def receive() -> Any:
        raise AssertionError("the body was read")

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"origin", origin)]
    scope = {
        "type": "http", "method": "POST", "path": "/bind", "headers": headers, "http_version": "1.1"
    }  # fmt: skip
    await own(scope, receive, send)
    assert sent[0]["status"] == 403


class TestAllowedHosts:
    def test_are_names_and_addresses(self) -> None:
        given = ["Moor.Example.", "localhost", "10.0.0.1", "::1", "[fd00::7]", "a_b", "x--y"]
        assert read_allowed_hosts(given) == {
            "moor.example", "localhost", "10.0.0.1", "::1", "fd00::7", "a_b", "x--y",
        }  # fmt: skip

    @pytest.mark.parametrize(
        "name",
        ["", "http://x", "x:80", "x/y", "*", "*.example", "a b", "[::1", "-x", "x-", "a..b", "é"],
    )
    def test_and_nothing_else(self, name: str) -> None:
        with pytest.raises(InputError, match="is not a valid host name; use one without scheme"):
            read_allowed_hosts([name])
