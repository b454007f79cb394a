"""A small API server with all a scheduler needs: lists, watches, bindings, events, a Lease."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from mooring import Node, Pod
from mooring.kube.cluster_config import ClusterConfig
from tests.unit.kube.fake_api import FakeApi, status_body

_LEASES = "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
_POD = "/api/v1/namespaces/{namespace}/pods/{name}"


@dataclass
class FakeCluster:
    """What the API server knows, and what was asked of it.

    Attributes:
        collections: the objects by resource, such as ``pods``.
        bindings: pod and node of each binding, in order.
        binding: how many bindings were asked for.
        patches: name and body of each status patch.
        events: the Kubernetes events, as they came.
        leases: by name.
        forbidden: resources that nobody may list.
        unknown: resources that this API server does not have.
        gate: bindings wait for it; tests may clear it.
        telling: how many events were sent.
        told: events wait for it; tests may clear it.
        down: whether every request fails, and the open watches with it.
        no_answer: whether bindings and looks at single pods fail without a clear answer.
    """

    collections: dict[str, FakeApi] = field(default_factory=lambda: defaultdict(FakeApi))
    bindings: list[tuple[str, str]] = field(default_factory=list)
    binding: int = 0
    patches: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    leases: dict[str, dict[str, Any]] = field(default_factory=dict)
    forbidden: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    telling: int = 0
    told: asyncio.Event = field(default_factory=asyncio.Event)
    bell: asyncio.Event = field(default_factory=asyncio.Event)
    down: bool = False
    no_answer: bool = False
    port: int = 0

    @property
    def config(self) -> ClusterConfig:
        return ClusterConfig(server=f"http://127.0.0.1:{self.port}", source="the test")

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for something that a request brings about."""
        async with asyncio.timeout(300):
            while not condition():
                self.bell.clear()
                await self.bell.wait()

    def put_node(self, node: Node) -> None:
        self._put("nodes", node.raw)

    def put_pod(self, pod: Pod) -> None:
        self._put("pods", pod.raw)

    def _put(self, resource: str, whole: dict[str, Any]) -> None:
        api = self.collections[resource]
        name = whole["metadata"]["name"]
        api.version += 1
        told = "MODIFIED" if name in api.objects else "ADDED"
        metadata = {**whole["metadata"], "resourceVersion": str(api.version)}
        api.objects[name] = {**whole, "metadata": metadata}
        api._tell(told, api.objects[name])

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Lists and watches."""
        resource = request.path.rpartition("/")[2]
        if resource in self.unknown:
            return _denied(404, "the server could not find the requested resource", "NotFound")
        if resource in self.forbidden:
            told = (
                f'{resource} is forbidden: User "moor" cannot list resource "{resource}" '
                f'in API group "" at the cluster scope'
            )
            return _denied(403, told, "Forbidden")
        if "status.phase=Failed" in request.query.get("fieldSelector", ""):
            resource = "failed"
        return await self.collections[resource].handle(request)

    async def version(self, request: web.Request) -> web.StreamResponse:
        if "version" in self.forbidden:
            return _denied(403, "no", "Forbidden")
        return web.json_response({"gitVersion": "v1.36.4"})

    async def bind(self, request: web.Request) -> web.StreamResponse:
        if self.no_answer:
            return _denied(504, "it took too long", "Timeout")
        body = await request.json()
        self.binding += 1
        self.bell.set()
        await self.gate.wait()
        name, node = request.match_info["name"], body["target"]["name"]
        found: Any = self.collections["pods"].objects.get(name)
        if found is None:
            return _denied(404, "pods not found", "NotFound")
        if found["spec"].get("nodeName"):
            return _denied(409, "it is bound already", "Conflict")
        self.bindings.append((name, node))
        whole = {**found, "spec": {**found["spec"], "nodeName": node}}
        self._put("pods", whole)
        return web.json_response({"kind": "Status", "status": "Success"}, status=201)

    async def pod(self, request: web.Request) -> web.StreamResponse:
        if self.no_answer:
            return _denied(504, "it took too long", "Timeout")
        found: Any = self.collections["pods"].objects.get(request.match_info["name"])
        if found is None:
            return _denied(404, "pods not found", "NotFound")
        return web.json_response(found)

    async def patch(self, request: web.Request) -> web.StreamResponse:
        self.patches.append((request.match_info["name"], await request.json()))
        return web.json_response({})

    async def event(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.telling += 1
        self.bell.set()
        await self.told.wait()
        self.events.append(body)
        return web.json_response(body, status=201)

    async def lease(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info.get("name", "")
        if request.method == "GET":
            if name not in self.leases:
                return _denied(404, "leases not found", "NotFound")
            return web.json_response(self.leases[name])
        body = await request.json()
        name = body["metadata"]["name"]
        known = self.leases.get(name)
        version = int(known["metadata"]["resourceVersion"]) if known is not None else 0
        given = body["metadata"].get("resourceVersion")
        if known is not None and given != str(version):
            return _denied(409, "it was changed", "Conflict")
        body["metadata"]["resourceVersion"] = str(version + 1)
        self.leases[name] = body
        return web.json_response(body)

    @web.middleware
    async def _middle(self, request: web.Request, handler: Any) -> web.StreamResponse:
        try:
            if self.down:
                return _denied(503, "it is down", "ServiceUnavailable")
            response: web.StreamResponse = await handler(request)
            return response
        finally:
            self.bell.set()

    async def start(self) -> web.AppRunner:
        self.gate.set()
        self.told.set()
        app = web.Application(client_max_size=2**30, middlewares=[self._middle])
        app.router.add_get("/version", self.version)
        app.router.add_get("/api/v1/{resource}", self.handle)
        app.router.add_get("/apis/{group}/v1/{resource}", self.handle)
        app.router.add_post(f"{_POD}/binding", self.bind)
        app.router.add_get(_POD, self.pod)
        app.router.add_patch(f"{_POD}/status", self.patch)
        app.router.add_post("/apis/events.k8s.io/v1/namespaces/{namespace}/events", self.event)
        app.router.add_post(_LEASES, self.lease)
        app.router.add_get(_LEASES + "/{name}", self.lease)
        app.router.add_put(_LEASES + "/{name}", self.lease)
        runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True
        )
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.port = runner.addresses[0][1]
        return runner


def _denied(status: int, message: str, reason: str) -> web.Response:
    return web.Response(status=status, body=status_body(status, message, reason))


@asynccontextmanager
async def fake_cluster() -> AsyncIterator[FakeCluster]:
    """Run a fake API server for the length of a block."""
    cluster = FakeCluster()
    runner = await cluster.start()
    try:
        yield cluster
    finally:
        for api in cluster.collections.values():
            api.end_watches()
        await runner.cleanup()
