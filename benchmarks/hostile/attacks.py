"""What hostile callers do, in a process of their own: ``python -m benchmarks.hostile.attacks``.

Started by `measuring` so that the attackers' work is not the measured caller's. Each attack goes on
until the process is stopped, and bears that the server hangs up.
"""

import asyncio
import contextlib
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec


class Attack(msgspec.Struct, frozen=True):
    """One kind of hostility.

    Attributes:
        name: in the table.
        what: one line about it.
        callers: how many at once.
        act: what each of them does, again and again.
    """

    name: str
    what: str
    callers: int
    act: Callable[[int], Awaitable[None]]


def request(pod: str, names: int = 2, padding: int = 0, verb: str = "filter") -> bytes:
    """A request of the extender protocol."""
    body = msgspec.json.encode(
        {
            "Pod": {"metadata": {"name": pod}},
            "NodeNames": [f"node-{number}" for number in range(names)],
            "Padding": "x" * padding,
        }
    )
    head = (
        f"POST /{verb} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _nothing(port: int) -> None:
    await asyncio.sleep(3600)


async def _slow_body(port: int) -> None:
    data = request("web", padding=1 << 20)
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data[: 512 << 10])
        for at in range(512 << 10, len(data), 1024):
            writer.write(data[at : at + 1024])
            await writer.drain()
            await asyncio.sleep(0.5)
    finally:
        writer.close()


async def _abandon(port: int) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(_LARGE)
        await writer.drain()
    finally:
        writer.close()
    await asyncio.sleep(0.2)


async def _flood(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    data = request("web", names=200)
    try:
        while True:
            writer.write(data)
            await reader.readuntil(b"\r\n\r\n")
    finally:
        writer.close()


async def _nonsense(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for body in (b"{", b"[]", b'{"Pod":1}', b"\xff" * 100, b"[" * 10_000):
            writer.write(b"POST /filter HTTP/1.1\r\nHost: 127.0.0.1\r\n")
            writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            await reader.readuntil(b"\r\n\r\n")
    finally:
        writer.close()


async def _unread(port: int) -> None:
    loop = asyncio.get_running_loop()
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.setblocking(False)
        await loop.sock_connect(raw, ("127.0.0.1", port))
        await loop.sock_sendall(raw, request("web", names=50_000, verb="prioritize"))
        await asyncio.sleep(8)


async def _idle(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        await reader.read()
    finally:
        writer.close()


def _ask(pod: str) -> Callable[[int], Awaitable[None]]:
    async def ask(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(request(pod))
            await reader.readuntil(b"\r\n\r\n")
        finally:
            writer.close()

    return ask


_LARGE: Final = request("web", padding=20 << 20)
ATTACKS: Final = (
    Attack("nobody", "no hostile caller", 0, _nothing),
    Attack("slow bodies", "100 bodies of 1 MB, the second half drop by drop", 100, _slow_body),
    Attack("abandoned", "bodies of 20 MB whose senders hang up, 4 at once", 4, _abandon),
    Attack("hanging, abandoned", "the same beside a function that hangs", 4, _abandon),
    Attack("flood", "100 connections that ask without a pause", 100, _flood),
    Attack("nonsense", "20 connections with bodies that are none", 20, _nonsense),
    Attack("unread replies", "20 callers that do not read 1.6 MB", 20, _unread),
    Attack("idle", "3,000 connections that say nothing", 3000, _idle),
    Attack("hanging", "a function that sleeps for an hour, asked by 2 at once", 2, _ask("hangs")),
    Attack("stuck", "a function stuck in C for ever", 1, _ask("stuck")),
)  # fmt: skip


async def run(attack: Attack, port: int) -> None:
    """Attack until cancelled."""

    async def one() -> None:
        while True:
            with contextlib.suppress(
                OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
            ):
                await attack.act(port)
            await asyncio.sleep(0.02)

    await asyncio.gather(*(one() for _ in range(attack.callers)))


if __name__ == "__main__":
    _chosen = next(one for one in ATTACKS if one.name == sys.argv[1])
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run(_chosen, int(sys.argv[2])))
