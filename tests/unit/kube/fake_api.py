"""A small API server on a loopback port, with every bad habit a real one can have."""

import asyncio
import json
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from mooring.kube.cluster_config import ClusterConfig

PATH = "/api/v1/things"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, list[str]]
    body: bytes


@dataclass
class FakeApi:
    """One collection of objects with lists, pages and watches.

    Attributes:
        tokens: what is let in; None for everybody.
        script: handlers for the next requests, before anything else.
        expired_by_event: tell an expired watch with an ERROR event, not with HTTP 410.
        split: send every event in two pieces.
        counts: say with a page how many objects follow, as for lists without a selector.
        suffix: send these bytes right behind the next event.
        told: the lines of all events so far.
        bell: rung at every request.
    """

    objects: dict[str, dict[str, object]] = field(default_factory=dict)
    version: int = 1
    compacted: int = 0
    tokens: set[str] | None = None
    script: deque[Handler] = field(default_factory=deque)
    seen: list[Seen] = field(default_factory=list)
    expired_by_event: bool = False
    split: bool = False
    counts: bool = False
    suffix: bytes = b""
    uids: dict[str, str] = field(default_factory=dict)
    told: list[bytes] = field(default_factory=list)
    bell: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""
    _history: list[tuple[int, bytes]] = field(default_factory=list)
    _snapshots: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    _watchers: dict[asyncio.Queue[bytes | None], int] = field(default_factory=dict)
    _transports: set[asyncio.WriteTransport] = field(default_factory=set)

    @property
    def config(self) -> ClusterConfig:
        return ClusterConfig(server=self.url, source="the test")

    @property
    def watchers(self) -> int:
        return len(self._watchers)

    def put(self, name: str, **fields: object) -> None:
        """Add or replace an object; with `uid` it is another one of the same name."""
        self.version += 1
        kind = "MODIFIED" if name in self.objects else "ADDED"
        metadata = {
            "name": name,
            "namespace": "ns",
            "uid": fields.pop("uid", "u"),
            "resourceVersion": str(self.version),
        }
        self.objects[name] = {"metadata": metadata, **fields}
        self._tell(kind, self.objects[name])

    def delete(self, name: str) -> None:
        self.version += 1
        gone = self.objects.pop(name)
        last = json.loads(json.dumps(gone))
        last["metadata"]["resourceVersion"] = str(self.version)
        self._tell("DELETED", last)

    def compact(self) -> None:
        """Forget history and unfinished lists; running watches go on."""
        self.compacted = self.version
        self._history.clear()
        self._snapshots.clear()

    def bookmark(self) -> None:
        self.version += 1
        self.send(_event("BOOKMARK", {"metadata": {"resourceVersion": str(self.version)}}))

    def replay(self, first: int, last: int) -> None:
        """Send some of the events once more, as something in between may do."""
        for line in self.told[first:last]:
            self.send(line)

    def backup(self) -> bytes:
        """Everything, as a backup of etcd has it."""
        return json.dumps([self.version, self.objects]).encode()

    def restore(self, backup: bytes, *, bump: int = 0) -> None:
        """Go back to a backup; `bump` is that of ``etcdutl snapshot restore --bump-revision``."""
        self.version, self.objects = json.loads(backup)
        self.version += bump
        self.compact()
        self.end_watches()

    def send(self, data: bytes) -> None:
        """Send these very bytes on all open watches."""
        for watcher in self._watchers:
            watcher.put_nowait(data)

    def end_watches(self) -> None:
        for watcher in self._watchers:
            watcher.put_nowait(None)

    def mute(self) -> None:
        """Leave all open watches open, and never say anything on them again."""
        for watcher in list(self._watchers):
            self._watchers[watcher] = 2**63

    def cut(self) -> None:
        """Break all open watches without a good-bye."""
        for transport in self._transports:
            transport.abort()

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        """Answer the next request with this."""

        async def reply(request: web.Request) -> web.StreamResponse:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            return web.Response(status=status, body=body, headers=named)

        self.script.append(reply)

    def hang(self, *, after: int = 0) -> asyncio.Event:
        """Answer the next request, after so many as usual, only when the event is set."""
        released = asyncio.Event()

        async def usual(request: web.Request) -> web.StreamResponse:
            return self._list(request)

        self.script += [usual] * after

        async def reply(request: web.Request) -> web.StreamResponse:
            await released.wait()
            return web.Response(status=504)

        self.script.append(reply)
        return released

    def deny(self, status: int, message: str, reason: str) -> None:
        """Answer the next request with a Kubernetes Status."""
        self.answer(status, status_body(status, message, reason))

    def _tell(self, kind: str, thing: dict[str, object]) -> None:
        line = _event(kind, thing)
        self._history.append((self.version, line))
        self.told.append(line)
        for watcher, start in self._watchers.items():
            # a watch from the future hears nothing until it is there, as on a real API server
            if start < self.version:
                watcher.put_nowait(line + self.suffix)
        self.suffix = b""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        names = dict.fromkeys(request.headers)
        headers = {name.lower(): request.headers.getall(name) for name in names}
        self.seen.append(
            Seen(
                request.method,
                request.raw_path.partition("?")[0],
                dict(request.query),
                headers,
                await request.read(),
            )
        )
        self.bell.set()
        if self.tokens is not None:
            token = request.headers.get("Authorization", "").removeprefix("Bearer ")
            if token not in self.tokens:
                return web.Response(status=401, body=status_body(401, "Unauthorized", ""))
        if self.script:
            return await self.script.popleft()(request)
        if request.query.get("watch"):
            return await self._watch(request)
        return self._list(request)

    def _list(self, request: web.Request) -> web.Response:
        token = request.query.get("continue", "")
        if token:
            version, offset_text = token.split(".")
            if version not in self._snapshots:
                return web.Response(status=410, body=status_body(410, "too old", "Expired"))
            offset = int(offset_text)
        else:
            version, offset = str(self.version), 0
            self._snapshots[version] = list(self.objects.values())
        everything = self._snapshots[version]
        limit = int(request.query.get("limit", "0")) or len(everything)
        metadata: dict[str, object] = {"resourceVersion": version}
        if offset + limit < len(everything):
            metadata["continue"] = f"{version}.{offset + limit}"
            if self.counts:
                metadata["remainingItemCount"] = len(everything) - offset - limit
        page = {"metadata": metadata, "items": everything[offset : offset + limit] or None}
        return web.json_response(page)

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        start = int(request.query["resourceVersion"])
        expired = status_body(410, f"too old resource version: {start}", "Expired")
        if start < self.compacted and not self.expired_by_event:
            return web.Response(status=410, body=expired)
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        if start < self.compacted:
            queue.put_nowait(_event("ERROR", json.loads(expired)))
            queue.put_nowait(None)
        for version, line in self._history:
            if version > start:
                queue.put_nowait(line)
        self._watchers[queue] = start
        transport = request.transport
        assert transport is not None
        self._transports.add(transport)
        self.bell.set()
        response = web.StreamResponse()
        try:
            await response.prepare(request)
            while (data := await queue.get()) is not None:
                if self.split:
                    await response.write(data[:20])
                    await asyncio.sleep(0)
                    data = data[20:]
                await response.write(data)
        except ConnectionError:
            pass
        finally:
            del self._watchers[queue]
            self._transports.discard(transport)
        return response


def _event(kind: str, thing: object) -> bytes:
    return json.dumps({"type": kind, "object": thing}).encode() + b"\n"


def status_body(code: int, message: str, reason: str) -> bytes:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    return json.dumps(status).encode()


@asynccontextmanager
async def fake_api(
    tls: ssl.SSLContext | None = None, *, counts: bool = False
) -> AsyncIterator[FakeApi]:
    """Run a fake API server for the length of a block."""
    api = FakeApi(counts=counts)
    app = web.Application(client_max_size=2**30)
    app.router.add_route("*", "/{path:.*}", api.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    port = runner.addresses[0][1]
    api.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    try:
        yield api
    finally:
        api.end_watches()
        await runner.cleanup()
