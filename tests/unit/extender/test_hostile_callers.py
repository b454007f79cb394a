"""Callers that dawdle, flood, announce too much, hang up or do not read: over real sockets.

What is checked is what is counted: bytes in memory, requests that wait, functions that were asked.
`benchmarks.hostile` measures the same in seconds and megabytes.
"""

import asyncio
import gc
import resource
import signal
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import mooring as mr
from mooring.extender import server
from mooring.extender.server import ServeOptions
from mooring.extender.service import ExtenderService, ServiceLimits
from mooring.http import protocol
from mooring.http.load_limits import LoadLimits
from mooring.http.sockets import listen
from mooring.testing import make_pod
from tests.unit.extender.asgi import args, eventually
from tests.unit.extender.sockets import NAMES, Connection, FakeSignals, connected, request, run
from tests.unit.extender.written_log import written_log


@dataclass
class Rig:
    """An extender on a socket, with a policy that waits for the test where it is told to."""

    port: int = 0
    gate: threading.Event = field(default_factory=threading.Event)
    reached: threading.Event = field(default_factory=threading.Event)
    asked: list[str] = field(default_factory=list)
    service: ExtenderService = field(init=False)
    load_limits: LoadLimits = field(init=False)

    def policy(self) -> mr.Policy:
        policy = mr.Policy("hostile", usage=False)

        @policy.filter
        def check(pod: mr.Pod, node: mr.Node) -> bool:
            self.asked.append(pod.name)
            if pod.name == "slow":
                self.reached.set()
                self.gate.wait(60)
            return True

        @policy.score
        def rate(pod: mr.Pod, node: mr.Node) -> int:
            return 50

        return policy

    def errors(self, kind: str) -> float:
        return sum(
            metric.value
            for family in self.service.metrics.errors.collect()
            for metric in family.samples
            if metric.labels.get("kind") == kind and metric.name.endswith("_total")
        )

    async def well_behaved(self) -> list[str]:
        """The answer that a caller gets who does all as it should."""
        async with connected(self.port) as connection:
            await connection.send(request(NAMES))
            status, _, found = await connection.reply()
            assert (status, found["Error"]) == (200, "")
            return list(found["NodeNames"])


@asynccontextmanager
async def hostile(**options: Any) -> AsyncIterator[Rig]:
    """Serve for the length of a block; at its end nothing is held, and nobody connected."""
    rig, signals = Rig(), FakeSignals()
    made = ServeOptions(policy="", port=0, **{"timeout": 30.0, "drain": 0.0, **options})
    sock = listen("127.0.0.1", 0)
    # The kernel would hide megabytes of unread replies from us.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    rig.port = int(sock.getsockname()[1])
    limits = ServiceLimits(timeout=made.timeout, waiting=made.max_waiting)
    rig.service = ExtenderService(rig.policy(), limits=limits)
    rig.load_limits = LoadLimits(made.max_held, made.max_connections)
    task = asyncio.create_task(
        server.serve(made, rig.service, sock, None, signals, rig.load_limits)
    )
    await eventually(lambda: task.done() or bool(signals.calls))
    try:
        yield rig
        rig.gate.set()
        await eventually(lambda: rig.load_limits.bytes == 0)
        await eventually(lambda: rig.service.turns.waiting == 0)
        assert await rig.well_behaved() == ["a", "b"]
    finally:
        rig.gate.set()
        for call in signals.calls:
            call(signal.SIGINT)
        assert await task == 0
    assert (rig.load_limits.bytes, rig.load_limits.connections) == (0, 0)


def padded(pod: str, size: int) -> bytes:
    """A filter request of about so many bytes."""
    return args(make_pod(pod, labels={"x": "y" * size}), names=["a", "b"])


async def reach(rig: Rig, stack: AsyncExitStack) -> Any:
    """Let the policy hang in a function; the connection that waits for it."""
    slow = await stack.enter_async_context(connected(rig.port))
    await slow.send(request(padded("slow", 10)))
    await asyncio.to_thread(rig.reached.wait, 60)
    return slow


def test_bodies_of_callers_that_hung_up_are_dropped() -> None:
    """As was seen: 30 bodies of 20 MB stayed until the function returned."""

    async def main() -> None:
        async with hostile() as rig, AsyncExitStack() as stack:
            await reach(rig, stack)
            before = rig.load_limits.bytes
            for number in range(1, 31):
                async with connected(rig.port) as caller:
                    await caller.send(request(padded("gone", 1 << 20)))
                    await eventually(lambda: rig.load_limits.bytes > before + (1 << 20))
                    await eventually(lambda: rig.service.turns.waiting == 2)
                await eventually(lambda: rig.load_limits.bytes == before)
                await eventually(lambda: rig.service.turns.waiting == 1)
                assert rig.errors("gone") == number
            gc.collect()
            assert rig.load_limits.peak_bytes < 3 << 20
            assert rig.asked == ["slow"]
        assert "gone" not in rig.asked

    run(main)


