"""Sees pods being bound, through one watch; called by `measuring` and `limits`.

The watch selects the pods of one namespace that have a node. The API server reports a pod as
added when it begins to match, so each pod that is bound is exactly one such event. An API server
that has much to do ends a watch that does not keep up; it is then taken up where it ended.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

import msgspec

from benchmarks.command import BenchError
from benchmarks.scheduler.clients import Clients, Connection, check

_SELECTOR = "fieldSelector=spec.nodeName%21%3D"


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    resource_version: str = ""


class _Object(msgspec.Struct):
    metadata: _Metadata


class _Event(msgspec.Struct):
    type: str
    object: _Object


_EVENT = msgspec.json.Decoder(_Event)


class PodNotBoundError(BenchError):
    """A pod was waited for that was not bound in time."""


class BindWatch(Connection):
    """A connection on which binds are seen.

    Attributes:
        bound: the clock's reading when each pod was seen bound, by name.
    """

    def __init__(self) -> None:
        super().__init__()
        self.bound: dict[str, float] = {}
        self._path = ""
        self._version = ""
        self._rest = b""
        self._wanted = 0
        self._news = asyncio.Event()
        self._awaited: dict[str, asyncio.Future[None]] = {}
        self._broken = False

    async def begin(self, namespace: str) -> None:
        """Watch a namespace from now on."""
        path = f"/api/v1/namespaces/{namespace}/pods"
        reply = await self.send(_get(f"{path}?limit=1"))
        check(reply, path)
        self._version = msgspec.json.decode(reply.body, type=_Object).metadata.resource_version
        self._path = f"{path}?watch=1&{_SELECTOR}"
        self._ask()

    async def wait(self, count: int, *, patience: float, seconds: float) -> bool:
        """Wait until so many pods are bound; whether they are.

        Args:
            count: how many.
            patience: give up when none was bound for this many seconds.
            seconds: give up after this many seconds.
        """
        self._wanted = count
        deadline = time.perf_counter() + seconds
        while len(self.bound) < count:
            seen = len(self.bound)
            self._news.clear()
            left = min(patience, deadline - time.perf_counter())
            if left <= 0:
                return False
            try:
                async with asyncio.timeout(left):
                    await self._news.wait()
            except TimeoutError:
                if len(self.bound) == seen:
                    return False
            if self._broken:
                raise BenchError("the API server ended a watch.")
        return True

    async def wait_for(self, pod: str, seconds: float) -> None:
        """Wait until one pod is bound.

        Raises:
            PodNotBoundError: that took too long.
        """
        if pod in self.bound:
            return
        seen = self._awaited[pod] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(seconds):
                await seen
        except TimeoutError:
            raise PodNotBoundError(f"pod {pod} was not bound within {seconds:g} s.") from None

    def on_body(self, body: bytes) -> None:
        """Called by the parser with any part of the answer."""
        if not self._path:
            super().on_body(body)
            return
        if self._parser.get_status_code() != HTTPStatus.OK:
            return
        now = time.perf_counter()
        *lines, self._rest = (self._rest + body).split(b"\n")
        for line in lines:
            event = _EVENT.decode(line)
            if event.type == "ERROR":
                self._break()
                return
            self._version = event.object.metadata.resource_version
            if event.type == "ADDED":
                self._seen_bound(event.object.metadata.name, now)
        if len(self.bound) >= self._wanted:
            self._news.set()

    def _seen_bound(self, pod: str, now: float) -> None:
        self.bound.setdefault(pod, now)
        awaited = self._awaited.pop(pod, None)
        if awaited is not None and not awaited.done():
            awaited.set_result(None)

    def on_message_complete(self) -> None:
        """Called by the parser at the end of an answer."""
        if not self._path:
            super().on_message_complete()
        elif self._parser.get_status_code() == HTTPStatus.OK and not self._broken:
            self._ask()
        else:
            self._break()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio."""
        self._break()
        super().connection_lost(exc)

    def _ask(self) -> None:
        self._rest = b""
        self.write(_get(f"{self._path}&resourceVersion={self._version}"))

    def _break(self) -> None:
        self._broken = True
        self._news.set()


@asynccontextmanager
async def watching(clients: Clients, namespace: str) -> AsyncIterator[BindWatch]:
    """A watch for the pods of a namespace that are bound from now on."""
    watch = await BindWatch.open(clients.port, clients.context)
    try:
        await watch.begin(namespace)
        yield watch
    finally:
        watch.close()


def _get(path: str) -> bytes:
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n\r\n"
    return head.encode()
