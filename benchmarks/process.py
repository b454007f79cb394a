"""The measured servers as processes, and their CPU time and memory.

Called by the benchmarks that start programs. `mooring.testing` starts and stops them, each by its
own id.
"""

import socket
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from benchmarks.command import BenchError
from mooring.testing.child_process import ChildProcess, free_port

_START_SECONDS = 60.0


def moor_command() -> list[str]:
    """The `moor` of this Python: the script next to it, else the module."""
    script = Path(sys.executable).parent / "moor"
    return [str(script)] if script.exists() else [sys.executable, "-m", "mooring.cli"]


def _tree(pid: int) -> list[int]:
    """The process and all its descendants."""
    pids = [pid]
    for parent in pids:
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                pids += [int(child) for child in children.read_text().split()]
            except OSError:  # the thread ended meanwhile
                continue
    return pids


def cpu_ms(pid: int) -> float:
    """CPU time the process and its descendants have used so far, user and system."""
    nanoseconds = 0
    for process in _tree(pid):
        try:
            # clock_getcpuclockid(3); /proc counts in hundredths of a second only.
            nanoseconds += time.clock_gettime_ns((~process << 3) | 2)
        except OSError:
            continue
    return nanoseconds / 1e6


def memory_mb(pid: int) -> float:
    """The resident memory (VmRSS), summed over the process and its descendants."""
    return _status_mb(pid, "VmRSS:")


def peak_memory_mb(pid: int) -> float:
    """The highest resident memory (VmHWM) so far, summed over the process and its descendants."""
    return _status_mb(pid, "VmHWM:")


def _status_mb(pid: int, field: str) -> float:
    kib = 0
    for process in _tree(pid):
        try:
            status = Path(f"/proc/{process}/status").read_text()
        except OSError:
            continue
        kib += sum(int(line.split()[1]) for line in status.splitlines() if line[:6] == field)
    return kib * 1024 / 1e6


class Server:
    """One server in its own process; a context manager that always stops it.

    Args:
        label: its name in messages.
        command: what to run; `{port}` stands for the port.
        health: a path that answers 200 when the server is ready.
    """

    def __init__(self, label: str, command: Sequence[str], *, health: str) -> None:
        self.label = label
        self.port = free_port()
        self._command = [part.replace("{port}", str(self.port)) for part in command]
        self._health = health
        self._process: ChildProcess | None = None
        self._stack = ExitStack()

    @property
    def pid(self) -> int:
        """The process id."""
        if self._process is None:
            raise BenchError(f"{self.label} is not running.")
        return self._process.pid

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            folder = stack.enter_context(TemporaryDirectory(prefix="mooring-bench-"))
            self._process = ChildProcess(self.label, self._command, Path(folder) / "log")
            stack.callback(self._process.stop)
            self._process.wait_ready(self._ready, _START_SECONDS)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process = None
        self._stack.close()

    def cpu_ms(self) -> float:
        """CPU time used so far."""
        return cpu_ms(self.pid)

    def peak_memory_mb(self) -> float:
        """The highest resident memory so far."""
        return peak_memory_mb(self.pid)

    def _ready(self) -> bool:
        request = f"GET {self._health} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        try:
            with socket.create_connection(("127.0.0.1", self.port), 5) as connection:
                connection.sendall(request.encode())
                return b" 200 " in connection.recv(4096).partition(b"\r\n")[0]
        except OSError:
            return False
