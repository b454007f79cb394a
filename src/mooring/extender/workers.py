"""Several server processes on the same sockets.

The parent opens the sockets and starts the same command once for each worker; a worker that dies is
started again, and so is one that ends itself because a function of the policy is stuck. SIGTERM and
SIGINT are passed on, and the parent ends when the last worker has ended; one that does not end in
time is killed.
"""

import contextlib
import ctypes
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

log = logging.getLogger("mooring.extender")

#: Tells a worker which file descriptors are the listening sockets.
SOCKET_VARIABLE = "MOORING_WORKER_SOCKET"
#: A worker that ends sooner than this after its start has not served; wait before the next try.
_MIN_SECONDS = 2.0
_USAGE_ERROR = 2
_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl


def inherited_sockets() -> list[socket.socket]:
    """The listening sockets, in a worker process; none in a process started by hand."""
    numbers = os.environ.pop(SOCKET_VARIABLE, "").split(",")
    if not all(number.isdigit() for number in numbers):
        return []
    _end_with_parent()
    return [socket.socket(fileno=int(number)) for number in numbers]


def _end_with_parent() -> None:
    """Have the kernel send SIGTERM should the parent be killed; Linux only."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)


def supervise(
    command: Sequence[str],
    socks: Sequence[socket.socket],
    count: int,
    *,
    stop_seconds: float = 10.0,
) -> int:
    """Run workers until a signal says stop.

    Args:
        command: the command line of one worker.
        socks: the listening sockets they share.
        count: how many workers.
        stop_seconds: how long they may take to end; a worker ends itself sooner, if it can.

    Returns:
        The exit code: 0, or that of a worker that could not start at all.
    """
    with tempfile.TemporaryDirectory(prefix="mooring-metrics-") as metrics:
        return _Supervisor(command, socks, Path(metrics), stop_seconds).run(count)


class _Supervisor:
    def __init__(
        self,
        command: Sequence[str],
        socks: Sequence[socket.socket],
        metrics: Path,
        stop_seconds: float,
    ) -> None:
        self._command = command
        self._descriptors = [sock.fileno() for sock in socks]
        self._metrics = metrics
        self._stop_seconds = stop_seconds
        self._workers: dict[int, tuple[subprocess.Popen[bytes], float]] = {}
        self._stopping = False

    def run(self, count: int) -> int:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._pass_on)
        signal.signal(signal.SIGALRM, self._kill)
        for _ in range(count):
            self._start()
        code = 0
        while self._workers:
            pid, status = os.waitpid(-1, 0)
            if pid in self._workers:
                process, started = self._workers.pop(pid)
                process.returncode = os.waitstatus_to_exitcode(status)
                code = self._ended(process, time.monotonic() - started) or code
        signal.setitimer(signal.ITIMER_REAL, 0)
        return code

    def _start(self) -> None:
        process = subprocess.Popen(
            self._command,
            pass_fds=self._descriptors,
            env={
                **os.environ,
                SOCKET_VARIABLE: ",".join(map(str, self._descriptors)),
                "PROMETHEUS_MULTIPROC_DIR": str(self._metrics),
            },
        )
        self._workers[process.pid] = (process, time.monotonic())
        log.info("started worker %d", process.pid)
        if self._stopping:
            process.send_signal(signal.SIGTERM)

    def _ended(self, process: subprocess.Popen[bytes], seconds: float) -> int:
        """A worker ended: start another, unless we are stopping or it cannot start at all."""
        for path in self._metrics.glob(f"gauge_live*_{process.pid}.db"):
            path.unlink(missing_ok=True)
        if self._stopping:
            return 0
        if process.returncode == _USAGE_ERROR:
            self._stop(signal.SIGTERM)
            return _USAGE_ERROR
        log.error(
            ("worker %d exited with code %d; starting another"), process.pid, process.returncode
        )
        if seconds < _MIN_SECONDS:
            time.sleep(_MIN_SECONDS - seconds)
        if not self._stopping:
            self._start()
        return 0

    def _pass_on(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self._stop(number)

    def _kill(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        for process, _ in list(self._workers.values()):
            log.error("worker %d did not stop; killing it", process.pid)
            process.kill()

    def _stop(self, number: int) -> None:
        self._stopping = True
        signal.setitimer(signal.ITIMER_REAL, self._stop_seconds)
        for process, _ in list(self._workers.values()):
            process.send_signal(number)


def worker_command(arguments: Sequence[str]) -> list[str]:
    """The command line that starts a worker with the same arguments."""
    return [sys.executable, "-m", "mooring.cli", *arguments]
