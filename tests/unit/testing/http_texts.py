"""Requests and answers as bytes, for tests that look at every one of them."""

import socket


def chunk(data: bytes) -> bytes:
    """A chunk of a body; the last one for no data."""
    return b"%x\r\n%s\r\n" % (len(data), data)


class Wire:
    """A connection on which bytes are sent and read as they are."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self._rest = b""

    def ask(self, method: str, target: str, body: bytes = b"") -> None:
        head = f"{method} {target} HTTP/1.1\r\nHost: tiny\r\nContent-Length: {len(body)}\r\n\r\n"
        self.socket.sendall(head.encode() + body)

    def read_until(self, end: bytes) -> bytes:
        """Everything up to and with some bytes."""
        while end not in self._rest:
            data = self.socket.recv(2**16)
            if not data:
                raise EOFError(self._rest)
            self._rest += data
        before, _, self._rest = self._rest.partition(end)
        return before + end

    def rest(self) -> bytes:
        """Everything until the connection ends."""
        while data := self.socket.recv(2**16):
            self._rest += data
        found, self._rest = self._rest, b""
        return found

    def close(self) -> None:
        self.socket.close()
