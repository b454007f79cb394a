"""Names with several addresses, of which some do not answer."""

import asyncio
import contextlib
import errno
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
import uvloop

from mooring.kube.http1 import dialing
from mooring.kube.http1.pool import ConnectionPool
from tests.unit.kube.http1.scripted_server import scripted_server

Resolve = Callable[..., Awaitable[list[Any]]]
LOOPS = (uvloop.new_event_loop, asyncio.new_event_loop)


@contextlib.contextmanager
def silent_port() -> Iterator[int]:
    """A port where nobody ever answers, as if the machine were off: its queue is full."""
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.socket())
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(4):
            one = stack.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(listening.getsockname())
        yield listening.getsockname()[1]


def addresses(*ports: int) -> Resolve:
    """Says that a name has an address for each of these ports."""

    async def resolve(*_: object, **__: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)) for port in ports]

    return resolve


class Resolving:
    """An event loop with another way to find addresses."""

    def __init__(self, loop: asyncio.AbstractEventLoop, resolve: Resolve) -> None:
        self._loop = loop
        self.getaddrinfo = resolve

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)


@pytest.mark.parametrize("loop_factory", LOOPS)
def test_an_address_that_does_not_answer_holds_up_no_request(loop_factory: Any) -> None:
    async def main() -> None:
        with silent_port() as silent:
            async with asyncio.timeout(60), scripted_server() as server:
                pool = ConnectionPool(server.address, 2, 30.0)
                resolving: Any = Resolving(pool._loop, addresses(silent, 1, silent, server.port))
                pool._loop = resolving
                started = asyncio.get_running_loop().time()
                reply = await pool.send(server.request(b"x"), None, 30.0)
                assert reply.body == b"ok"
                assert asyncio.get_running_loop().time() - started < 15
                pool.close()

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(main())


@pytest.mark.parametrize("loop_factory", LOOPS)
def test_if_no_address_can_be_reached_it_says_why(loop_factory: Any) -> None:
    async def main() -> None:
        loop: Any = Resolving(asyncio.get_running_loop(), addresses(1, 2))
        with pytest.raises(ConnectionRefusedError) as caught:
            await dialing.dial(loop, "name", 6443)
        assert caught.value.errno == errno.ECONNREFUSED
        nowhere: Any = Resolving(asyncio.get_running_loop(), addresses())
        with pytest.raises(OSError, match="name has no address"):
            await dialing.dial(nowhere, "name", 6443)

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(main())


def test_nothing_is_left_open_of_what_was_not_taken() -> None:
    async def main() -> None:
        made: list[socket.socket] = []

        async def connect(one: socket.socket, where: Any) -> None:
            made.append(one)
            await asyncio.get_running_loop().sock_connect(one, where)

        async with scripted_server() as server:
            loop: Any = Resolving(asyncio.get_running_loop(), addresses(silent, server.port))
            loop.sock_connect = connect
            with await dialing.dial(loop, "name", 6443) as taken:
                assert [one.fileno() != -1 for one in made] == [False, True]
                assert made[1] is taken
            asking = asyncio.create_task(dialing.dial(loop, "name", 6443))
            await asyncio.sleep(0.01)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        assert [one.fileno() for one in made] == [-1] * 3

    with silent_port() as silent:
        asyncio.run(main())


def test_both_families_have_their_turn() -> None:
    six, four = (socket.AF_INET6, "6"), (socket.AF_INET, "4")
    found = dialing._in_turn(
        [(one[0], 1, 6, one[1], number) for number, one in enumerate((six, six, six, four))]
    )
    assert [(one[3], one[4]) for one in found] == [("6", 0), ("4", 3), ("6", 1), ("6", 2)]
