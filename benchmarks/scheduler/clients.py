"""The load: many kept connections to the API server, each with one request at a time.

Called by `cluster`, `measuring` and `limits`. It is made to cost little, because it shares the
machine with what is measured: requests are made beforehand, and of an answer only the status is
looked at.
"""

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, NamedTuple, Self, cast

import httptools
import msgspec

from benchmarks.command import BenchError
from benchmarks.credentials import tls_context
from mooring.testing.real_kubernetes import ControlPlane

#: As many as scheduler_perf creates pods with.
CLIENTS = 30


class Request(NamedTuple):
    """A POST that is ready to be sent, and the name of what it is about."""

    name: str
    content: bytes


class Reply(NamedTuple):
    """What the API server answered."""

    status: int
    body: bytes


def post(path: str, manifest: Mapping[str, Any]) -> Request:
    """The request that creates an object."""
    body = msgspec.json.encode(manifest)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        # The answer is a short one.
        "Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return Request(manifest["metadata"]["name"], head.encode() + body)


def patch(path: str, name: str, change: Mapping[str, Any]) -> Request:
    """The request that changes an object by a merge patch."""
    body = msgspec.json.encode(change)
    head = (
        f"PATCH {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        "Content-Type: application/merge-patch+json\r\n"
        "Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return Request(name, head.encode() + body)


def delete(path: str, name: str) -> Request:
    """The request that deletes an object."""
    head = f"DELETE {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n\r\n"
    return Request(name, head.encode())


def create_event(namespace: str, pod: str, node: str) -> Request:
    """The request that records that a pod was placed, as a scheduler sends it."""
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{pod}.1", "namespace": namespace},
        "action": "Binding",
        "eventTime": "2026-03-01T08:00:00.000000Z",
        "note": f"Successfully assigned {namespace}/{pod} to {node}",
        "reason": "Scheduled",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "name": pod, "namespace": namespace},
        "reportingController": "default-scheduler",
        "reportingInstance": "default-scheduler-bench",
        "type": "Normal",
    }
    return post(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events", event)


def create_pod(manifest: Mapping[str, Any]) -> Request:
    """The request that creates a pod."""
    return post(f"/api/v1/namespaces/{manifest['metadata']['namespace']}/pods", manifest)


def bind_pod(namespace: str, pod: str, node: str) -> Request:
    """The request that binds a pod, as a scheduler sends it."""
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod, "namespace": namespace},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    return post(f"/api/v1/namespaces/{namespace}/pods/{pod}/binding", binding)


#: What is sent after the answers to earlier requests of its chain, and depends on them.
Follow = Callable[[Sequence[Reply]], Request]
#: Requests that are sent one after the other.
Chain = Sequence[Request | Follow]


class Connection(asyncio.Protocol):
    """One connection to the API server."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Reply] | None = None
        self._parts: list[bytes] = []

    @classmethod
    async def open(cls, port: int, context: ssl.SSLContext) -> Self:
        """Connect to a port of this machine."""
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(cls, "127.0.0.1", port, ssl=context)
        return connection

    async def send(self, content: bytes) -> Reply:
        """Send a request and wait for the whole answer."""
        self._answer = asyncio.get_running_loop().create_future()
        self.write(content)
        return await self._answer

    def write(self, content: bytes) -> None:
        """Send a request and do not wait."""
        if self._transport is None:
            raise BenchError("the API server closed a connection.")
        self._transport.write(content)

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Called by asyncio."""
        self._parser.feed_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio."""
        del exc  # the answer that does not come says enough
        self._transport = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(BenchError("the API server closed a connection."))

    def on_body(self, body: bytes) -> None:
        """Called by the parser."""
        self._parts.append(body)

    def on_message_complete(self) -> None:
        """Called by the parser."""
        reply = Reply(self._parser.get_status_code(), b"".join(self._parts))
        self._parts.clear()
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(reply)


class Clients:
    """Connections of the administrator to a running control plane; an async context manager."""

    def __init__(self, plane: ControlPlane, count: int = CLIENTS) -> None:
        self.port = plane.port
        self.context = tls_context(plane.kubeconfig)
        self._count = count
        self._connections: list[Connection] = []
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            for _ in range(self._count):
                connection = await Connection.open(self.port, self.context)
                stack.callback(connection.close)
                self._connections.append(connection)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    async def send_all(
        self, requests: Iterable[Request], sent: dict[str, float] | None = None
    ) -> None:
        """Send requests as fast as they are answered; nobody else may send meanwhile.

        Args:
            requests: begun in this order.
            sent: gets the clock's reading when each was sent, by its name.
        """
        await self.send_chains(((request,) for request in requests), sent)

    async def send_chains(
        self, chains: Iterable[Chain], sent: dict[str, float] | None = None
    ) -> None:
        """Send chains of requests, within each one after the other, as `send_all` does."""
        await self._work(chains, sent, 0.0)

    async def send_at_rate(
        self, chains: Iterable[Chain], rate: float, sent: dict[str, float]
    ) -> None:
        """Begin so many chains of requests a second, whether or not earlier ones are answered.

        Args:
            chains: in this order, at equal distances.
            rate: how many a second.
            sent: gets the clock's reading when each was due, by its name.
        """
        await self._work(chains, sent, 1 / rate)

    async def take_turns(
        self, turns: Iterable[tuple[Chain, Chain]], between: Callable[[int], Awaitable[object]]
    ) -> None:
        """Send the first chain of a turn, wait, send the second, and begin the next turn.

        Every connection does so for itself.

        Args:
            turns: the chains.
            between: what is waited for, given the number of the turn.
        """
        waiting = enumerate(turns)

        async def work(connection: Connection) -> None:
            for number, (first, second) in waiting:
                await _send_chain(connection, first, None)
                await between(number)
                await _send_chain(connection, second, None)

        await self._all(work)

    async def _work(
        self,
        chains: Iterable[Chain],
        sent: dict[str, float] | None,
        distance: float,
    ) -> None:
        waiting = enumerate(chains)
        begin = time.perf_counter()

        async def work(connection: Connection) -> None:
            for number, chain in waiting:
                due = begin + number * distance
                if distance:
                    await asyncio.sleep(max(0.0, due - time.perf_counter()))
                await _send_chain(connection, chain, sent, due if distance else None)

        await self._all(work)

    async def _all(self, work: Callable[[Connection], Coroutine[Any, Any, None]]) -> None:
        """Let every connection do its work."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for connection in self._connections:
                    tasks.create_task(work(connection))
        except ExceptionGroup as group:
            raise group.exceptions[0] from None


async def _send_chain(
    connection: Connection, chain: Chain, sent: dict[str, float] | None, due: float | None = None
) -> None:
    replies: list[Reply] = []
    for step in chain:
        request = step if isinstance(step, Request) else step(replies)
        if sent is not None:
            sent[request.name] = time.perf_counter() if due is None else due
        replies.append(await connection.send(request.content))
        check(replies[-1], request.name)


def check(reply: Reply, name: str) -> None:
    """Complain of an answer that is no success."""
    if not 200 <= reply.status < 300:
        words = reply.body[:300].decode(errors="replace")
        raise BenchError(f"the request for {name} was answered with {reply.status}: {words}")
