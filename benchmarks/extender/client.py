"""The measuring HTTP client: one kept connection, one request at a time, as kube-scheduler sends.

Called by the part `wire`. Only sending and receiving are timed; a reply is taken apart afterwards.
"""

import gzip
import socket
import time
from types import TracebackType
from typing import Self

from benchmarks.command import BenchError

_TIMEOUT_SECONDS = 120.0
_MAX_HEAD_BYTES = 8192
_END_OF_CHUNKS = b"\r\n0\r\n\r\n"


class Client:
    """A connection to one server. `buffer` receives the replies and may be shared by clients."""

    def __init__(self, port: int, buffer: bytearray) -> None:
        self._host = f"127.0.0.1:{port}"
        self._buffer = memoryview(buffer)
        self._reply = self._buffer[:0]
        self._headers: dict[str, str] = {}
        self._socket = socket.create_connection(("127.0.0.1", port), _TIMEOUT_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._socket.close()

    def post(self, path: str, body: bytes) -> int:
        """Send a request; nanoseconds until the whole answer has arrived."""
        # The very headers of kube-scheduler's HTTP client.
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self._host}\r\nUser-Agent: Go-http-client/1.1\r\n"
            f"Content-Length: {len(body)}\r\nContent-Type: application/json\r\n"
            "Accept-Encoding: gzip\r\n\r\n"
        )
        raw_head, rest = head.encode(), memoryview(body)
        start = time.perf_counter_ns()
        sent = self._socket.sendmsg([raw_head, rest])
        self._socket.sendall(rest[sent - len(raw_head) :])
        received, body_start, self._headers = self._receive()
        taken = time.perf_counter_ns() - start
        self._reply = self._buffer[body_start:received]
        return taken

    def body(self) -> bytes:
        """The body of the last reply; to be read before another client uses the buffer."""
        if "content-length" in self._headers:
            body = bytes(self._reply)
        else:
            body = _joined_chunks(self._reply)
        return gzip.decompress(body) if self._headers.get("content-encoding") == "gzip" else body

    def _receive(self) -> tuple[int, int, dict[str, str]]:
        """Read one reply into the buffer: how many bytes, where its body starts, its headers."""
        received = 0
        body_start = -1
        while body_start < 0:
            received += self._more(received)
            head_end = bytes(self._buffer[: min(received, _MAX_HEAD_BYTES)]).find(b"\r\n\r\n")
            body_start = head_end + 4 if head_end >= 0 else -1
        headers = _headers(bytes(self._buffer[:body_start]))
        if "content-length" in headers:
            end = body_start + int(headers["content-length"])
            while received < end:
                received += self._more(received)
        else:
            # JSON holds no bare line ends, so the mark of the last chunk occurs at the end only.
            while self._buffer[received - len(_END_OF_CHUNKS) : received] != _END_OF_CHUNKS:
                received += self._more(received)
        return received, body_start, headers

    def _more(self, received: int) -> int:
        count = self._socket.recv_into(self._buffer[received:])
        if count == 0:
            raise BenchError("a server closed the connection in the middle of a reply.")
        return count


def _headers(head: bytes) -> dict[str, str]:
    status, *lines = head.decode("latin-1").strip().split("\r\n")
    if " 200" not in status:
        raise BenchError(f"a server answered {status!r}.")
    pairs = (line.partition(":") for line in lines)
    return {name.lower(): value.strip() for name, _, value in pairs}


def _joined_chunks(raw: memoryview) -> bytes:
    data = bytes(raw)
    chunks: list[bytes] = []
    position = 0
    while True:
        line_end = data.index(b"\r\n", position)
        size = int(data[position:line_end].partition(b";")[0], 16)
        if size == 0:
            return b"".join(chunks)
        chunks.append(data[line_end + 2 : line_end + 2 + size])
        position = line_end + 2 + size + 2
