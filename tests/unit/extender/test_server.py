"""The server in this process: connections, reloading, sockets. Processes are in tests/unit/cli."""

import asyncio
import logging
import signal
import socket
import ssl
from pathlib import Path

import pytest
import uvicorn

import mooring as mr
from mooring.errors import InputError
from mooring.extender import server
from mooring.extender.server import ServeOptions
from mooring.extender.service import ExtenderService, ServiceLimits
from mooring.extender.shutdown import Shutdown
from mooring.framework.loading import load
from mooring.framework.policy_text import summary
from mooring.http import protocol
from mooring.http.server import Server
from mooring.http.sockets import listen
from mooring.log_kinds import yaml_of
from mooring.testing import make_pod
from mooring.testing.certificates import Authority
from tests.unit.extender.asgi import args, eventually
from tests.unit.extender.sockets import NAMES, POLICY, Connection, connected, request, run, serving

pytestmark = pytest.mark.usefixtures("same_modules")


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "policy.py"
    file.write_text(POLICY)
    return file


class TestConnections:
    def test_are_used_again(self, policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        async def main() -> None:
            async with serving(policy) as port, connected(port) as connection:
                for _ in range(3):
                    await connection.send(request(NAMES))
                    status, headers, found = await connection.reply()
                    assert (status, found["NodeNames"]) == (200, ["a", "b"])
                    assert "server" not in headers

        run(main)

    @pytest.mark.parametrize(
        "garbage",
        [
            b"nonsense\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"POST /filter HTTP/1.1\r\nContent-Length: x\r\n\r\n",
            b"POST /filter HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
            b"POST /filter HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            b"POST /fil\xc3\xbcter HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
            b"POST /filter HTTP/1.1\r\nBad Header\r\n\r\n",
            b"POST /filter HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        ],
    )
    def test_what_is_no_http_is_told_so_in_json(
        self, garbage: bytes, policy: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def main() -> None:
            async with serving(policy) as port:
                async with connected(port) as connection:
                    await connection.send(garbage)
                    status, headers, found = await connection.reply()
                    assert status == 400
                    assert headers["content-type"] == "application/json"
                    assert list(found) == ["error"]
                    assert await connection.ended() == b""
                async with connected(port) as connection:
                    await connection.send(request(NAMES))
                    assert (await connection.reply())[0] == 200

        run(main)

    @pytest.mark.parametrize("piece", [1, 40, 10**6])
    @pytest.mark.parametrize("chunked", [False, True])
    def test_that_ask_for_another_protocol_are_answered_in_this_one(
        self, policy: Path, chunked: bool, piece: int
    ) -> None:
        """As clients do that would rather speak HTTP/2; they keep their body."""
        head = (
            b"POST /filter HTTP/1.1\r\nHost: [::1]\r\n"
            b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
        )
        if chunked:
            sent = b"%bTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n"
            sent %= head, len(NAMES), NAMES
        else:
            sent = b"%bContent-Length: %d\r\n\r\n%b" % (head, len(NAMES), NAMES)
        get = b"GET /version HTTP/1.1\r\nHost: [::1]\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"

        async def main() -> None:
            async with serving(policy) as port, connected(port) as connection:
                for data in (sent, get, sent, request(NAMES)):
                    for start in range(0, len(data), piece):
                        await connection.send(data[start : start + piece])
                    status, _, found = await connection.reply()
                    assert status == 200
                    assert data is get or found["NodeNames"] == ["a", "b"]

        run(main)

    def test_that_ask_for_another_protocol_all_at_once_are_answered(self, policy: Path) -> None:
        sent = (
            b"POST /filter HTTP/1.1\r\nHost: [::1]\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (len(NAMES), NAMES)
        )

        async def main() -> None:
            async with serving(policy) as port, connected(port) as connection:
                await connection.send(sent * 200)
                for _ in range(200):
                    status, _, found = await connection.reply()
                    assert (status, found["NodeNames"]) == (200, ["a", "b"])

        run(main)

    def test_that_send_no_request_are_closed(
        self, policy: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def main() -> None:
            async with serving(policy) as port, connected(port) as again:
                await again.send(request(NAMES))
                await again.reply()
                monkeypatch.setattr(protocol, "_HEADER_SECONDS", 0.05)
                async with connected(port) as silent, connected(port) as slow:
                    await slow.send(b"POST /filter HTTP/1.1\r\nContent-")
                    assert await silent.ended() == b""
                    assert await slow.ended() == b""
                await again.send(b"POST /filter")
                assert await again.ended() == b""

        run(main)

    def test_may_take_longer_for_the_body_than_for_the_headers(
        self, policy: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fired = []
        plain = protocol.WholeBodyProtocol._too_slow

        def too_slow(self: protocol.WholeBodyProtocol) -> None:
            fired.append(self)
            plain(self)

        monkeypatch.setattr(protocol.WholeBodyProtocol, "_too_slow", too_slow)

        async def main() -> None:
            async with serving(policy) as port:
                async with connected(port) as slow:
                    await slow.send(request(NAMES))
                    await slow.reply()  # it is connected, and has sent headers in time
                    monkeypatch.setattr(protocol, "_HEADER_SECONDS", 0.05)
                    await slow.send(request(NAMES)[:-5])
                    async with connected(port) as silent:
                        await silent.ended()  # the time for headers is over
                    await slow.send(NAMES[-5:])
                    assert (await slow.reply())[0] == 200
                assert len(fired) == 1

        run(main)

    def test_carry_bodies_that_come_in_many_pieces(self, policy: Path) -> None:
        async def main() -> None:
            # The function is asked about each node, which takes a busy machine a while.
            async with serving(policy, timeout=300.0) as port, connected(port) as connection:
                names = [f"node-{number}" for number in range(30_000)]
                await connection.send(request(args(make_pod("web"), names=names)))
                assert (await connection.reply())[2]["NodeNames"] == names
                chunks = b"".join(b"%x\r\n%b\r\n" % (1, bytes([byte])) for byte in NAMES)
                await connection.send(
                    b"POST /filter HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + chunks
                    + b"0\r\n\r\n"
                )
                assert (await connection.reply())[2]["NodeNames"] == ["a", "b"]

        run(main)

    def test_with_too_large_a_body_are_answered_and_closed(self, policy: Path) -> None:
        async def main() -> None:
            async with serving(policy, max_body=1000) as port:
                async with connected(port) as told:
                    await told.send(request(b"x" * 1001)[:-1001])
                    status, headers, found = await told.reply()
                    assert (status, headers["connection"]) == (413, "close")
                    assert "larger than 1000 bytes" in found["error"]
                    told.writer.write(b"x" * 1001)  # comes after the answer, and is not read
                    await told.ended()
                async with connected(port) as chunked:
                    await chunked.send(
                        b"POST /bind HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\n\r\n"
                        b"3e9\r\n" + b"x" * 1001 + b"\r\n"
                    )
                    assert (await chunked.reply())[0] == 413
                    await chunked.ended()
                async with connected(port) as connection:
                    await connection.send(request(NAMES))
                    assert (await connection.reply())[0] == 200

        run(main)

    def test_that_dawdle_hold_nobody_up(self, policy: Path) -> None:
        async def main() -> None:
            async with serving(policy) as port:
                dawdlers = [connected(port) for _ in range(20)]
                for number, dawdler in enumerate(dawdlers):
                    connection = await dawdler.__aenter__()
                    await connection.send(request(NAMES)[: number * 5])
                async with connected(port) as connection:
                    await connection.send(request(NAMES))
                    assert (await connection.reply())[0] == 200
                for dawdler in dawdlers:
                    await dawdler.__aexit__(None, None, None)

        run(main)

    def test_that_hang_up_are_no_matter(
        self, policy: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def main() -> None:
            async with serving(policy) as port:
                async with connected(port) as rude:
                    await rude.send(request(NAMES)[:-5])
                await eventually(lambda: "closed the connection" in caplog.text)
                async with connected(port) as connection:
                    await connection.send(request(NAMES))
                    assert (await connection.reply())[0] == 200

        run(main)
        # Whether uvicorn is heard depends on who used it before in this process.
        ours = [one.levelname for one in caplog.records if one.name.startswith("mooring")]
        assert ours == ["WARNING"]


class TestStart:
    def test_is_announced(
        self, policy: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def main() -> None:
            async with serving(policy) as port:
                assert caplog.messages[0] == "policy served: filter check"
                assert caplog.messages[1].startswith("stateless: no node cache")
                assert caplog.messages[2] == (
                    f"listening on 127.0.0.1:{port}, urlPrefix http://127.0.0.1:{port}"
                )

                assert caplog.messages[3] == "for kube-scheduler's configuration:"
                assert yaml_of(caplog.records[3]) == (
                    f"extenders:\n- urlPrefix: http://127.0.0.1:{port}\n"
                    "  filterVerb: filter\n  nodeCacheCapable: false\n"
                )
                assert len(caplog.messages) == 4

        with caplog.at_level(logging.INFO, "mooring.extender"):
            run(main)

    def test_says_which_weight_gives_a_score_its_say(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        file = tmp_path / "scoring.py"
        file.write_text(
            "import mooring as mr\n"
            "policy = mr.Policy('scoring', usage=False, weight=5)\n"
            "policy.score(name='same')(lambda _pod, _node: 0)\n"
        )

        async def main() -> None:
            async with serving(file):
                assert "prioritize\n  weight: 5\n  nodeCache" in yaml_of(caplog.records[3])
                assert caplog.messages[4] == (
                    "with this weight and kube-scheduler's default plugins, policy scoring can "
                    "decide 26% of a node's total score (weight 5 of 19)"
                )

        with caplog.at_level(logging.INFO, "mooring.extender"):
            run(main)

    def test_names_what_an_extender_leaves_out(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def main() -> None:
            async with serving(file):
                warned = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
                text = "policy p: an extender does not run {} of plugin {}; only moor run does"
                assert warned == [text.format("Reserve", "Some"), text.format("all of it", "Whole")]

        file = tmp_path / "p.py"
        file.write_text(
            "import mooring as mr\nfrom mooring import hook\n"
            "class Some(hook.Filter, hook.Reserve, hook.Requeues):\n"
            "    def filter(self, pod, node): return True\n"
            "    def reserve(self, cycle, node): pass\n"
            "    def unreserve(self, cycle, node): pass\n"
            "    def requeue_on(self): return ()\n"
            "class Whole(hook.PreFilter, hook.Filter):\n"
            "    def pre_filter(self, cycle): pass\n"
            "    def filter(self, pod, node): return True\n"
            "policy = mr.Policy('p', usage=False)\npolicy.add(Some())\npolicy.add(Whole())\n"
        )
        run(main)

    def test_with_tls_and_reload(
        self,
        policy: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        async def main() -> None:
            options = {"tls_cert": pair.certificate, "tls_key": pair.key, "reload": True}
            async with serving(policy, **options) as port:
                assert f"urlPrefix https://127.0.0.1:{port}" in caplog.text
                tls = ssl.create_default_context(cafile=str(authority.file))
                async with asyncio.timeout(300):
                    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
                    connection = Connection(reader, writer)
                    await connection.send(request(NAMES))
                    assert (await connection.reply())[0] == 200
                    writer.close()

        (tmp_path / "ca").mkdir()
        authority = Authority(tmp_path / "ca")
        pair = authority.server("here")
        with caplog.at_level(logging.INFO, "mooring.extender"):
            run(main)

    def test_of_a_missing_policy_fails(self, tmp_path: Path) -> None:
        with listen("127.0.0.1", 0) as sock, pytest.raises(InputError, match="does not exist"):
            server.run(ServeOptions(policy=str(tmp_path / "none.py")), None, sock)

    def test_of_an_empty_policy_says_so(self) -> None:
        assert summary(mr.Policy("p")) == "empty"


class TestSignals:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_end_the_server_after_the_drain(self, number: signal.Signals) -> None:
        async def main() -> None:
            service = ExtenderService(mr.Policy("p"))
            stopping = Server(uvicorn.Config(app="nothing"))
            shutdown = Shutdown(stopping, service, 600)
            assert service.not_ready() == ""
            shutdown.on_signal(number)
            assert service.not_ready() == "shutting down"
            if number == signal.SIGTERM:
                await asyncio.sleep(0)
                assert not stopping.should_exit
                shutdown.on_signal(number)  # twice means now
            await eventually(lambda: stopping.should_exit)
            assert shutdown.code == 0

        run(main)


class StuckService(ExtenderService):
    """Stuck from the beginning of a clock that goes on when somebody sleeps."""

    now = 0.0

    def stuck_for(self) -> float:
        return self.now if self.now > self.timeout else 0.0

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize("timeout", [0.5, 1.0, 5.0])
def test_a_worker_that_is_stuck_ends_itself_after_two_timeouts(
    timeout: float, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        service = StuckService(mr.Policy("p"), limits=ServiceLimits(timeout=timeout))
        shutdown = Shutdown(Server(uvicorn.Config(app="nothing")), service, 600)
        await server.end_when_stuck(service, shutdown, service.sleep)
        assert 2 * timeout < service.now <= 2 * timeout + 0.2
        assert (shutdown.code, service.draining) == (1, True)

    run(main)
    assert len([line for line in caplog.messages if "this worker is stuck" in line]) == 1


class TestListen:
    def test_takes_a_free_port(self) -> None:
        with listen("localhost", 0) as sock:
            assert sock.getsockname()[1] > 0

    def test_says_what_is_wrong(self) -> None:
        with listen("127.0.0.1", 0) as taken:
            port = taken.getsockname()[1]
            for host, number, what in [
                ("127.0.0.1", port, "Address already in use"),
                ("256.0.0.1", 0, "Name or service not known|nodename nor servname|No address"),
                ("127.0.0.1", 2**70, ".*too (big|large).*"),
                ("192.0.2.1", 0, "Cannot assign requested address"),
            ]:
                with pytest.raises(InputError, match=f"cannot listen on .*: ({what}); use"):
                    listen(host, number)


def test_an_ipv6_address_is_announced_in_brackets(
    policy: Path, caplog: pytest.LogCaptureFixture
) -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    service = ExtenderService(load(str(policy)))
    with listen("::1", 0) as sock, caplog.at_level(logging.INFO, "mooring.extender"):
        server._announce(ServeOptions(policy="p"), service, sock)
        port = sock.getsockname()[1]
    assert f"listening on [::1]:{port}, urlPrefix http://[::1]:{port}\n" in caplog.text
