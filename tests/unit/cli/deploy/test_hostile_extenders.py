"""Extenders that send too much, too slowly or nonsense: ``moor extender-test`` ends and says so."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.unit.cli.command_line import Run
from tests.unit.deploy.doctor.cases import CONFIG

pytestmark = pytest.mark.usefixtures("alone")

QUICK = ("--nodes", "5", "--requests", "1", "--timeout", "0.5")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
ESCAPES = rb'{"Error": "\u001b[31m\u001b]0;title\u0007"}'


def endless(first: bytes, more: bytes) -> Iterator[bytes]:
    yield first
    while True:
        yield more


#: What each of them sends to every request; it closes the connection then.
SENT: dict[str, Callable[[], Iterator[bytes]]] = {
    "gigabytes": lambda: endless(HEAD + b"\r\n[", b" " * 2**16),
    "a length beyond all measure": lambda: endless(
        HEAD + b"Content-Length: 99999999999999\r\n\r\n[", b" " * 2**16
    ),
    "headers without end": lambda: endless(HEAD, b"X: y\r\n" * 1000),
    "a header without end": lambda: endless(HEAD + b"X: ", b"y" * 2**16),
    "100 Continue without end": lambda: endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "redirects to itself": lambda: iter(
        [b"HTTP/1.1 307 X\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"]
    ),
    "redirects to half an address": lambda: iter(
        [b"HTTP/1.1 307 X\r\nLocation: http://[\r\nContent-Length: 0\r\n\r\n"]
    ),
    "redirects to a file": lambda: iter(
        [b"HTTP/1.1 308 X\r\nLocation: file:///etc/hosts\r\nContent-Length: 0\r\n\r\n"]
    ),
    "nonsense": lambda: iter([b"\xff\x00\x1b[31m\r\n\r\n" * 100]),
    "brackets": lambda: iter([HEAD + b"Content-Length: 200000\r\n\r\n" + b"[" * 200_000]),
    "escapes": lambda: iter([HEAD + b"Content-Length: %d\r\n\r\n" % len(ESCAPES) + ESCAPES]),
    "nothing": lambda: iter([]),
}


@contextlib.contextmanager
def hostile(kind: str) -> Iterator[str]:
    """The address of an extender that reads the head of a request and sends such things."""
    server = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()
    threads: list[threading.Thread] = []

    def serve(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            connection.settimeout(20)
            head = b""
            while b"\r\n\r\n" not in head:
                part = connection.recv(2**16)
                if not part:
                    return
                head += part
            for one in SENT[kind]():
                if ended.is_set():
                    return
                connection.sendall(one)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = server.accept()
                threads.append(threading.Thread(target=serve, args=(connection,)))
                threads[-1].start()

    acceptor = threading.Thread(target=accept)
    acceptor.start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
    finally:
        ended.set()
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        acceptor.join(60)
        for one in threads:
            one.join(60)


@pytest.mark.parametrize("kind", SENT)
def test_the_run_ends_and_finds_something(command_line: Run, kind: str) -> None:
    with hostile(kind) as url:
        code, out, err = command_line("extender-test", url, *QUICK, "-o", "json")
    assert (code, err) == (1, "")
    [report] = json.loads(out)["extenders"]
    assert "failed" in {one["outcome"] for one in report["findings"]}
    assert "\x1b" not in out


@pytest.mark.parametrize(
    "kind", ["gigabytes", "escapes", "nonsense", "redirects to half an address"]
)
def test_the_doctor_asks_them_too(command_line: Run, kind: str) -> None:
    with hostile(kind) as url:
        Path("config.yaml").write_text(CONFIG.replace("http://packer-extender.sched.svc:8888", url))
        code, out, err = command_line("doctor", "--config", "config.yaml", "--ask-extenders")
    assert (code, err) == (1, "")
    assert "extender-" in out
    assert "\x1b" not in out
