"""Starts `worker` on a source tree, and talks to it; called by `turns`."""

import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from benchmarks.check.cases import Case
from benchmarks.check.worker import Answer, Ask
from benchmarks.command import BenchError

ROOT = Path(__file__).resolve().parents[2]
_END_SECONDS = 10.0


def environment_for(path: list[Path]) -> dict[str, str]:
    """The environment of a process that takes its modules from here first, and never guesses."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return {
        **os.environ,
        **threads,
        "PYTHONPATH": os.pathsep.join(map(str, [*path, ROOT])),
        "PYTHONHASHSEED": "0",
    }


class Worker:
    """A process with one source tree; a context manager that ends it.

    Args:
        label: its name in messages.
        path: where its modules come from, first.
    """

    def __init__(self, label: str, path: list[Path]) -> None:
        self._label = label
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.check.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment_for(path),
            cwd=ROOT,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def begin(self, case: Case) -> None:
        """Ask for the cluster of a case; `wait` says when it is there."""
        self._send(Ask(case=str(case)))

    def wait(self) -> Answer:
        """The answer to what was asked last."""
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        line = self._process.stdout.readline()
        if not line:
            raise BenchError(f"the process that measures {self._label} has ended.")
        return msgspec.json.decode(line, type=Answer)

    def measure(self, milliseconds: float) -> float:
        """Microseconds of a decision, measured for so much CPU time."""
        self._send(Ask(milliseconds=milliseconds))
        return self.wait().microseconds

    def _send(self, ask: Ask) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        try:
            self._process.stdin.write(msgspec.json.encode(ask) + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise BenchError(f"the process that measures {self._label} has ended.") from None
