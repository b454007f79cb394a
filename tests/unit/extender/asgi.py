"""Requests to the extender's ASGI application, without a server and without a socket."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from prometheus_client.parser import text_string_to_metric_families
from starlette.types import ASGIApp, Message

from mooring.extender.answers import Answers
from mooring.extender.app import ExtenderApp
from mooring.extender.service import ExtenderService, ServiceLimits
from mooring.framework.policy import Policy
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.state.cluster import Cluster


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Body:
    """A body that comes in pieces.

    Attributes:
        chunks: the pieces.
        ending: what happens behind them: the end, nothing more ("silence"), or "gone".
    """

    chunks: Sequence[bytes]
    ending: str = "end"


@dataclass
class _Exchange:
    messages: list[Message]
    ending: str
    started: Message = field(default_factory=dict)
    pieces: list[bytes] = field(default_factory=list)

    async def receive(self) -> Message:
        if self.messages:
            return self.messages.pop(0)
        if self.ending == "silence":
            await asyncio.get_running_loop().create_future()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            assert not self.started, "a second reply"
            self.started = message
        else:
            self.pieces.append(message.get("body", b""))


async def send(
    app: ASGIApp,
    method: str,
    path: str,
    body: bytes | Body = b"",
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Send one request to the application."""
    whole = body if isinstance(body, Body) else Body([body])
    exchange = _Exchange(
        [
            {
                "type": "http.request",
                "body": chunk,
                "more_body": whole.ending != "end" or number < len(whole.chunks) - 1,
            }
            for number, chunk in enumerate(whole.chunks)
        ],
        whole.ending,
    )
    place, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(place),
        "raw_path": place.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(k.lower().encode(), v.encode()) for k, v in (headers or {}).items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    await app(scope, exchange.receive, exchange.send)
    found = {key.decode(): value.decode() for key, value in exchange.started["headers"]}
    return Reply(exchange.started["status"], found, b"".join(exchange.pieces))


@dataclass
class Caller:
    """An extender in service, and the one who calls it."""

    service: ExtenderService
    app: ASGIApp
    runner: asyncio.Runner

    def send(
        self,
        method: str,
        path: str,
        body: bytes | Body = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        return self.runner.run(send(self.app, method, path, body, headers))

    def get(self, path: str) -> Reply:
        return self.send("GET", path)

    def post(self, path: str, body: bytes | Body) -> Reply:
        return self.send("POST", path, body)

    def metric(self, name: str, **labels: str) -> float:
        """One sample of ``/metrics``; 0 where it is not there."""
        return sample(self.get("/metrics").body, name, **labels)


def sample(text: bytes, name: str, **labels: str) -> float:
    """The sum of a metric's samples that have these labels."""
    return sum(
        one.value
        for family in text_string_to_metric_families(text.decode())
        for one in family.samples
        if one.name == name and labels.items() <= one.labels.items()
    )


@contextmanager
def extender(
    policy: Policy,
    *,
    cluster: Cluster | None = None,
    timeout: float = 5.0,
    waiting: int = 256,
    **options: Any,
) -> Iterator[Caller]:
    """Serve a policy for the length of a block; with a cluster, as if it had been watched."""
    service = ExtenderService(policy, limits=ServiceLimits(timeout=timeout, waiting=waiting))
    if cluster is not None:
        service.answers = Answers(policy, cluster, observer=service.metrics)
    with asyncio.Runner() as runner:
        runner.run(service.__aenter__())
        try:
            yield Caller(service, ExtenderApp(service, **options).asgi(), runner)
        finally:
            runner.run(service.__aexit__())


def compact(thing: object) -> bytes:
    """JSON without blanks, as Go writes it."""
    return json.dumps(thing, separators=(",", ":"), ensure_ascii=False).encode()


def args(
    pod: Pod | None, nodes: Sequence[Node] | None = None, names: Sequence[str] | None = None
) -> bytes:
    """A filter or prioritize request, laid out as kube-scheduler does it."""
    return compact(
        {
            "Pod": pod.raw if pod is not None else None,
            "Nodes": None
            if nodes is None
            else {"metadata": {}, "items": [node.raw for node in nodes]},
            "NodeNames": names,
        }
    )


async def eventually(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    """Wait for something to become true, however long it takes on a slow machine."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - conditions come from threads and sockets
            await asyncio.sleep(0.005)
