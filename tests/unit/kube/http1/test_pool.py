"""What becomes of requests and connections, whatever a server does."""

import asyncio
import gzip
import ssl
from collections.abc import Awaitable, Callable

import pytest
import uvloop

from mooring.errors import KubeError
from mooring.kube.http1.connection import ApiConnection, ApiReply
from mooring.kube.http1.pool import IDLE_SECONDS, ConnectionPool
from mooring.kube.http1.transport_errors import (
    InvalidResponse,
    NotConnected,
    ServerClosed,
    Truncated,
)
from tests.unit.kube.http1.scripted_server import CLOSE, SILENCE, ScriptedServer, scripted_server

Story = Callable[[ScriptedServer, ConnectionPool], Awaitable[None]]
#: Nobody waits so long.
LONG = 300.0


def run(story: Story, *answers: bytes, most: int = 4) -> None:
    async def main() -> None:
        async with asyncio.timeout(LONG), scripted_server(*answers) as server:
            pool = ConnectionPool(server.address, most, LONG)
            try:
                await story(server, pool)
            finally:
                pool.close()

    for loop_factory in (uvloop.new_event_loop, asyncio.new_event_loop):
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            runner.run(main())


async def ask(server: ScriptedServer, pool: ConnectionPool, body: bytes = b"a") -> ApiReply:
    return await pool.send(server.request(body), None, LONG)


def test_one_connection_is_used_again_and_again() -> None:
    async def story(server: ScriptedServer, pool: ConnectionPool) -> None:
        for number in range(5):
            assert await ask(server, pool, b"%d" % number) == ApiReply(200, b"ok")
        assert server.requests == [b"0", b"1", b"2", b"3", b"4"]
        assert server.connections == 1

    run(story)


@pytest.mark.parametrize(
    ("answer", "reply", "connections"),
    [
        (b"HTTP/1.1 201 C\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
         ApiReply(201, b"abc"), 1),
        (b"HTTP/1.1 204 No Content\r\n\r\n", ApiReply(204, b""), 1),
        (b"HTTP/1.1 429 Busy\r\nretry-After: 7\r\nContent-Length: 0\r\n\r\n",
         ApiReply(429, b"", "7"), 1),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
         ApiReply(200, b"a"), 1),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na",
         ApiReply(200, b"a"), 2),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", ApiReply(200, b"a"), 2),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end" + CLOSE, ApiReply(200, b"until the end"), 2),
        # what nobody asked for follows
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 204 No Content\r\n\r\n",
         ApiReply(200, b"a"), 2),
    ],
)  # fmt: skip
def test_answers_in_every_form(answer: bytes, reply: ApiReply, connections: int) -> None:
    async def story(server: ScriptedServer, pool: ConnectionPool) -> None:
        assert await ask(server, pool) == reply
        assert await ask(server, pool) == ApiReply(200, b"ok")
        assert server.connections == connections

    run(story, answer)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (CLOSE, ServerClosed),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf" + CLOSE, Truncated),
        (b"HTTP/1.1 200 OK\r\nConte" + CLOSE, Truncated),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n" + CLOSE, Truncated),
        (b"220 smtp.example ESMTP\r\n", InvalidResponse),
    ],
)
def test_what_is_no_answer_is_an_error_and_ends_the_connection(
    answer: bytes, error: type[Exception]
) -> None:
    async def story(server: ScriptedServer, pool: ConnectionPool) -> None:
        with pytest.raises(error):
            await ask(server, pool)
        assert await ask(server, pool) == ApiReply(200, b"ok")
        assert server.connections == 2

    run(story, answer)


