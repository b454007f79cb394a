"""One connection and every way in which a server may answer on it, byte for byte."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from mooring.kube.http1.connection import ApiConnection, ApiReply
from mooring.kube.http1.transport_errors import InvalidResponse, ServerClosed, Truncated

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CREATED = b"HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\nmade"
CHUNKED = (
    b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\nTrailer: Later\r\n\r\n"
    b"2;ext=1\r\nma\r\n2\r\nde\r\n0\r\nLater: yes\r\nRetry-After: 9\r\n\r\n"
)
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
LONG_HEADS = b"HTTP/1.1 201 Created\r\n" + b"X: %b\r\n" % (b"x" * 300) * 5


class FakeTransport:
    """Keeps what is written; closed by `abort` alone."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.aborted = False

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def is_closing(self) -> bool:
        return self.aborted

    def abort(self) -> None:
        self.aborted = True


class Opened:
    """A connection to nobody."""

    def __init__(self, loop: Any = None) -> None:
        self.connection = ApiConnection(loop or asyncio.get_running_loop(), None)
        self.transport = FakeTransport()
        self.connection.connection_made(cast("Any", self.transport))

    def ask(self) -> asyncio.Future[ApiReply]:
        assert self.connection.usable
        return self.connection.send(b"request", 30)

    def receive(self, data: bytes, piece: int = 1 << 20) -> None:
        for start in range(0, len(data), piece):
            self.connection.data_received(data[start : start + piece])

    def lose(self, error: Exception | None = None) -> None:
        self.transport.aborted = True
        self.connection.connection_lost(error)


def run(test: Callable[[Opened], Awaitable[None]]) -> None:
    async def main() -> None:
        await test(Opened())

    asyncio.run(main())


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 1 << 20])
@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        (CREATED, ApiReply(201, b"made")),
        (CHUNKED, ApiReply(201, b"made", "9")),
        (INTERIM + CREATED, ApiReply(201, b"made")),
        (LONG_HEADS + b"Content-Length: 4\r\n\r\nmade", ApiReply(201, b"made")),
        (b"HTTP/1.1 204 No Content\r\n\r\n", ApiReply(204, b"")),
    ],
    ids=["length", "chunked", "interim", "long-heads", "no-body"],
)
def test_an_answer_is_the_same_in_all_pieces(answer: bytes, reply: ApiReply, piece: int) -> None:
    async def test(opened: Opened) -> None:
        for _ in range(2):
            asked = opened.ask()
            opened.receive(answer, piece)
            assert await asked == reply
        assert opened.connection.usable

    run(test)


def test_an_answer_that_has_only_begun_is_not_that_to_the_next_request() -> None:
    """A second answer that nobody asked for, of which the rest comes when somebody has asked."""

    async def test(opened: Opened) -> None:
        asked = opened.ask()
        opened.receive(OK + CREATED[:20])
        assert await asked == ApiReply(200, b"ok")
        assert not opened.connection.usable
        assert opened.transport.aborted

    run(test)


@pytest.mark.parametrize("more", [OK, b"x", INTERIM])
def test_more_than_the_answer_ends_the_connection(more: bytes) -> None:
    async def test(opened: Opened) -> None:
        asked = opened.ask()
        opened.receive(CREATED + more)
        assert await asked == ApiReply(201, b"made")
        assert not opened.connection.usable

    run(test)


@pytest.mark.parametrize("piece", [1, 1 << 20])
def test_an_interim_answer_is_no_answer_when_the_connection_ends(piece: int) -> None:
    """A Binding that was never created must not count as created."""

    async def test(opened: Opened) -> None:
        asked = opened.ask()
        opened.receive(INTERIM, piece)
        opened.lose()
        with pytest.raises(Truncated):
            await asked

    run(test)


