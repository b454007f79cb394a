"""The supervisor with stand-ins for workers; real ones are in tests/unit/cli."""

import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.extender import workers
from mooring.extender.workers import inherited_sockets, supervise, worker_command


@pytest.fixture(autouse=True)
def same_signals() -> Iterator[None]:
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGALRM)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def sock() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def python(script: str) -> list[str]:
    return [sys.executable, "-S", "-c", script]


def test_a_worker_that_cannot_start_ends_all(sock: socket.socket, tmp_path: Path) -> None:
    # The first one says that it is used wrongly, the second one waits for its end.
    script = f"""
import os, pathlib, signal, sys
first = pathlib.Path({str(tmp_path / "first")!r})
try:
    first.touch(exist_ok=False)
except FileExistsError:
    signal.pause()
sys.exit(2)
"""
    assert supervise(python(script), [sock], 2) == 2


def test_a_worker_that_dies_is_replaced(
    sock: socket.socket,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(workers, "_MIN_SECONDS", 0.0)
    lives = tmp_path / "lives"
    lives.mkdir()
    # Each life leaves a gauge and a counter behind, and notes which ones it found.
    script = f"""
import os, pathlib, sys
lives, metrics = pathlib.Path({str(lives)!r}), pathlib.Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
number = len(list(lives.iterdir()))
found = sorted(path.name.rsplit("_", 1)[0] for path in metrics.iterdir())
(lives / str(number)).write_text(" ".join(found))
for kind in ("gauge_livemax", "counter"):
    (metrics / f"{{kind}}_{{os.getpid()}}.db").touch()
os.fstat(int(os.environ["MOORING_WORKER_SOCKET"]))
if number == 1:
    os.kill(os.getpid(), 9)
sys.exit(1 if number == 0 else 2)
"""
    with caplog.at_level(logging.INFO, "mooring.extender"):
        assert supervise(python(script), [sock], 1) == 2
    found = [(lives / str(number)).read_text() for number in range(3)]
    assert found == ["", "counter", "counter counter"]
    told = [message.split(" ", 2)[2] for message in caplog.messages if "exited" in message]
    assert told == ["exited with code 1; starting another", "exited with code -9; starting another"]


def test_a_worker_that_does_not_end_is_killed(
    sock: socket.socket, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    script = f"""
import os, pathlib, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path({str(tmp_path / "deaf")!r}).touch()
os.kill(os.getppid(), signal.SIGTERM)
while True:
    signal.pause()
"""
    assert supervise(python(script), [sock], 1, stop_seconds=0.01) == 0
    assert (tmp_path / "deaf").exists()
    assert "did not stop; killing it" in caplog.text


def test_the_listening_socket_is_handed_down(
    sock: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(workers.SOCKET_VARIABLE, raising=False)
    assert inherited_sockets() == []
    numbers = [str(os.dup(sock.fileno())), str(os.dup(sock.fileno()))]
    monkeypatch.setenv(workers.SOCKET_VARIABLE, ",".join(numbers))
    first, second = inherited_sockets()
    with first, second:
        assert first.getsockname() == second.getsockname() == sock.getsockname()
    # A worker's own children must not take it for theirs.
    assert workers.SOCKET_VARIABLE not in os.environ


def test_a_worker_is_started_like_its_parent() -> None:
    command = worker_command(["serve", "policy.py", "--workers", "2"])
    assert command == [sys.executable, "-m", "mooring.cli", "serve", "policy.py", "--workers", "2"]
