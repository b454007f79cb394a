"""What lies between a scheduler and its API server, and spoils the answers to writes byte by byte.

Lists, watches and reads pass as they are. Of a POST or PATCH, either the API server never hears, or
its answer comes in another form, in pieces, with more than was asked for, or not at all.
"""

import asyncio
import random
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from mooring.kube.cluster_config import ClusterConfig

#: The answer arrives whole, in some legal form; HTTP knows more than one.
LEGAL = (
    "usual", "pieces", "interim", "chunked", "http10", "until the end", "large head", "empty",
    "closed later", "timed out later",
)  # fmt: skip
#: The API server never hears of the request.
UNHEARD = ("closed at once", "other protocol", "busy", "down", "conflict", "failed with 201")
#: It takes effect, and no clear answer arrives.
LOST = ("closed after", "half", "answer is no HTTP", "failed after", "body too short")
#: It takes effect, and more arrives than the answer.
MORE = ("two answers", "half an answer more")

_INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
_BUSY = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"
_DOWN = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 3\r\n\r\nno\n"
_CONFLICT = b"HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n"
_TIMED_OUT = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_FAILURE = b'{"kind":"Status","status":"Failure","code":500}'
_FAILED = b"HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%b" % (len(_FAILURE), _FAILURE)
_SECOND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


class HostileWire:
    """A server before another one.

    Args:
        upstream: the port of the API server.
        seed: decides what happens to each request.
        likely: how likely something happens to a binding.
        faults: what may happen.
        tls: a server's context and the authority that signed its certificate; None for plain TCP.

    Attributes:
        happened: how often each of them did.
    """

    def __init__(
        self,
        upstream: int,
        seed: int,
        likely: float,
        faults: Sequence[str],
        tls: tuple[ssl.SSLContext, bytes] | None = None,
    ) -> None:
        self.happened: Counter[str] = Counter()
        self._upstream = upstream
        self._chance = random.Random(seed)
        self._likely = likely
        self._faults = faults
        self._tls = tls[0] if tls is not None else None
        self._authority = tls[1] if tls is not None else b""
        self._port = 0

    @property
    def config(self) -> ClusterConfig:
        """How to come through here."""
        scheme = "http" if self._tls is None else "https"
        server = f"{scheme}://127.0.0.1:{self._port}"
        return ClusterConfig(server=server, source="the test", ca_data=self._authority)

    @asynccontextmanager
    async def open(self) -> AsyncIterator["HostileWire"]:
        """Listen for the length of a block."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self._port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if head.split(b" ", 1)[0] not in (b"POST", b"PATCH"):
                    await self._pass(head, reader, writer)
                    break
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                body = await reader.readexactly(length)
                if not await self._answer(head, body, writer):
                    break
        writer.transport.abort()

    async def _pass(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """A connection that is for lists, watches and reads."""
        theirs, ours = await asyncio.open_connection("127.0.0.1", self._upstream)
        ours.write(head)
        copies = [
            asyncio.create_task(_copy(reader, ours)),
            asyncio.create_task(_copy(theirs, writer)),
        ]
        try:
            await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in copies:
                one.cancel()
            ours.transport.abort()

    async def _ask(self, head: bytes, body: bytes) -> tuple[bytes, bytes]:
        """The first line and the body of the API server's answer."""
        theirs, ours = await asyncio.open_connection("127.0.0.1", self._upstream)
        ours.write(head[:-2] + b"Connection: close\r\n\r\n" + body)
        answer = await theirs.read()
        ours.close()
        first, _, rest = answer.partition(b"\r\n")
        return first, rest.partition(b"\r\n\r\n")[2]

    async def _answer(self, head: bytes, body: bytes, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection may be used again."""
        is_binding = b"/binding " in head.split(b"\r\n", 1)[0]
        faults = self._faults if is_binding else [one for one in self._faults if one in LEGAL]
        fault = "usual"
        if faults and self._chance.random() < self._likely:
            fault = self._chance.choice(faults)
        if is_binding:
            self.happened[fault] += 1
        unheard = {
            "closed at once": b"", "other protocol": b"SSH-2.0-x\r\n\r\n", "busy": _BUSY,
            "down": _DOWN, "conflict": _CONFLICT, "failed with 201": _FAILED,
        }  # fmt: skip
        if fault in unheard:
            writer.write(unheard[fault])
            await writer.drain()
            return unheard[fault].startswith(b"HTTP")
        first, said = await self._ask(head, body)
        sized = first + b"\r\nContent-Length: %d\r\n\r\n%b" % (len(said), said)
        if fault == "pieces":
            for start in range(0, len(sized), (size := self._chance.randint(1, 9))):
                writer.write(sized[start : start + size])
                await asyncio.sleep(0)
            return True
        if fault == "chunked":
            size = self._chance.randint(1, 9)
            chunks = [said[at : at + size] for at in range(0, len(said), size)]
            parts = [b"%x;more=1\r\n%b\r\n" % (len(one), one) for one in chunks]
            told = b"\r\nTransfer-Encoding: chunked\r\n\r\n%b0\r\nX-End: 1\r\n\r\n" % b"".join(
                parts
            )
            writer.write(first + told)
            return True
        whole = {
            "usual": sized,
            "interim": _INTERIM + sized,
            "http10": first.replace(b"/1.1", b"/1.0") + b"\r\n\r\n" + said,
            "until the end": first + b"\r\n\r\n" + said,
            "large head": first + b"\r\nX-Large: " + b"x" * 100_000 + sized[len(first) :],
            "empty": first + b"\r\nContent-Length: 0\r\n\r\n",
            "closed later": sized,
            "timed out later": sized,
            "closed after": b"",
            "half": sized[: len(sized) // 2],
            "answer is no HTTP": b"\x16\x03\x01\x00\x05hello",
            "failed after": _DOWN,
            "body too short": sized[:-3],
            "two answers": sized + _SECOND,
            "half an answer more": sized + _SECOND[:9],
        }  # fmt: skip
        writer.write(whole[fault])
        await writer.drain()
        if fault == "timed out later":
            await asyncio.sleep(self._chance.random() * 0.01)
            writer.write(_TIMED_OUT)
        elif fault == "closed later":
            await asyncio.sleep(self._chance.random() * 0.01)
        if fault in ("http10", "until the end", "timed out later"):
            writer.close()  # with a word of TLS that it is the end
            await writer.wait_closed()
        return fault in ("usual", "interim", "large head", "empty", *MORE)


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await source.read(1 << 16):
            target.write(data)
            await target.drain()