def test_the_end_of_the_connection_may_be_that_of_the_answer() -> None:
    async def test(opened: Opened) -> None:
        asked = opened.ask()
        opened.receive(INTERIM + b"HTTP/1.1 201 Created\r\n\r\nma")
        opened.receive(b"de")
        opened.lose()
        assert await asked == ApiReply(201, b"made")

    run(test)


@pytest.mark.parametrize("end", range(len(CHUNKED)))
def test_a_part_of_an_answer_is_none(end: int) -> None:
    async def test(opened: Opened) -> None:
        asked = opened.ask()
        if end:
            opened.receive(CHUNKED[:end])
        opened.lose()
        with pytest.raises(Truncated if end else ServerClosed):
            await asked

    run(test)


def test_interim_answers_without_end_are_given_up() -> None:
    async def test(opened: Opened) -> None:
        asked = opened.ask()
        while not asked.done():
            opened.receive(INTERIM * 1000)
        with pytest.raises(InvalidResponse):
            await asked
        assert opened.transport.aborted

    run(test)


def test_an_answer_that_closes_comes_before_the_request_is_through() -> None:
    async def test(opened: Opened) -> None:
        asked = opened.ask()
        opened.receive(b"HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        opened.lose(ConnectionResetError())
        assert await asked == ApiReply(413, b"")
        assert not opened.connection.usable

    run(test)


class Clock:
    """An event loop's time that passes only when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0
        self.timers: list[Alarm] = []

    def time(self) -> float:
        return self.now

    def create_future(self) -> asyncio.Future[ApiReply]:
        return asyncio.get_running_loop().create_future()

    def call_at(self, when: float, ring: Callable[[], None]) -> "Alarm":
        self.timers.append(Alarm(when, ring))
        return self.timers[-1]

    def pass_by(self, seconds: float) -> None:
        end = self.now + seconds
        while due := [one for one in self.timers if one.pending and one.when <= end]:
            first = min(due, key=lambda one: one.when)
            self.now = first.when
            first.pending = False
            first.ring()
        self.now = end


class Alarm:
    def __init__(self, when: float, ring: Callable[[], None]) -> None:
        self.when = when
        self.ring = ring
        self.pending = True

    def cancel(self) -> None:
        self.pending = False


def run_timed(test: Callable[[Opened, Clock], Awaitable[None]]) -> None:
    async def main() -> None:
        clock = Clock()
        await test(Opened(clock), clock)

    asyncio.run(main())


def test_each_request_has_the_whole_of_its_own_time() -> None:
    async def test(opened: Opened, clock: Clock) -> None:
        for _ in range(50):
            asked = opened.ask()
            clock.pass_by(29)
            assert not asked.done()
            opened.receive(OK)
            assert await asked == ApiReply(200, b"ok")
        asked = opened.ask()
        clock.pass_by(30)
        with pytest.raises(TimeoutError):
            await asked
        assert opened.transport.aborted

    run_timed(test)


def test_a_request_with_less_time_than_the_one_before_it() -> None:
    async def test(opened: Opened, clock: Clock) -> None:
        opened.ask()
        opened.receive(OK)
        asked = opened.connection.send(b"request", 1)
        clock.pass_by(0.9)
        assert not asked.done()
        clock.pass_by(0.1)
        with pytest.raises(TimeoutError):
            await asked

    run_timed(test)


def test_a_thousand_requests_set_few_timers_and_leave_none_when_it_is_closed() -> None:
    async def test(opened: Opened, clock: Clock) -> None:
        for _ in range(1000):
            asked = opened.ask()
            clock.pass_by(0.001)
            opened.receive(OK)
            await asked
        assert len(clock.timers) == 1
        opened.connection.close()
        opened.lose()
        assert not any(one.pending for one in clock.timers)

    run_timed(test)


def test_an_idle_connection_is_not_ended_by_a_time_limit() -> None:
    async def test(opened: Opened, clock: Clock) -> None:
        opened.ask()
        opened.receive(OK)
        clock.pass_by(1000)
        assert opened.connection.usable
        assert not any(one.pending for one in clock.timers)

    run_timed(test)
