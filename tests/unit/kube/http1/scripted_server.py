"""A server that answers each request with the bytes a test wants, byte for byte."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from mooring.kube.http1.request_bytes import RequestHead, ServerAddress

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#: In place of an answer.
SILENCE = b"silence"
CLOSE = b"close"


@dataclass
class ScriptedServer:
    """Answers from a list, and then with `OK`; a request without a body is an empty one here.

    Attributes:
        answers: for the next requests; what ends with `CLOSE` closes the connection afterwards.
        requests: the bodies that came.
        connections: how many were made; open: how many there are.
        most: how many there ever were at once.
    """

    answers: list[bytes] = field(default_factory=list)
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    open: int = 0
    most: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    bell: asyncio.Event = field(default_factory=asyncio.Event)
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    port: int = 0

    @property
    def address(self) -> ServerAddress:
        address = ServerAddress.of(f"http://127.0.0.1:{self.port}/base")
        assert address is not None
        return address

    def request(self, body: bytes) -> bytes:
        made = RequestHead(self.address, []).request("POST", "/x", "", "text/plain", body)
        assert made is not None
        return made

    def read_request(self) -> bytes:
        made = RequestHead(self.address, []).request("GET", "/x", "", "", None)
        assert made is not None
        return made

    async def until_closed(self, count: int) -> None:
        """Wait until no more than so many connections are open."""
        while self.open > count:
            self.bell.clear()
            await self.bell.wait()

    async def until_asked(self, count: int) -> None:
        """Wait until so many requests came."""
        while len(self.requests) < count:
            self.bell.clear()
            await self.bell.wait()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        self.most = max(self.most, self.open)
        self.writers.append(writer)
        try:
            while await self._answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            self.open -= 1
            self.bell.set()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        method, rest = head.split(b" ", 1)
        assert rest.startswith(b"/base/x HTTP/1.1\r\nHost: 127.0.0.1:")
        length = int(head.rpartition(b"Content-Length: ")[2]) if method == b"POST" else 0
        self.requests.append(await reader.readexactly(length))
        self.bell.set()
        await self.gate.wait()
        answer = self.answers.pop(0) if self.answers else OK
        if answer == SILENCE:
            await reader.read()
            return False
        closing = answer.endswith(CLOSE)
        writer.write(answer.removesuffix(CLOSE))
        await writer.drain()
        return not closing


@asynccontextmanager
async def scripted_server(*answers: bytes) -> AsyncIterator[ScriptedServer]:
    script = ScriptedServer(list(answers))
    script.gate.set()
    server = await asyncio.start_server(script.serve, "127.0.0.1", 0)
    script.port = server.sockets[0].getsockname()[1]
    try:
        yield script
    finally:
        script.gate.set()
        server.close()
        for writer in script.writers:
            writer.close()
        await script.until_closed(0)
