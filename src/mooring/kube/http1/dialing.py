"""A connected socket to a server whose name may have several addresses; called by `pool`.

    address ──0.25 s──> next address ──0.25 s──> … the first that answers is taken, all others left

One of several API servers may be down, and an IPv6 address may lead nowhere: who waited for one
address after the other would never get to the one that works (RFC 8305, as Go and aiohttp do it).
"""

import asyncio
import socket
from collections import deque
from collections.abc import Sequence
from itertools import chain, zip_longest
from typing import Any, Final

#: An address that has not answered for so long does not hold up the next one.
_HEAD_START_SECONDS: Final = 0.25

#: What `getaddrinfo` gives.
AddressInfo = tuple[int, int, int, str, Any]


async def dial(loop: asyncio.AbstractEventLoop, host: str, port: int) -> socket.socket:
    """Connect to a server.

    Raises:
        OSError: the name has no address, or none of them can be reached.
    """
    addresses = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    todo = deque(_in_turn(addresses))
    trying: set[asyncio.Task[socket.socket]] = set()
    failed: OSError = OSError(f"{host} has no address")
    try:
        while todo or trying:
            if todo:
                trying.add(asyncio.create_task(_connect(loop, todo.popleft())))
            done, _ = await asyncio.wait(
                trying,
                timeout=_HEAD_START_SECONDS if todo else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            for task in done:
                error = task.exception()
                if error is None:
                    trying.discard(task)
                    return task.result()
                trying.discard(task)
                if not isinstance(error, OSError):
                    raise error
                failed = error
    finally:
        await _give_up(trying)
    raise failed


def _in_turn(addresses: Sequence[AddressInfo]) -> list[AddressInfo]:
    """The addresses of both families in turn, beginning with the family of the first."""
    first = [one for one in addresses if one[0] == addresses[0][0]]
    others = [one for one in addresses if one[0] != addresses[0][0]]
    return [one for one in chain(*zip_longest(first, others)) if one is not None]


async def _connect(loop: asyncio.AbstractEventLoop, address: AddressInfo) -> socket.socket:
    family, kind, protocol, _, where = address
    made = socket.socket(family, kind, protocol)
    try:
        made.setblocking(False)
        await loop.sock_connect(made, where)
    except BaseException:
        made.close()
        raise
    return made


async def _give_up(trying: set[asyncio.Task[socket.socket]]) -> None:
    """Leave the addresses that did not answer first."""
    for task in trying:
        task.cancel()
    for found in await asyncio.gather(*trying, return_exceptions=True):
        if isinstance(found, socket.socket):
            found.close()
