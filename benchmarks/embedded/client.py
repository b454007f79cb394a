"""Clients that cost as little as possible: kept connections, requests made beforehand.

`measuring` uses it for both servers. What is measured is the server, so nothing is parsed here but
the status and the length of an answer.
"""

import asyncio
import json
import ssl
import time
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.command import BenchError

_OK = (b" 200 ", b" 201 ")


class Target:
    """Where a server is.

    Args:
        port: on this machine.
        context: for TLS; None for plain HTTP.
    """

    def __init__(self, port: int, context: ssl.SSLContext | None = None) -> None:
        self.port = port
        self.context = context

    async def connect(self) -> "Connection":
        """A new connection."""
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=self.context, limit=2**26
        )
        return Connection(reader, writer)


class Connection:
    """One kept connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, request: bytes) -> bytes:
        """Send a request and return the content of the answer."""
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        lower = head.lower()
        if b"transfer-encoding: chunked" in lower:
            content = await self._chunks()
        else:
            size = int(lower.split(b"content-length: ", 1)[1].split(b"\r\n", 1)[0])
            content = await self._reader.readexactly(size)
        if not any(ok in head[:20] for ok in _OK):
            raise BenchError(f"A request failed: {(head[:40] + content[:300])!r}")
        return content

    async def _chunks(self) -> bytes:
        pieces = []
        while True:
            size = int((await self._reader.readline()).strip(), 16)
            pieces.append(await self._reader.readexactly(size))
            await self._reader.readline()
            if size == 0:
                return b"".join(pieces)

    async def begin(self, request: bytes) -> None:
        """Send a request whose answer does not end, and read its head."""
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        if not any(ok in head[:20] for ok in _OK):
            raise BenchError(f"A watch failed: {head[:200]!r}")

    async def count(self, wanted: int, mark: bytes) -> None:
        """Read on until a mark was seen so often."""
        seen, rest = 0, b""
        while seen < wanted:
            piece = await self._reader.read(2**18)
            if not piece:
                raise BenchError("A watch ended before it was told everything.")
            data = rest + piece
            seen += data.count(mark)
            keep = len(mark) - 1
            rest = data[-keep:] if keep else b""

    async def read_until(self, mark: bytes) -> bool:
        """Read on until a mark was seen; false if the answer ends before."""
        rest = b""
        while piece := await self._reader.read(2**18):
            data = rest + piece
            if mark in data:
                return True
            rest = data[-len(mark) :]
        return False

    def pause(self) -> None:
        """Read nothing any more, also not in the background."""
        self._reader._transport.pause_reading()  # type: ignore[attr-defined] # noqa: SLF001

    def go_on(self) -> None:
        """Read again."""
        self._reader._transport.resume_reading()  # type: ignore[attr-defined] # noqa: SLF001

    def close(self) -> None:
        """Hang up."""
        self._writer.transport.abort()


def request(method: str, path: str, obj: Any = None, kind: str = "application/json") -> bytes:
    """A request as bytes."""
    body = json.dumps(obj).encode() if obj is not None else b""
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n"
    if body:
        head += f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


async def send_all(target: Target, requests: Iterable[bytes], clients: int) -> float:
    """Send requests through so many connections at a time; the seconds it took."""
    connections = [await target.connect() for _ in range(clients)]
    left = iter(requests)

    async def work(connection: Connection) -> None:
        for one in left:
            await connection.send(one)

    begin = time.perf_counter()
    try:
        await asyncio.gather(*map(work, connections))
        return time.perf_counter() - begin
    finally:
        for connection in connections:
            connection.close()


def node_requests(count: int) -> Sequence[bytes]:
    """Requests that create nodes."""
    resources = {"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "100Gi"}

    def node(number: int) -> dict[str, Any]:
        name = f"node-{number}"
        labels = {
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            "topology.kubernetes.io/zone": f"zone-{number % 3}",
            "node.kubernetes.io/instance-type": "large",
        }
        conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
        status = {"capacity": resources, "allocatable": resources, "conditions": conditions}
        metadata = {"name": name, "labels": labels}
        return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}

    return [request("POST", "/api/v1/nodes", node(number)) for number in range(count)]


def pod_name(number: int) -> str:
    """The name of a pod."""
    return f"web-{number}"


def pod_requests(count: int) -> Sequence[bytes]:
    """Requests that create pods, as a Deployment's pods are."""

    def pod(number: int) -> dict[str, Any]:
        amounts = {"cpu": "100m", "memory": "128Mi"}
        container = {
            "name": "web",
            "image": "registry.example/shop/web:1.27.3",
            "ports": [{"containerPort": 8080}],
            "env": [{"name": "TIER", "value": "front"}],
            "resources": {"requests": amounts, "limits": {"memory": "256Mi"}},
        }
        labels = {"app": "web", "tier": "front", "pod-template-hash": f"{number % 50:010}"}
        metadata = {"name": pod_name(number), "namespace": "default", "labels": labels}
        spec = {"containers": [container]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    path = "/api/v1/namespaces/default/pods"
    return [request("POST", path, pod(number)) for number in range(count)]


def touch_requests(count: int, pods: int, value: str) -> Sequence[bytes]:
    """Requests that change a label of one pod after the other."""
    path = "/api/v1/namespaces/default/pods"
    return [
        request(
            "PATCH",
            f"{path}/{pod_name(number % pods)}",
            {"metadata": {"labels": {"touched": f"{value}-{number // pods}"}}},
            "application/merge-patch+json",
        )
        for number in range(count)
    ]