def test_bodies_that_never_end_are_given_up() -> None:
    async def main() -> None:
        async with hostile(timeout=2.0) as rig, AsyncExitStack() as stack:
            body = padded("web", 100_000)
            callers = [await stack.enter_async_context(connected(rig.port)) for _ in range(30)]
            for caller in callers:
                await caller.send(request(body)[:-50_000])
            assert await rig.well_behaved() == ["a", "b"]
            for caller in callers:
                status, headers, found = await caller.reply()
                assert (status, headers["connection"]) == (408, "close")
                assert "did not arrive within the caller's timeout of 2s" in found["error"]
            await eventually(lambda: rig.load_limits.bytes == 0)
            assert rig.asked == ["web", "web"]

    run(main)


def test_a_flood_is_rejected_at_once_and_the_rest_is_answered() -> None:
    async def main() -> None:
        async with hostile(max_waiting=5) as rig, AsyncExitStack() as stack:
            slow = await reach(rig, stack)
            callers = [await stack.enter_async_context(connected(rig.port)) for _ in range(50)]
            for number, caller in enumerate(callers):
                verb = "/filter" if number % 2 else "/prioritize"
                await caller.send(request(NAMES, verb))
            rejected = 0
            await eventually(lambda: rig.service.turns.waiting == 5)
            await eventually(lambda: rig.errors("busy") == 46)
            rig.gate.set()
            for number, caller in enumerate(callers):
                status, _, found = await caller.reply()
                if number % 2:
                    assert status == 200
                    problem = found["Error"]
                else:
                    problem = found["error"] if isinstance(found, dict) else ""
                    assert status == (503 if problem else 200)
                if problem:
                    rejected += 1
                    assert problem == (
                        "5 requests are already waiting, which is the maximum (--max-waiting); try "
                        "again later"
                    )
            assert rejected == 46
            assert (await slow.reply())[2]["NodeNames"] == ["a", "b"]

    run(main)


