"""A small API server with nodes, pods and bindings, for an extender that watches and binds."""

import json
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from mooring.kube.cluster_config import ClusterConfig
from tests.unit.kube.fake_api import FakeApi, Handler, status_body


@dataclass
class FakeCluster:
    """What the API server knows, and what was asked of it.

    Attributes:
        bindings: the bindings as they came.
        script: handlers for the next requests about one pod, before anything else.
        telling: whether watches hear of a binding at once.
    """

    nodes: FakeApi = field(default_factory=FakeApi)
    pods: FakeApi = field(default_factory=FakeApi)
    slices: FakeApi = field(default_factory=FakeApi)
    claims: FakeApi = field(default_factory=FakeApi)
    bindings: list[dict[str, Any]] = field(default_factory=list)
    script: deque[Handler] = field(default_factory=deque)
    telling: bool = True
    port: int = 0
    _runner: web.AppRunner | None = None

    @property
    def config(self) -> ClusterConfig:
        return ClusterConfig(server=f"http://127.0.0.1:{self.port}", source="the test")

    def put_node(self, name: str, cpu: str = "8", **spec: object) -> None:
        resources = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
        self.nodes.put(name, uid=f"uid-{name}", spec=spec, status={"allocatable": resources})

    def put_pod(self, name: str, node: str = "", cpu: str = "1") -> None:
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
        spec: dict[str, object] = {"containers": [container]}
        if node:
            spec["nodeName"] = node
        self.pods.put(name, uid=f"uid-{name}", spec=spec, status={"phase": "Pending"})

    def deny(self, status: int, message: str, reason: str) -> None:
        """Answer the next request about one pod with a Kubernetes Status."""

        async def reply(request: web.Request) -> web.StreamResponse:
            return web.Response(status=status, body=status_body(status, message, reason))

        self.script.append(reply)

    async def get(self, request: web.Request) -> web.StreamResponse:
        if self.script:
            return await self.script.popleft()(request)
        found = self.pods.objects.get(request.match_info["name"])
        if found is None:
            return web.Response(status=404, body=status_body(404, "pods not found", "NotFound"))
        return web.json_response(found)

    async def bind(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        self.bindings.append(body)
        if self.script:
            return await self.script.popleft()(request)
        name = request.match_info["name"]
        found: Any = self.pods.objects.get(name)
        if found is None:
            return web.Response(status=404, body=status_body(404, "pods not found", "NotFound"))
        if "nodeName" in found["spec"]:
            told = f"pod {name} is already assigned to node {found['spec']['nodeName']!r}"
            return web.Response(status=409, body=status_body(409, told, "Conflict"))
        if self.telling:
            self.put_pod(name, body["target"]["name"])
        return web.json_response({"kind": "Status", "status": "Success"}, status=201)

    async def start(self) -> None:
        """Be there; after `stop`, at the same address."""
        app = web.Application(client_max_size=2**30)
        app.router.add_get("/api/v1/nodes", self.nodes.handle)
        app.router.add_get("/api/v1/pods", self.pods.handle)
        for name, kept in (("resourceslices", self.slices), ("resourceclaims", self.claims)):
            app.router.add_get(f"/apis/resource.k8s.io/v1/{name}", kept.handle)
        app.router.add_get("/api/v1/namespaces/{namespace}/pods/{name}", self.get)
        app.router.add_post("/api/v1/namespaces/{namespace}/pods/{name}/binding", self.bind)
        self._runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True).start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Be gone, all at once."""
        for api in (self.nodes, self.pods):
            api.cut()
            api.end_watches()
        if self._runner is not None:
            await self._runner.cleanup()


@asynccontextmanager
async def fake_cluster() -> AsyncIterator[FakeCluster]:
    """Run a fake API server for the length of a block."""
    cluster = FakeCluster()
    await cluster.start()
    try:
        yield cluster
    finally:
        await cluster.stop()
