"""``moor`` as users start it: a process of its own, spoken to over sockets."""

import contextlib
import http.client
import os
import re
import signal
import ssl
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import mooring
from mooring.testing.real_kubernetes import wait_for

POLICY = """
import os
import time
from pathlib import Path

import mooring as mr

policy = mr.Policy("served", usage=False)
GATE = Path(__file__).with_name("gate")


@policy.filter
def check(pod, node):
    if pod.name == "slow":
        GATE.with_name("reached").touch()
        while not GATE.exists():
            time.sleep(0.01)
    if pod.name == "broken":
        raise ValueError("the disk is gone")
    return node.name != "b" or f"worker {os.getpid()}"


@policy.score
def rate(pod, node):
    return 50
"""
_PORT = re.compile(r"listening on \S+:(\d+), urlPrefix")
_WORKER = re.compile(r"started worker (\d+)")


class Reply(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return msgspec.json.decode(self.body)


def filter_body(pod: str = "web", *names: str) -> bytes:
    body = {"Pod": {"metadata": {"name": pod}}, "NodeNames": names or ("a", "b")}
    return msgspec.json.encode(body)


def environment(home: Path, **more: str) -> dict[str, str]:
    """This process's environment, without any cluster that may be configured here."""
    unwanted = ("KUBE", "LOG_LEVEL", "PROMETHEUS_", "MOORING_", "COV_")
    kept = {key: text for key, text in os.environ.items() if not key.startswith(unwanted)}
    source = str(Path(mooring.__file__).parents[1])
    return {**kept, "HOME": str(home), "PYTHONPATH": source, **more}


class Moor:
    """A ``moor serve`` with its output in a file.

    Args:
        folder: gets the log; is also the process's home and working directory.
        arguments: what follows ``moor serve``.
        env: further variables.
    """

    def __init__(self, folder: Path, *arguments: str | Path, **env: str) -> None:
        self._log = folder / f"moor-{len(list(folder.glob('moor-*.log')))}.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mooring.cli", "serve", *map(str, arguments)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=environment(folder, **env),
                start_new_session=True,
            )

    @property
    def port(self) -> int:
        """The port it listens on, as its log says."""
        return int(self.wait_log(_PORT)[1])

    @property
    def workers(self) -> list[int]:
        """The process ids of all workers so far."""
        return [int(pid) for pid in _WORKER.findall(self.log())]

    def log(self) -> str:
        return self._log.read_text()

    def wait_log(self, pattern: str | re.Pattern[str]) -> re.Match[str]:
        """Wait for a line of the log."""

        def look() -> re.Match[str] | None:
            found = re.search(pattern, self.log())
            if found is None and self.process.poll() is not None:
                raise AssertionError(f"moor ended with {self.process.returncode}:\n{self.log()}")
            return found

        return wait_for(look, f"{pattern} in {self._log}")

    def connect(self, tls: ssl.SSLContext | None = None) -> http.client.HTTPConnection:
        """A connection of its own; close it."""
        if tls is None:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=120, context=tls)

    def request(
        self, method: str, path: str, body: bytes | None = None, tls: ssl.SSLContext | None = None
    ) -> Reply:
        """One request on a connection of its own."""
        with contextlib.closing(self.connect(tls)) as connection:
            return exchange(connection, method, path, body)

    def get(self, path: str) -> Reply:
        return self.request("GET", path)

    def post(self, path: str, body: bytes) -> Reply:
        return self.request("POST", path, body)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        """The exit code."""
        return self.process.wait(60)

    def stop(self) -> None:
        """Leave nothing behind, whatever happened."""
        try:
            if self.process.poll() is None:
                self.process.terminate()
                self.process.wait(20)
        except subprocess.TimeoutExpired:
            pass
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def exchange(
    connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None = None
) -> Reply:
    """One request on an open connection."""
    connection.request(method, path, body)
    response = connection.getresponse()
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Reply(response.status, headers, response.read())
