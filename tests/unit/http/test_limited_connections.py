"""Connections that make room for others."""

import asyncio

from starlette.types import Receive, Scope, Send
from uvicorn import Config
from uvicorn.server import ServerState

from mooring.http.limited_connections import LimitedConnection, limited_connections
from mooring.http.load_limits import LoadLimits


class Transport(asyncio.Transport):
    """Takes note of how it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def abort(self) -> None:
        self.calls.append("abort")

    def close(self) -> None:
        self.calls.append("close")


async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that nobody asks."""


def made(load_limits: LoadLimits) -> LimitedConnection:
    kind = limited_connections(load_limits, max_body=100, reply_seconds=1.0)
    config = Config(nothing, interface="asgi3", log_config=None)
    return kind(config=config, server_state=ServerState(), app_state={})


def test_a_client_that_does_not_read_or_say_goodbye_is_not_waited_for() -> None:
    async def main() -> None:
        load_limits, first, second = LoadLimits(100, 1), Transport(), Transport()
        made(load_limits).connection_made(first)
        made(load_limits).connection_made(second)
        assert (first.calls, second.calls) == (["abort"], [])

    asyncio.run(main())


def test_one_that_shakes_hands_first_counts_once() -> None:
    async def main() -> None:
        load_limits, calls, transport = LoadLimits(100, 1), list[str](), Transport()
        connection = made(load_limits)
        connection.accepted(lambda: calls.append("hung up"))
        assert load_limits.connections == 1
        connection.connection_made(transport)
        assert (load_limits.connections, load_limits.displaced) == (1, 0)
        made(load_limits).connection_made(Transport())
        assert (calls, transport.calls) == ([], ["abort"])

    asyncio.run(main())


def test_one_that_never_shakes_hands_makes_room() -> None:
    async def main() -> None:
        load_limits, calls = LoadLimits(100, 1), list[str]()
        first, second = made(load_limits), made(load_limits)
        first.accepted(lambda: calls.append("first"))
        second.accepted(lambda: calls.append("second"))
        assert calls == ["first"]
        for one in (first, second):
            one.not_made()
        assert load_limits.connections == 0

    asyncio.run(main())