def test_bytes_that_nobody_waits_for_end_the_connection() -> None:
    async def story(server: ScriptedServer, pool: ConnectionPool) -> None:
        await ask(server, pool)
        server.writers[0].write(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
        await server.until_closed(0)
        assert await ask(server, pool) == ApiReply(200, b"ok")
        assert server.connections == 2

    run(story)


def test_a_server_that_is_silent_for_too_long() -> None:
    async def story(server: ScriptedServer, pool: ConnectionPool) -> None:
        await ask(server, pool)
        for _ in range(2):  # over a connection that is there, and over a new one
            with pytest.raises(TimeoutError):
                await pool.send(server.request(b"a"), None, 0.01)
            await server.until_closed(0)

    run(story, b"HTTP/1.1 204 -\r\n\r\n", SILENCE, SILENCE)


def test_who_gives_up_takes_the_connection_along() -> None:
    async def story(server: ScriptedServer, pool: ConnectionPool) -> None:
        await ask(server, pool)
        asking = asyncio.create_task(ask(server, pool, b"given up"))
        await server.until_asked(2)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await server.until_closed(0)
        assert await ask(server, pool) == ApiReply(200, b"ok")

    run(story, b"HTTP/1.1 204 -\r\n\r\n", SILENCE)


def test_there_are_never_more_connections_than_allowed() -> None:
    async def story(server: ScriptedServer, pool: ConnectionPool) -> None:
        server.gate.clear()
        asking = [asyncio.create_task(ask(server, pool, b"%d" % n)) for n in range(20)]
        await server.until_asked(4)
        server.gate.set()
        assert await asyncio.gather(*asking) == [ApiReply(200, b"ok")] * 20
        assert server.most == 4
        assert sorted(server.requests) == sorted(b"%d" % n for n in range(20))

    run(story)


def test_waiting_for_a_connection_counts_as_time_of_the_request() -> None:
    async def story(server: ScriptedServer, pool: ConnectionPool) -> None:
        asking = asyncio.create_task(ask(server, pool))
        await server.until_asked(1)
        with pytest.raises(TimeoutError):
            await pool.send(server.request(b"late"), None, 0.01)
        asking.cancel()
        assert server.requests == [b"a"]

    run(story, SILENCE, most=1)


def test_a_guard_stops_a_request_and_leaves_the_connection() -> None:
    def guard() -> None:
        raise KubeError("not the leader")

    async def story(server: ScriptedServer, pool: ConnectionPool) -> None:
        for _ in range(2):
            with pytest.raises(KubeError, match="not the leader"):
                await pool.send(server.request(b"no"), None, LONG, guard)
        await ask(server, pool)
        assert server.requests == [b"a"]
        assert server.connections == 1

    run(story)


def test_nobody_at_the_address() -> None:
    async def story(server: ScriptedServer, pool: ConnectionPool) -> None:
        nobody = ConnectionPool(server.address._replace(port=1), 1, LONG)
        with pytest.raises(NotConnected) as caught:
            await nobody.send(b"x", None, LONG)
        assert isinstance(caught.value.os_error, ConnectionRefusedError)

    run(story)


def test_closing_tells_those_who_wait() -> None:
    async def story(server: ScriptedServer, pool: ConnectionPool) -> None:
        asking = asyncio.create_task(ask(server, pool))
        await server.until_asked(1)
        pool.close()
        with pytest.raises(ServerClosed):
            await asking

    run(story, SILENCE)


def test_a_closed_pool_makes_no_connection_for_those_who_waited() -> None:
    async def story(server: ScriptedServer, pool: ConnectionPool) -> None:
        server.gate.clear()
        asked = [asyncio.create_task(ask(server, pool)) for _ in range(5)]
        await server.until_asked(2)
        pool.close()
        server.gate.set()
        with pytest.raises(ServerClosed):
            await asked[0]
        for one in asked[2:]:
            with pytest.raises(NotConnected):
                await one
        await server.until_closed(0)
        with pytest.raises(NotConnected):
            await ask(server, pool)
        assert server.connections == len(server.requests) == 2
        await asyncio.gather(*asked, return_exceptions=True)

    run(story, most=2)


def test_connections_that_nobody_needs_any_more_are_closed() -> None:
    async def story(server: ScriptedServer, pool: ConnectionPool) -> None:
        await asyncio.gather(*(ask(server, pool) for _ in range(3)))
        old, *fresh = pool._idle
        old.idle_since -= IDLE_SECONDS
        pool._close_idle()
        assert pool._idle == fresh
        await server.until_closed(2)
        assert pool._expiry is not None

    run(story)


def test_an_answer_without_end_is_given_up() -> None:
    async def story(server: ScriptedServer, pool: ConnectionPool) -> None:
        with pytest.raises(InvalidResponse):
            await ask(server, pool)
        assert await ask(server, pool) == ApiReply(200, b"ok")

    run(story, b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n" + b"a" * (17 << 20))


STREAM = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"
END = b"0\r\n\r\n"


def test_a_stream_that_is_read_to_its_end_leaves_its_connection_to_the_next() -> None:
    async def story(server: ScriptedServer, pool: ConnectionPool) -> None:
        for _ in range(2):
            async with pool.stream(server.read_request(), None, LONG) as stream:
                assert await stream.read(LONG) == b"a"
                assert await stream.read(LONG) == b""
        assert await ask(server, pool) == ApiReply(200, b"ok")
        assert server.connections == 1

    run(story, STREAM + END, STREAM + END)


def test_a_stream_that_is_left_takes_its_connection_along() -> None:
    async def story(server: ScriptedServer, pool: ConnectionPool) -> None:
        for _ in range(3):  # each gives its place back
            async with pool.stream(server.read_request(), None, LONG) as stream:
                assert await stream.read(LONG) == b"a"
            await server.until_closed(0)

    run(story, STREAM, STREAM, STREAM, most=1)


def test_a_stream_that_does_not_begin_in_time() -> None:
    async def story(server: ScriptedServer, pool: ConnectionPool) -> None:
        with pytest.raises(TimeoutError):
            async with pool.stream(server.read_request(), None, 0.01):
                pass
        await server.until_closed(0)
        assert await ask(server, pool) == ApiReply(200, b"ok")

    run(story, SILENCE, most=1)


async def closed_in_the_meantime(server: ScriptedServer, pool: ConnectionPool) -> None:
    """Have a kept connection whose server hangs up when it is next asked."""
    await ask(server, pool)
    assert server.connections == 1


def test_a_read_is_sent_again_when_a_kept_connection_turns_out_to_be_closed() -> None:
    async def story(server: ScriptedServer, pool: ConnectionPool) -> None:
        reads = ConnectionPool(server.address, 1, LONG, repeats=True)
        await closed_in_the_meantime(server, reads)
        assert await reads.send(server.read_request(), None, LONG) == ApiReply(200, b"ok")
        assert server.requests == [b"a", b"", b""]
        server.answers.append(CLOSE)
        async with reads.stream(server.read_request(), None, LONG) as stream:
            assert await stream.read(LONG) == b"ok"
        # A new connection is not tried twice, nor what has begun to be answered.
        server.answers += [b"HTTP/1.1 200 OK\r\nConte" + CLOSE]
        with pytest.raises(Truncated):
            await reads.send(server.read_request(), None, LONG)
        server.answers += [CLOSE]
        with pytest.raises(ServerClosed):
            await reads.send(server.read_request(), None, LONG)
        reads.close()

    run(story, b"HTTP/1.1 204 -\r\n\r\n", CLOSE)


def test_a_write_is_never_sent_again() -> None:
    async def story(server: ScriptedServer, pool: ConnectionPool) -> None:
        await closed_in_the_meantime(server, pool)
        with pytest.raises(ServerClosed):
            await ask(server, pool)
        assert server.requests == [b"a", b"a"]

    run(story, b"HTTP/1.1 204 -\r\n\r\n", CLOSE)


def zipped(body: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
    return head % len(body) + body


def test_answers_that_are_compressed() -> None:
    async def story(server: ScriptedServer, pool: ConnectionPool) -> None:
        assert await ask(server, pool) == ApiReply(200, b"text" * 1000)
        for _ in range(3):
            with pytest.raises(InvalidResponse):
                await ask(server, pool)

    whole, bomb = gzip.compress(b"text" * 1000), gzip.compress(bytes(17 << 20))
    run(story, zipped(whole), zipped(whole[:-9]), zipped(b"text"), zipped(bomb))


def test_few_connections_are_made_at_once_and_more_as_they_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first of many requests does not wait until hands are shaken for all of them."""
    making, most, connect = 0, list[int](), ConnectionPool._connect

    async def noting(pool: ConnectionPool, context: ssl.SSLContext | None) -> ApiConnection:
        nonlocal making
        making += 1
        most.append(making)
        try:
            await asyncio.sleep(0)  # as if it took a while
            return await connect(pool, context)
        finally:
            making -= 1

    async def story(server: ScriptedServer, pool: ConnectionPool) -> None:
        server.gate.clear()
        asking = [asyncio.create_task(ask(server, pool, b"%d" % n)) for n in range(40)]
        await server.until_asked(4)
        assert max(most[:4]) == 4
        await server.until_asked(32)
        assert len(most) == server.connections == 32
        server.gate.set()
        assert await asyncio.gather(*asking) == [ApiReply(200, b"ok")] * 40
        assert server.connections == 32
        most.clear()

    monkeypatch.setattr(ConnectionPool, "_connect", noting)
    run(story, most=32)


def test_who_waits_to_make_a_connection_takes_one_that_is_idle_by_then() -> None:
    async def story(server: ScriptedServer, pool: ConnectionPool) -> None:
        while pool._making.take():
            pass
        asking = asyncio.create_task(ask(server, pool))
        await asyncio.sleep(0)
        kept = await pool._connect(None)
        pool._put_back(kept)
        pool._making.give_back()
        assert await asking == ApiReply(200, b"ok")
        assert server.connections == 1

    run(story)
