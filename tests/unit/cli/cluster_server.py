"""A small API server in a thread, for commands that run an event loop of their own."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

from mooring.kube.resources import collection_path
from mooring.model.kinds import BY_NAME, KINDS
from mooring.model.meta import KubeObject

_BINDING = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)/binding")
_OBJECT = re.compile(r"/api/v1/(?:namespaces/([^/]+)/)?(nodes|pods)/([^/]+)")


class ClusterServer:
    """Objects, and what was asked for.

    Attributes:
        lists: the objects of each collection, by its path.
        rejected: by path, the status and the message to answer with.
        asked: method and path of each request, with its query.
        bindings: the bindings as they came.
        expire_after: forget the moment of a list after so many pages of it.
    """

    def __init__(self) -> None:
        self.lists: dict[str, list[dict[str, Any]]] = {collection_path(one): [] for one in KINDS}
        self.rejected: dict[str, tuple[int, str]] = {}
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        self.bindings: list[dict[str, Any]] = []
        self.token = ""
        self.expire_after = 10**9
        self.url = ""

    def put(self, *things: KubeObject | dict[str, Any]) -> None:
        """Add objects; those given as dicts have a kind."""
        for thing in things:
            if isinstance(thing, KubeObject):
                name, data = thing.kind_name, thing.raw
            else:
                name = thing["kind"]
                data = {key: thing[key] for key in thing.keys() - {"kind", "apiVersion"}}
            self.lists[collection_path(BY_NAME[name])].append(data)

    def forbid(self, path: str, verb: str, resource: str, group: str = "") -> None:
        """Answer as RBAC does."""
        message = (
            f'{resource} is forbidden: User "joe" cannot {verb} resource "{resource}" in API group '
            f'"{group}" at the cluster scope'
        )
        self.rejected[path] = (403, message)

    def kubeconfig(self, folder: Path, namespace: str = "", token: str = "") -> Path:
        """A kubeconfig for this server."""
        context = {"cluster": "c", "user": "u", **({"namespace": namespace} if namespace else {})}
        file = folder / "kubeconfig"
        file.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "c", "cluster": {"server": self.url}}],
                    "users": [{"name": "u", "user": {"token": token} if token else {}}],
                    "contexts": [{"name": "x", "context": context}],
                    "current-context": "x",
                }
            )
        )
        return file

    def answer(self, method: str, target: str, body: bytes, token: str) -> tuple[int, Any]:
        parts = urlsplit(target)
        path, query = parts.path, dict(parse_qsl(parts.query))
        self.asked.append((method, path, query))
        if token != self.token:
            return _status(401, "Unauthorized")
        if path in self.rejected:
            return _status(*self.rejected[path])
        binding = _BINDING.fullmatch(path)
        if binding is not None and method == "POST":
            self.bindings.append(json.loads(body))
            return 201, {"kind": "Status", "status": "Success"}
        one = _OBJECT.fullmatch(path)
        if one is not None:
            return self._one(one[1] or "", one[2], one[3])
        if path in self.lists:
            return self._page(path, query)
        return _status(404, "the server could not find the requested resource")

    def _one(self, namespace: str, resource: str, name: str) -> tuple[int, Any]:
        for thing in self.lists[f"/api/v1/{resource}"]:
            meta = thing["metadata"]
            if meta["name"] == name and meta.get("namespace", "") == namespace:
                kind = {"nodes": "Node", "pods": "Pod"}[resource]
                return 200, {"kind": kind, "apiVersion": "v1", **thing}
        return _status(404, f'{resource} "{name}" not found')

    def _page(self, path: str, query: dict[str, str]) -> tuple[int, Any]:
        start = int(query.get("continue", "0"))
        everything = self.lists[path]
        limit = int(query.get("limit", "0")) or len(everything)
        if start >= self.expire_after * limit:
            return _status(410, "The provided continue parameter is too old")
        metadata = {"resourceVersion": "7"}
        if start + limit < len(everything):
            metadata["continue"] = str(start + limit)
        return 200, {"metadata": metadata, "items": everything[start : start + limit] or None}


def _status(code: int, message: str) -> tuple[int, Any]:
    return code, {"kind": "Status", "status": "Failure", "message": message, "code": code}


@contextmanager
def cluster_server() -> Iterator[ClusterServer]:
    """Run an API server for the length of a block."""
    cluster = ClusterServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _reply(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            code, answer = cluster.answer(self.command, self.path, body, token)
            data = json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _reply  # noqa: N815 - the server's

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    cluster.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield cluster
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
