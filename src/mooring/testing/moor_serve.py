"""``moor serve`` as one object that starts, answers and stops; for end-to-end tests.

Starts the real command in a process of its own, as a user would.
"""

import http.client
import ssl
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from mooring.testing.child_process import ChildProcess, Program, free_port

_START_SECONDS = 60.0


class HttpReply(NamedTuple):
    """What the server answered."""

    status: int
    body: bytes

    def json(self) -> Any:
        """The body as parsed JSON."""
        return msgspec.json.decode(self.body)


class MoorServe(Program):
    """A running ``moor serve`` on a free port of 127.0.0.1; use it with ``with``.

    Args:
        policy: the policy, as ``moor serve`` takes it.
        args: further arguments, such as ``["--kubeconfig", path]``.
        tls: how to connect when ``args`` turn TLS on; None for plain HTTP.
        wait: wait until ``/readyz`` is green, not only until it answers.

    Attributes:
        port: where it listens.
        folder: holds its log; removed at the end.
    """

    def __init__(
        self,
        policy: str | Path,
        args: Sequence[str | Path] = (),
        *,
        tls: ssl.SSLContext | None = None,
        wait: bool = True,
    ) -> None:
        self._policy = policy
        self._args = args
        self._tls = tls
        self._wait = wait
        self.port = free_port()
        self._temporary = tempfile.TemporaryDirectory(prefix="mooring-serve-")
        self.folder = Path(self._temporary.name)

    @property
    def url(self) -> str:
        """What to put into ``urlPrefix``."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def log(self) -> str:
        """Everything it has logged so far."""
        return (self.folder / "serve.log").read_text(errors="replace")

    def request(self, method: str, path: str, body: object = None) -> HttpReply:
        """Send a request; the body is JSON, or bytes as they are.

        Raises:
            OSError: nobody answers.
        """
        content = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
        connection: http.client.HTTPConnection
        if self._tls is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        else:
            connection = http.client.HTTPSConnection(
                "127.0.0.1", self.port, timeout=30, context=self._tls
            )
        try:
            connection.request(method, path, content)
            response = connection.getresponse()
            return HttpReply(response.status, response.read())
        finally:
            connection.close()

    def get(self, path: str) -> HttpReply:
        """Read an endpoint."""
        return self.request("GET", path)

    def post(self, path: str, body: object) -> HttpReply:
        """Call a verb."""
        return self.request("POST", path, body)

    def start(self) -> None:
        """Start the server and wait until it is ready.

        Raises:
            ProcessError: it ended or was not ready in time; the text has its last words.
        """
        command = [sys.executable, "-m", "mooring.cli", "serve", str(self._policy)]
        command += ["--port", str(self.port), *map(str, self._args)]
        process = ChildProcess("moor serve", command, self.folder / "serve.log")
        self._launch(process, self._ready, _START_SECONDS)

    def stop(self) -> None:
        """End the server and remove its folder; harmless when repeated."""
        super().stop()
        self._temporary.cleanup()

    def _ready(self) -> bool:
        try:
            return self.get("/readyz").status == 200 or not self._wait
        except OSError:
            return False
