"""Programs that tests start: ports, log files, waiting, and an end that leaves nothing behind.

Owns every process that `mooring.testing` starts. Never looks into what the programs do.
"""

import atexit
import contextlib
import os
import secrets
import signal
import socket
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeVar

from mooring.errors import MooringError

T = TypeVar("T")

_POLL_SECONDS = 0.05
_TAIL_LINES = 30
_ENDING_SECONDS = 30.0

# Below the range from which Linux takes the local ports of outgoing connections, so that no
# client can sit on the port of a server that is being restarted.
_PORTS = range(20_000, 30_000)
_given_ports: set[int] = set()
_port_lock = threading.Lock()


class ProcessError(MooringError):
    """A program did not start, ended early or failed; the text ends with what it said."""


class WaitError(MooringError, TimeoutError):
    """What `wait_for` waited for did not happen in time."""


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on; never the same one twice."""
    with _port_lock:
        for _ in range(1000):
            port = _PORTS[secrets.randbelow(len(_PORTS))]
            if port in _given_ports:
                continue
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind(("127.0.0.1", port))
                except OSError:
                    continue
            _given_ports.add(port)
            return port
    raise ProcessError(f"No free port was found between {_PORTS.start} and {_PORTS.stop}.")


def wait_for(
    predicate: Callable[[], T | Literal[False] | None], what: str, timeout: float = 60.0
) -> T:
    """Call `predicate` until it returns something that is neither None nor False, and return that.

    Args:
        predicate: asked again after a short pause; its exceptions end the wait.
        what: names the awaited thing in the error, such as "pod a to be bound".
        timeout: seconds after which `WaitError` is raised; it is asked at least once.
    """
    deadline = time.monotonic() + timeout
    while True:
        late = time.monotonic() >= deadline
        value = predicate()
        if value is not None and value is not False:
            return value
        if late:
            raise WaitError(f"Timed out after {timeout:g} seconds waiting for {what}.")
        time.sleep(_POLL_SECONDS)


class Startable(ABC):
    """Something with a beginning and an end; use it with ``with``, or call `start` and `stop`."""

    @abstractmethod
    def start(self) -> None:
        """Begin, and wait until it is ready."""

    @abstractmethod
    def stop(self) -> None:
        """End; harmless when repeated."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


class ChildProcess:
    """One running program with its own session and its output in a log file.

    A second, tiny process kills the program should this Python process die without calling
    `stop`: it reads from a pipe that the kernel closes then.

    Args:
        name: the program's name in errors.
        command: the program and its arguments.
        log_file: gets standard output and error, appended.
    """

    def __init__(self, name: str, command: Sequence[str], log_file: Path) -> None:
        self.name = name
        self.log_file = log_file
        with log_file.open("ab") as log:
            self._popen = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self._guard: subprocess.Popen[bytes] | None = subprocess.Popen(
                ["/bin/sh", "-c", 'read -r _; kill -KILL "$1"', "guard", str(self.pid)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
        except BaseException:
            self._popen.kill()
            self._popen.wait()
            raise

    @property
    def pid(self) -> int:
        """The process id; that of the program itself, not of a wrapper."""
        return self._popen.pid

    @property
    def running(self) -> bool:
        """Whether the program has not ended."""
        if self._popen.poll() is None:
            return True
        self._dismiss_guard()
        return False

    def wait_ready(self, ready: Callable[[], bool], timeout: float) -> None:
        """Wait until `ready` is true; raise `ProcessError` when the program ends or time is up."""

        def look() -> bool:
            if not self.running:
                status = self._popen.returncode
                raise ProcessError(
                    f"{self.name} ended with status {status} before it was ready; {self.tail()}"
                )
            return ready()

        try:
            wait_for(look, f"{self.name} to be ready", timeout)
        except WaitError as error:
            raise ProcessError(f"{error} {self.tail()}") from error

    def tail(self) -> str:
        """The last lines of the log, introduced by the file's name."""
        lines = self.log().splitlines()[-_TAIL_LINES:]
        return "\n".join([f"The end of {self.log_file}:", *lines])

    def log(self) -> str:
        """Everything in the log file."""
        return self.log_file.read_text(errors="replace")

    def stop(self, grace: float = 10.0) -> None:
        """End the program: SIGTERM, then SIGKILL after `grace` seconds; harmless when repeated."""
        if self._popen.poll() is None:
            self._popen.terminate()
            try:
                self._popen.wait(grace)
            except subprocess.TimeoutExpired:
                self._popen.kill()
                self._popen.wait()
        self._dismiss_guard()

    def wait_ended(self, seconds: float) -> int:
        """Wait until the program has ended; its exit code, negative if a signal ended it.

        Raises:
            ProcessError: it has not ended in time.
        """
        try:
            code = self._popen.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise ProcessError(
                f"{self.name} has not ended within {seconds:g} seconds; {self.tail()}"
            ) from error
        self._dismiss_guard()
        return code

    def _dismiss_guard(self) -> None:
        # Killed before its pipe is closed, or it would kill whoever has the process id by then.
        guard, self._guard = self._guard, None
        if guard is None:
            return
        guard.kill()
        guard.wait()
        if guard.stdin is not None:
            with contextlib.suppress(OSError):
                guard.stdin.close()


class Program(Startable):
    """A program that is started, becomes ready and is stopped, also when Python just exits."""

    _process: ChildProcess | None = None

    @property
    def pid(self) -> int:
        """The process id.

        Raises:
            ProcessError: it is not running.
        """
        if self._process is None:
            raise ProcessError(f"{type(self).__name__} is not running.")
        return self._process.pid

    def stop(self) -> None:
        """End the program; harmless when repeated."""
        if self._process is not None:
            self._process.stop()
            self._process = None
        atexit.unregister(self.stop)

    def kill(self) -> None:
        """End it with SIGKILL, at once and without a last word."""
        self.send(signal.SIGKILL)
        self.wait_ended()
        self.stop()

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    @property
    def running(self) -> bool:
        """Whether the process has not ended."""
        return self._process is not None and self._process.running

    def wait_ended(self, seconds: float = _ENDING_SECONDS) -> int:
        """Wait until the process has ended by itself or by a signal; its exit code.

        Raises:
            ProcessError: it was not started, or does not end.
        """
        if self._process is None:
            raise ProcessError(f"{type(self).__name__} is not running.")
        return self._process.wait_ended(seconds)

    def _launch(self, process: ChildProcess, ready: Callable[[], bool], seconds: float) -> None:
        """Keep a process that has just been started, and wait until it is ready."""
        self._process = process
        atexit.register(self.stop)
        try:
            process.wait_ready(ready, seconds)
        except BaseException:
            self.stop()
            raise