class TestBytes:
    def test_of_all_bodies_have_a_limit(self) -> None:
        async def main() -> None:
            limits = {"max_held": 1_000_000, "max_body": 600_000}
            async with hostile(**limits) as rig, AsyncExitStack() as stack:
                slow = await reach(rig, stack)
                first = await stack.enter_async_context(connected(rig.port))
                await first.send(request(padded("first", 500_000)))
                await eventually(lambda: rig.service.turns.waiting == 2)
                for verb in ("/filter", "/bind", "/prioritize", "/preempt"):
                    async with connected(rig.port) as caller:
                        await caller.send(request(padded("second", 550_000), verb))
                        status, _, found = await caller.reply()
                        sentence = found.get("Error", found.get("error", ""))
                        assert status == (200 if verb in ("/filter", "/bind") else 503)
                        assert sentence == (
                            "there is no room for this body of 537 KiB: 489 KiB of other bodies "
                            "and replies are in memory, and the limit is 977 KiB (--max-held); "
                            "try again later"
                        )
                        await caller.send(request(NAMES))  # the connection can be used again
                        await eventually(lambda: rig.service.turns.waiting == 3)
                    await eventually(lambda: rig.service.turns.waiting == 2)
                assert rig.load_limits.peak_bytes <= 1_000_000
                rig.gate.set()
                for connection in (slow, first):
                    assert (await connection.reply())[2]["NodeNames"] == ["a", "b"]

        run(main)

    def test_are_rejected_before_they_are_sent_if_they_are_announced(self) -> None:
        async def main() -> None:
            limits = {"max_held": 1_000_000, "max_body": 600_000}
            async with hostile(**limits) as rig, AsyncExitStack() as stack:
                await reach(rig, stack)
                first = await stack.enter_async_context(connected(rig.port))
                await first.send(request(padded("first", 500_000)))
                await eventually(lambda: rig.service.turns.waiting == 2)
                async with connected(rig.port) as caller:
                    whole = request(padded("second", 550_000))
                    await caller.send(whole[:500])  # the headers, and little more
                    assert "(--max-held)" in (await caller.reply())[2]["Error"]

        run(main)

    def test_that_come_in_tiny_chunks_cost_what_they_are(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kept: list[int] = []
        plain = protocol.WholeBodyProtocol._hand_over

        def hand_over(self: protocol.WholeBodyProtocol) -> None:
            kept.append(len(self._pieces))
            plain(self)

        monkeypatch.setattr(protocol.WholeBodyProtocol, "_hand_over", hand_over)

        async def main() -> None:
            async with hostile() as rig, connected(rig.port) as caller:
                body = padded("web", 40_000)
                chunks = b"".join(
                    b"2\r\n%b\r\n" % body[at : at + 2] for at in range(0, len(body) - 1, 2)
                )
                rest = body[len(body) // 2 * 2 :]
                last = b"%x\r\n%b\r\n" % (len(rest), rest) if rest else b""
                await caller.send(
                    b"POST /filter HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + chunks + last + b"0\r\n\r\n"
                )  # fmt: skip
                assert (await caller.reply())[2]["NodeNames"] == ["a", "b"]
                assert kept == [1]

        run(main)

    def test_of_replies_that_nobody_reads_are_given_up(self) -> None:
        async def main() -> None:
            async with hostile(timeout=2.0) as rig, AsyncExitStack() as stack:
                names = [f"node-{number:06}" for number in range(20_000)]
                body = request(args(make_pod("web"), names=names), "/prioritize")
                unread = []
                for _ in range(5):
                    raw = stack.enter_context(socket.socket())
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                    raw.setblocking(False)
                    loop = asyncio.get_running_loop()
                    await loop.sock_connect(raw, ("127.0.0.1", rig.port))
                    await loop.sock_sendall(raw, body)
                    unread.append(raw)
                await eventually(lambda: rig.load_limits.peak_bytes > 0)
                await eventually(lambda: rig.load_limits.connections == 0)
                assert rig.load_limits.bytes == 0

        run(main)


def test_headers_without_end_are_rejected() -> None:
    async def flood(caller: Connection, kind: bytes) -> None:
        for number in range(1_000_000):
            await caller.send(b"".join(kind % number for _ in range(1000)))

    async def main() -> None:
        async with hostile() as rig:
            for kind in (b"X-%d: y\r\n", b"y" * 20 + b"%d"):
                async with connected(rig.port) as caller:
                    await caller.send(b"POST /filter HTTP/1.1\r\nX: ")
                    with pytest.raises(ConnectionError):
                        await flood(caller, kind)

    run(main)


@pytest.mark.parametrize("size", [66_000, 70_000, 100_000, 131_000])
def test_headers_that_are_too_long_are_rejected_though_they_come_at_once(size: int) -> None:
    async def main() -> None:
        async with hostile() as rig:
            async with connected(rig.port) as caller:
                await caller.send(request(NAMES, "/filter", f"X-Long: {'y' * size}"))
                status, _, found = await caller.reply()
                assert (status, found) == (431, {"error": "the headers are too long"})
            async with connected(rig.port) as caller:
                await caller.send(request(NAMES, f"/filter?{'y' * size}"))
                assert (await caller.reply())[0] == 431
            assert rig.asked == []
            async with connected(rig.port) as caller:
                for _ in range(3):  # each request has its own
                    await caller.send(request(NAMES, "/filter", f"X-Long: {'y' * 60_000}"))
                    assert (await caller.reply())[2]["NodeNames"] == ["a", "b"]

    run(main)


class TestConnections:
    def test_that_send_a_body_are_not_idle(self, caplog: pytest.LogCaptureFixture) -> None:
        """As was seen: another connection cut off one in the middle of its body."""

        async def main() -> None:
            async with hostile(max_connections=2) as rig, AsyncExitStack() as stack:
                sender, idle = [
                    await stack.enter_async_context(connected(rig.port)) for _ in range(2)
                ]
                body = request(padded("web", 1000))
                await sender.send(body[:-100])
                await idle.send(request(NAMES))
                assert (await idle.reply())[2]["NodeNames"] == ["a", "b"]
                async with connected(rig.port) as another:
                    await another.send(request(NAMES))
                    assert (await another.reply())[2]["NodeNames"] == ["a", "b"]
                    assert await idle.ended() == b""
                    await sender.send(body[-100:])
                    assert (await sender.reply())[2]["NodeNames"] == ["a", "b"]

        run(main)
        assert "closed the connection" not in caplog.text

    def test_that_send_a_body_slowly_do_not_keep_others_out(self) -> None:
        async def main() -> None:
            async with hostile(max_connections=2) as rig, AsyncExitStack() as stack:
                slow = [await stack.enter_async_context(connected(rig.port)) for _ in range(2)]
                body = request(padded("web", 1000))
                for one in slow:
                    await one.send(body[:-100])
                await eventually(lambda: rig.load_limits.bytes > 2000)  # of both
                async with connected(rig.port) as another:
                    await another.send(request(NAMES))
                    assert (await another.reply())[2]["NodeNames"] == ["a", "b"]
                    assert await slow[0].ended() == b""  # the one that took longest
                    await slow[1].send(body[-100:])
                    assert (await slow[1].reply())[2]["NodeNames"] == ["a", "b"]
                assert (rig.load_limits.displaced, rig.load_limits.turned_away) == (1, 0)

        run(main)

    def test_have_a_limit_and_the_longest_idle_one_makes_room(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def main() -> None:
            async with hostile(max_connections=5) as rig, AsyncExitStack() as stack:
                slow = await reach(rig, stack)
                idle = [await stack.enter_async_context(connected(rig.port)) for _ in range(50)]
                await eventually(lambda: rig.load_limits.displaced >= 46)
                await eventually(lambda: rig.load_limits.connections == 5)
                rig.gate.set()
                assert await rig.well_behaved() == ["a", "b"]
                assert (await slow.reply())[2]["NodeNames"] == ["a", "b"]
                assert await idle[0].ended() == b""
                await eventually(lambda: "kept the server waiting the longest" in caplog.text)

        run(main)

    def test_that_have_pipelined_a_request_are_not_idle_before_it_is_answered(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def main() -> None:
            async with hostile(max_connections=1) as rig:
                async with connected(rig.port) as caller:
                    await caller.send(request(NAMES) + request(padded("slow", 10)))
                    assert (await caller.reply())[2]["NodeNames"] == ["a", "b"]
                    await asyncio.to_thread(rig.reached.wait, 60)
                    async with connected(rig.port) as another:
                        assert await another.ended() == b""
                    await eventually(lambda: "new ones are closed" in caplog.text)
                    rig.gate.set()
                    assert (await caller.reply())[2]["NodeNames"] == ["a", "b"]
                await eventually(lambda: rig.load_limits.connections == 0)

        run(main)
        assert (
            "the maximum of 1 connections (--max-connections) is waiting for answers: new ones are "
            "closed immediately, 1 so far" in caplog.messages
        )

    def test_that_pipeline_and_hang_up_leave_nothing_behind(self) -> None:
        async def main() -> None:
            async with hostile() as rig, AsyncExitStack() as stack:
                await reach(rig, stack)
                before = rig.load_limits.bytes
                async with connected(rig.port) as caller:
                    await caller.send(request(padded("gone", 1000)) * 20)
                    await eventually(lambda: rig.service.turns.waiting == 2)
                await rig_settles(rig, before)

        async def rig_settles(rig: Rig, before: int) -> None:
            # Reading was paused while the first one waited, so the end is seen with its answer.
            rig.gate.set()
            await eventually(lambda: rig.load_limits.bytes <= before)

        run(main)


def test_a_flood_of_nonsense_is_a_few_lines_of_log() -> None:
    async def main() -> None:
        async with hostile() as rig, connected(rig.port) as caller:
            for number in range(300):
                body = [b"{", b"[]", b'{"Pod":1}', b"\xff"][number % 4]
                await caller.send(request(body, ["/filter", "/preempt"][number % 2]))
                await caller.reply()
            assert rig.errors("input") == 300

    with written_log() as lines:
        run(main)
    assert len(lines) <= 4
    assert sum("149 more like this in the last " in line for line in lines) == 2


def test_the_limit_of_open_files_is_respected(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    limits = {"now": (200, 200)}
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits["now"])
    # Whether it can be raised was tried before, and there is nothing more to be done.
    monkeypatch.delattr(resource, "setrlimit")
    few, many = (ServeOptions(policy="p", max_connections=most) for most in (150, 1000))
    assert server.load_limits_of(few).max_connections == 150
    assert caplog.messages == []
    assert server.load_limits_of(many).max_connections == 150
    assert caplog.messages == [
        ("this process may open 200 files, which allows at most 150 connections")
    ]
    limits["now"] = (24, 24)
    assert server.load_limits_of(few).max_connections == 1
    for enough in (1 << 20, resource.RLIM_INFINITY):
        limits["now"] = (enough, enough)
        assert server.load_limits_of(many).max_connections == 1000


def test_no_socket_stays_open() -> None:
    def sockets() -> int:
        return sum("socket:" in target(number) for number in Path("/proc/self/fd").iterdir())

    def target(number: Path) -> str:
        try:
            return str(number.readlink())
        except OSError:
            return ""

    async def main() -> None:
        async with hostile(max_connections=5) as rig, AsyncExitStack() as stack:
            for _ in range(20):
                await stack.enter_async_context(connected(rig.port))

    before = sockets()
    run(main)
    gc.collect()
    assert sockets() <= before
