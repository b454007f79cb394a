"""An embedded cluster on the test's own event loop, and a plain client for it."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from mooring.embedded.server import EmbeddedCluster, Options

#: Nobody waits so long unless something is wrong.
PATIENCE = 120.0


class Client:
    """Sends requests and returns status and content."""

    def __init__(self, cluster: EmbeddedCluster, session: aiohttp.ClientSession) -> None:
        self.cluster = cluster
        self._session = session

    async def ask(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, Any]:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if isinstance(body, dict | list):
            body = json.dumps(body)
        if isinstance(body, str | bytes):
            sent.setdefault("content-type", "application/json")
            body = io.BytesIO(body.encode() if isinstance(body, str) else body)
        async with self._session.request(
            method, self.cluster.url + path, data=body, headers=sent
        ) as response:
            content = await response.read()
            kind = response.headers.get("content-type", "")
            return response.status, json.loads(content) if "json" in kind else content.decode()

    async def get(self, path: str, **headers: str) -> Any:
        code, content = await self.ask("GET", path, **headers)
        assert code == 200, content
        return content

    async def post(self, path: str, body: Any) -> Any:
        code, content = await self.ask("POST", path, body)
        assert code == 201, content
        return content

    @asynccontextmanager
    async def watch(self, path: str, **headers: str) -> AsyncIterator["WatchStream"]:
        url = f"{self.cluster.url}{path}{'&' if '?' in path else '?'}watch=true"
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self._session.get(url, headers=sent) as response:
            assert response.status == 200, await response.text()
            yield WatchStream(response)


class WatchStream:
    """The lines of a watch."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def next(self) -> Any:
        line = await asyncio.wait_for(self._response.content.readline(), PATIENCE)
        return json.loads(line) if line else None

    async def changes(self, count: int) -> list[tuple[str, str]]:
        """Types and names of the next changes."""
        found = [await self.next() for _ in range(count)]
        return [(one["type"], one["object"]["metadata"]["name"]) for one in found]


@asynccontextmanager
async def served(
    options: Options | None = None, nodes: tuple[dict[str, Any], ...] = (), **more: Any
) -> AsyncIterator[Client]:
    """A cluster without kubelet and controllers, unless the options say otherwise."""
    options = options or Options(kubelet=None, controllers=False)
    connector = aiohttp.TCPConnector(limit=0)
    async with (
        EmbeddedCluster(nodes, options, **more) as cluster,
        aiohttp.ClientSession(connector=connector, read_bufsize=2**24) as session,
    ):
        yield Client(cluster, session)


def run(test: Callable[[Client], Awaitable[None]], *args: Any, **kwargs: Any) -> None:
    """Run a test against a cluster of its own."""

    async def with_cluster() -> None:
        async with served(*args, **kwargs) as client:
            await test(client)

    asyncio.run(with_cluster())


def pod(name: str, **spec: Any) -> dict[str, Any]:
    """A small pod."""
    labels = spec.pop("labels", {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{"name": "c", "image": "nginx:1.27"}], **spec},
    }
