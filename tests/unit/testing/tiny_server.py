"""A server for tests of the proxy: it notes what it is asked, and says what it is told to say."""

import contextlib
import queue
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from mooring.testing.child_process import Startable
from tests.unit.testing.http_texts import chunk


class Seen(NamedTuple):
    """A request that arrived."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    user: str


class TinyServer(Startable):
    """Answers every request with its number, and watches with what `say` is given.

    Attributes:
        seen: what arrived, in order.
        answers: the body for a path; the request's number for others.
    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.seen: list[Seen] = []
        self.answers: dict[str, bytes] = {}
        self._events: queue.Queue[bytes] = queue.Queue()
        self._news = threading.Condition()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        if context is not None:
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._scheme = "http" if context is None else "https"

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._http.server_address[1]}"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def say(self, *frames: bytes) -> None:
        """Have whoever watches be told these."""
        for frame in frames:
            self._events.put(frame)

    def hang_up(self) -> None:
        """End the watch."""
        self._events.put(b"")

    def wait_seen(self, count: int) -> list[Seen]:
        """What arrived, once it is so many."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.seen) >= count, 30)
        return self.seen

    def kubeconfig(self, folder: Path, name: str = "client", user: str = "{}") -> Path:
        """A kubeconfig for it; `user` is YAML."""
        file = folder / f"{name}.yaml"
        insecure = ", insecure-skip-tls-verify: true" if self._scheme == "https" else ""
        file.write_text(
            f"""
apiVersion: v1
kind: Config
current-context: here
clusters: [{{name: tiny, cluster: {{server: "{self.url}"{insecure}}}}}]
contexts: [{{name: here, context: {{cluster: tiny, user: me, namespace: mine}}}}]
users: [{{name: me, user: {user}}}]
"""
        )
        return file

    def _note(self, seen: Seen) -> int:
        with self._news:
            self.seen.append(seen)
            self._news.notify_all()
            return len(self.seen)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                seen = Seen(self.command, self.path, dict(self.headers), body, _user(self))
                number = server._note(seen)
                if "watch=true" in self.path:
                    self._watch()
                    return
                path = self.path.partition("?")[0]
                answer = server.answers.get(path, str(number).encode())
                self.send_response(201 if self.command == "POST" else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("X-Of-The-Server", "yes")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(answer)

            def _watch(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                while frame := server._events.get():
                    self.wfile.write(chunk(frame))
                self.wfile.write(chunk(b""))

            def log_message(self, *_: Any) -> None:
                pass

            def handle(self) -> None:
                with contextlib.suppress(OSError):
                    super().handle()

        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"):
            setattr(Handler, f"do_{method}", Handler._serve)
        return Handler


def _user(handler: BaseHTTPRequestHandler) -> str:
    """Who the client's certificate is for."""
    if not isinstance(handler.connection, ssl.SSLSocket):
        return ""
    found: Any = handler.connection.getpeercert() or {}
    names = dict(pair[0] for pair in found.get("subject", ()))
    return str(names.get("commonName", ""))
