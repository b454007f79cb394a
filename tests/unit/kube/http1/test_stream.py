"""Answers that are read while they arrive: parts, ends, pauses, and the connection afterwards."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from mooring.kube.http1.connection import ApiConnection
from mooring.kube.http1.stream import ApiStream
from mooring.kube.http1.transport_errors import InvalidResponse, ServerClosed, Truncated

HEAD = b"HTTP/1.1 200 OK\r\nX-Kind: Watch\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LONG = 300.0


class FakeTransport:
    """Keeps whether it is paused; closed by `abort` alone."""

    def __init__(self) -> None:
        self.paused: list[bool] = []
        self.aborted = False

    def write(self, data: bytes) -> None:
        assert data == b"request"

    def pause_reading(self) -> None:
        self.paused.append(True)

    def resume_reading(self) -> None:
        self.paused.append(False)

    def is_closing(self) -> bool:
        return self.aborted

    def abort(self) -> None:
        self.aborted = True


class Opened:
    """A connection to nobody, on which a stream is asked for."""

    def __init__(self) -> None:
        self.connection = ApiConnection(asyncio.get_running_loop(), None)
        self.transport = FakeTransport()
        self.connection.connection_made(cast("Any", self.transport))
        self.asked = self.connection.stream(b"request", LONG)
        assert not self.connection.usable

    async def begun(self) -> ApiStream:
        self.receive(HEAD)
        return await self.asked

    def receive(self, data: bytes) -> None:
        self.connection.data_received(data)


def run(test: Callable[[Opened], Awaitable[None]]) -> None:
    async def main() -> None:
        await test(Opened())

    asyncio.run(main())


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def test_parts_are_read_as_they_come_and_together_if_they_wait() -> None:
    async def test(opened: Opened) -> None:
        stream = await opened.begun()
        assert stream.status == 200
        assert stream.headers == {"x-kind": "Watch", "transfer-encoding": "chunked"}
        reading = asyncio.create_task(stream.read(LONG))
        await asyncio.sleep(0)
        opened.receive(chunk(b"a"))
        assert await reading == b"a"
        opened.receive(chunk(b"b") + chunk(b"c"))
        opened.receive(chunk(b"d"))
        assert await stream.read(LONG) == b"bcd"
        opened.receive(chunk(b"last") + END)
        assert stream.ended
        assert await stream.read(LONG) == b"last"
        assert await stream.read(LONG) == b""

    run(test)


def test_a_stream_that_ends_leaves_the_connection_to_the_next_request() -> None:
    async def test(opened: Opened) -> None:
        stream = await opened.begun()
        opened.receive(END)
        assert opened.connection.usable
        answer = opened.connection.send(b"request", LONG)
        opened.receive(OK)
        assert (await answer).body == b"ok"
        asked = opened.connection.stream(b"request", LONG)
        opened.receive(OK)
        second = await asked
        assert await second.read(LONG) == b"ok"
        assert second.headers == {"content-length": "2"}
        assert stream.headers["x-kind"] == "Watch"
        assert opened.connection.usable

    run(test)


def test_interim_answers_are_not_the_beginning() -> None:
    async def test(opened: Opened) -> None:
        opened.receive(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
        assert not opened.asked.done()
        assert "link" not in (await opened.begun()).headers

    run(test)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", ServerClosed),
        (b"HTTP/1.1 200 OK\r\nX-", Truncated),
        (b"220 smtp.example ESMTP\r\n", InvalidResponse),
    ],
)
def test_a_stream_that_does_not_begin(answer: bytes, error: type[Exception]) -> None:
    async def test(opened: Opened) -> None:
        if answer:
            opened.receive(answer)
        opened.connection.connection_lost(None)
        with pytest.raises(error):
            await opened.asked

    run(test)


@pytest.mark.parametrize("lost", [None, ConnectionResetError("reset")])
def test_a_stream_that_breaks_off_gives_what_arrived_and_then_says_so(
    lost: Exception | None,
) -> None:
    async def test(opened: Opened) -> None:
        stream = await opened.begun()
        opened.receive(chunk(b"half"))
        opened.connection.connection_lost(lost)
        assert await stream.read(LONG) == b"half"
        with pytest.raises(Truncated):
            await stream.read(LONG)

    run(test)


def test_a_head_without_end_is_given_up() -> None:
    async def test(opened: Opened) -> None:
        opened.receive(HEAD[:-2])
        for _ in range(40):
            if not opened.asked.done():
                opened.receive(b"X-More: " + b"x" * 9000 + b"\r\n")
        with pytest.raises(InvalidResponse):
            await opened.asked
        assert opened.transport.aborted

    run(test)


def test_without_a_length_the_end_of_the_connection_is_that_of_the_stream() -> None:
    async def test(opened: Opened) -> None:
        opened.receive(b"HTTP/1.1 200 OK\r\n\r\n")
        stream = await opened.asked
        opened.receive(b"all of it")
        opened.connection.connection_lost(None)
        assert await stream.read(LONG) == b"all of it"
        assert await stream.read(LONG) == b""

    run(test)


def test_the_server_waits_for_a_slow_reader() -> None:
    async def test(opened: Opened) -> None:
        stream, part = await opened.begun(), b"x" * (1 << 18)
        for _ in range(2):
            opened.receive(chunk(part))
        assert opened.transport.paused == []
        for _ in range(2):
            opened.receive(chunk(part))
        assert opened.transport.paused == [True]
        assert len(await stream.read(LONG)) == 4 << 18
        assert opened.transport.paused == [True, False]

    run(test)


def test_a_reader_who_leaves_much_unread_leaves_the_connection_to_others() -> None:
    async def test(opened: Opened) -> None:
        await opened.begun()
        opened.receive(chunk(b"x" * (1 << 20)) + END)
        assert opened.connection.usable
        # Paused, the next answer would never arrive.
        assert opened.transport.paused == [True, False]

    run(test)


def test_silence_ends_the_reading_and_only_of_whoever_waits() -> None:
    async def test(opened: Opened) -> None:
        stream = await opened.begun()
        assert await stream.read(0.01) == b""
        assert not stream.ended
        # A timer of an earlier wait rings in a later one, which may take longer.
        reading = asyncio.create_task(stream.read(0.01))
        await asyncio.sleep(0)
        opened.receive(chunk(b"a"))
        assert await reading == b"a"
        longer = asyncio.create_task(stream.read(LONG))
        await asyncio.sleep(0)
        stream._alarm._rung()
        await asyncio.sleep(0)
        assert not longer.done()
        opened.receive(chunk(b"b"))
        assert await longer == b"b"

    run(test)


def test_a_reader_who_gives_up_loses_nothing() -> None:
    async def test(opened: Opened) -> None:
        stream = await opened.begun()
        reading = asyncio.create_task(stream.read(LONG))
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        opened.receive(chunk(b"a"))
        assert await stream.read(LONG) == b"a"

    run(test)


def test_closing_the_connection_ends_the_stream() -> None:
    async def test(opened: Opened) -> None:
        stream = await opened.begun()
        opened.connection.close()
        assert opened.transport.aborted
        with pytest.raises(ServerClosed):
            await stream.read(LONG)

    run(test)
