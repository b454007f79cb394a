"""One attack on a fresh ``moor serve``, and what a well-behaved caller gets meanwhile."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from benchmarks.command import BenchError, Say
from benchmarks.hostile.attacks import Attack, request
from benchmarks.reporting import percentile
from mooring.testing.child_process import free_port

_TIMEOUT_SECONDS = 5.0
_POLICY = Path(__file__).with_name("policy.py")


class Effort(msgspec.Struct, frozen=True):
    """How long, and how often.

    Attributes:
        seconds: how long each attack goes on.
        pause: seconds between two requests of the well-behaved caller.
    """

    seconds: float = 20.0
    pause: float = 0.1


class Measured(msgspec.Struct):
    """What came of one attack.

    Attributes:
        attack: its name.
        what: one line about it.
        workers: how many server processes.
        answered: requests of the well-behaved caller that were decided.
        told: those that got a clear error before the timeout.
        unanswered: those that got nothing before it.
        p50_ms: the median of those that got something.
        p99_ms: 99 of 100 took no longer.
        max_ms: the longest.
        memory_mb: resident memory before the attack.
        peak_mb: the most during it.
        livez: what ``/livez`` said at the end of the attack.
        end_seconds: how long the process took to end after SIGTERM, during the attack.
        exit_code: what it ended with.
        log_lines: how many lines it wrote.
        tracebacks: how many of them begin a traceback.
    """

    attack: str
    what: str
    workers: int
    answered: int
    told: int
    unanswered: int
    p50_ms: float
    p99_ms: float
    max_ms: float
    memory_mb: float
    peak_mb: float
    livez: int
    end_seconds: float
    exit_code: int
    log_lines: int
    tracebacks: int


class _Serve:
    """A ``moor serve`` with its log in a file."""

    def __init__(self, folder: Path, workers: int, source: Path | None) -> None:
        self.port = free_port()
        self.log = folder / "log"
        environment = dict(os.environ)
        if source is not None:
            environment["PYTHONPATH"] = str(source)
        command = [sys.executable, "-m", "mooring.cli", "serve", str(_POLICY)]
        command += ["--port", str(self.port), "--workers", str(workers)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, env=environment
            )
        end = time.monotonic() + 60
        while self.get("/readyz") != 200:
            if time.monotonic() > end or self.process.poll() is not None:
                self.process.kill()
                raise BenchError(f"moor serve did not start: {self.log.read_text()[-500:]}")
            time.sleep(0.05)

    def get(self, path: str) -> int:
        """The status of a page; 0 if it does not come."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_TIMEOUT_SECONDS)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            connection.close()

    def memory_mb(self) -> float:
        """Resident memory of the process and its workers."""
        pids = [self.process.pid]
        for children in Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            pids += map(int, children.read_text().split())
        return sum(_resident_kib(pid) for pid in pids) * 1024 / 1e6


def _resident_kib(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS:")), 0)


class _Caller:
    """A caller that asks, waits as long as kube-scheduler does, and asks again."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connection: http.client.HTTPConnection | None = None
        self._body = request("web", names=100).partition(b"\r\n\r\n")[2]
        self.times: list[float] = []
        self.answered = self.told = self.unanswered = 0

    def ask(self) -> None:
        start = time.monotonic()
        try:
            if self._connection is None:
                self._connection = http.client.HTTPConnection(
                    "127.0.0.1", self._port, timeout=_TIMEOUT_SECONDS
                )
            self._connection.request("POST", "/filter", self._body)
            reply = json.loads(self._connection.getresponse().read())
        except (OSError, http.client.HTTPException, ValueError):
            self.unanswered += 1
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            return
        self.times.append((time.monotonic() - start) * 1000)
        if reply.get("Error") or "NodeNames" not in reply:
            self.told += 1
        else:
            self.answered += 1


@contextmanager
def _attacking(attack: Attack, port: int) -> Iterator[None]:
    command = [sys.executable, "-m", "benchmarks.hostile.attacks", attack.name, str(port)]
    process = subprocess.Popen(command)
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def measure(
    attack: Attack, effort: Effort, folder: Path, *, workers: int, source: Path | None, say: Say
) -> Measured:
    """Attack a fresh server for a while."""
    say(f"{attack.name}{f', {workers} workers' if workers > 1 else ''}: {attack.what}")
    serve = _Serve(folder, workers, source)
    caller = _Caller(serve.port)
    try:
        for _ in range(20):
            caller.ask()
        caller.times.clear()
        caller.answered = 0
        before = peak = serve.memory_mb()
        with _attacking(attack, serve.port):
            if "hanging," in attack.name:
                _ask_in_background(serve.port)
            end = time.monotonic() + effort.seconds
            while time.monotonic() < end:
                caller.ask()
                peak = max(peak, serve.memory_mb())
                time.sleep(effort.pause)
            livez = serve.get("/livez")
            start = time.monotonic()
            serve.process.send_signal(signal.SIGTERM)
            code = serve.process.wait(90)
            ended = time.monotonic() - start
    finally:
        serve.process.kill()
        serve.process.wait()
    log = serve.log.read_text(errors="replace")
    return Measured(
        attack=attack.name, what=attack.what, workers=workers,
        answered=caller.answered, told=caller.told, unanswered=caller.unanswered,
        p50_ms=percentile(caller.times, 0.5) if caller.times else 0.0,
        p99_ms=percentile(caller.times, 0.99) if caller.times else 0.0,
        max_ms=max(caller.times, default=0.0),
        memory_mb=before, peak_mb=peak, livez=livez, end_seconds=ended, exit_code=code,
        log_lines=log.count("\n"), tracebacks=log.count("Traceback"),
    )  # fmt: skip


def _ask_in_background(port: int) -> None:
    """Have a function hang, again and again."""

    def ask() -> None:
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            try:
                connection.request("POST", "/filter", request("hangs").partition(b"\r\n\r\n")[2])
                connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                return
            finally:
                connection.close()

    threading.Thread(target=ask, daemon=True).start()
    time.sleep(0.3)
