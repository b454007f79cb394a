"""A scheduler's ``/configz`` that answers anything but what it should."""

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mooring.cli.explain import configz_reader
from mooring.cli.explain.configz_reader import read_configz
from mooring.errors import InputError
from mooring.testing.certificates import Authority


@contextlib.contextmanager
def server(answer: Callable[[socket.socket], object]) -> Iterator[str]:
    """Answers one connection; its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with contextlib.suppress(OSError):
                connection, _ = listening.accept()
                with connection:
                    answer(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def said(url: str) -> str:
    with pytest.raises(InputError) as caught:
        read_configz(url)
    text = str(caught.value)
    assert "\n" not in text
    return text


def body(content: bytes, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(content)}", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + content


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (body(b"<html>it works</html>"), "is not a configuration: its answer is not JSON"),
        (body(b""), "is not a configuration: its answer is not JSON"),
        (body(b"\xff\xfe\x00{}"), "is not a configuration: its answer is not JSON"),
        (body(b"[" * 200_000), "is not a configuration: its answer is not JSON"),
        (body(b"[1]"), "is not a configuration: it is not a JSON object"),
        (body(b"no", "401 Unauthorized"), "cannot be read: it answers 401 Unauthorized; save it"),
        (body(b"no", "403 Forbidden"), "cannot be read: it answers 403 Forbidden; save it with"),
        (body(b"", "302 Found", "Location: file:///etc/passwd"), "it answers 302 Found; save"),
        (body(b"", "204 No Content"), "it answers 204 No Content; save it with kubectl get --raw"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}", "cannot be read: "),
        (b"\x15\x03\x01\x00\x02\x02\x50", "cannot be read: it does not answer in HTTP"),
        (b"what?\r\n\r\n", "cannot be read: it does not answer in HTTP; save it with kubectl get"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000 + b"\r\n\r\n{}", "cannot be read: "),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "cannot be read: "),
        (b"", "cannot be read: "),
    ],
)
def test_odd_answers(answer: bytes, sentence: str) -> None:
    def send(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(answer)

    with server(send) as host:
        text = said(f"http://joe:secret@{host}")
    assert text.startswith(f"http://{host}/configz ")
    assert sentence in text


def test_an_endless_answer() -> None:
    def send(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        while True:
            connection.sendall(b" " * 65536)

    with server(send) as host:
        assert "cannot be read: it is larger than 16 MiB; " in said(f"http://{host}")


@pytest.mark.parametrize("first", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n{"])
def test_an_answer_that_trickles(monkeypatch: pytest.MonkeyPatch, first: bytes) -> None:
    monkeypatch.setattr(configz_reader, "_SECONDS", 0.3)
    enough = threading.Event()

    def send(connection: socket.socket) -> None:
        connection.sendall(first)
        while not enough.wait(0.02):
            connection.sendall(b"a")

    with server(send) as host:
        text = said(f"http://{host}")
        enough.set()
    assert "cannot be read: it did not answer within 0.3 seconds; save it" in text


def test_a_certificate_of_an_authority_that_is_not_known(tmp_path: Path) -> None:
    keys = Authority(tmp_path).server("scheduler")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(keys.certificate, keys.key)

    def send(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), context.wrap_socket(connection, server_side=True):
            pass

    with server(send) as host:
        text = said(f"https://{host}")
    assert "certificate verify failed" in text
    assert "; save it with kubectl get --raw and specify the file" in text


@pytest.mark.parametrize(
    "url",
    [
        "http://",
        "http://host:port",
        "http://[::1",
        "https:///configz",
        "http://a b/",
        "http://\x00",
    ],
)
def test_addresses_that_are_none(url: str) -> None:
    assert " cannot be read: " in said(url)


def test_nobody_is_there() -> None:
    with server(lambda _: None) as host:
        pass
    assert said(f"http://{host}").startswith(
        f"http://{host}/configz cannot be read: Connection refused; save"
    )


def test_what_it_should_answer() -> None:
    def send(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(body(json.dumps({"componentconfig": {"a": 1}}).encode()))

    with server(send) as host:
        assert read_configz(f"http://{host}/") == {"componentconfig": {"a": 1}}
