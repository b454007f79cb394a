"""Our client against our own extender: what one writes, the other reads."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

import mooring as mr
from mooring.extender.answers import Answers
from mooring.extender.app import ExtenderApp
from mooring.extender.client import ExtenderClients, ExtenderError, FilteredNodes
from mooring.extender.service import ExtenderService
from mooring.framework.filtering import Candidate
from mooring.framework.verdict import reject
from mooring.state.cluster import Cluster
from mooring.testing import make_node, make_pod
from tests.unit.extender.asgi import send
from tests.unit.extender.fake_extender import FakeExtender, clients, fake_extender, settings

POD = make_pod("web")
BINDING = mr.Binding(namespace="default", name="web", uid=POD.uid, node_name="a")
NODES = [make_node("a", labels={"disk": "ssd"}), make_node("b"), make_node("c", cpu="16")]
LOW = [make_pod(f"low-{number}", node="a") for number in range(2)]


def make_policy() -> mr.Policy:
    policy = mr.Policy("own")

    @policy.filter
    def disk(pod: mr.Pod, node: mr.Node) -> str | None:
        if pod.name == "broken":
            raise ValueError("the disk is gone")
        return "no disk" if node.name == "b" else None

    @policy.score
    def cores(pod: mr.Pod, node: mr.Node) -> float:
        if pod.name == "broken":
            raise ValueError("the disk is gone")
        return 100 if node.allocatable["cpu"] > 8000 else 40

    @policy.preempt
    def spare(pod: mr.Pod, node: mr.Node, victims: Sequence[mr.Pod]) -> list[mr.Pod]:
        return [victim for victim in victims if victim.name != "low-1"]

    return policy


@asynccontextmanager
async def served(*, node_cache: bool) -> AsyncIterator[tuple[ExtenderClients, FakeExtender]]:
    """Our extender on a real port, and our client of it."""
    async with ExtenderService(make_policy()) as service:
        if node_cache:
            cluster = Cluster()
            for node in NODES:
                cluster.put_node(mr.Node.from_dict(node.raw))
            for pod in (POD, *LOW):
                cluster.put_pod(pod)
            service.answers = Answers(service.policy, cluster)
        app = ExtenderApp(service).asgi()

        async def answer(request: web.Request) -> web.StreamResponse:
            reply = await send(app, request.method, request.path, await request.read())
            return web.Response(status=reply.status, body=reply.body)

        async with fake_extender() as front:
            verbs = ("filter", "prioritize", "preempt", "bind")
            front.replies = {f"/{verb}": answer for verb in verbs}
            fields: dict[str, Any] = {f"{verb}Verb": verb for verb in verbs}
            one = settings(front.url, weight=3, nodeCacheCapable=node_cache, **fields)
            async with clients(one) as found:
                yield found, front


@pytest.mark.parametrize("node_cache", [False, True])
def test_every_verb(node_cache: bool) -> None:
    async def main() -> None:
        async with served(node_cache=node_cache) as (found, front):
            for _ in range(2):
                left = await found.filter(POD, NODES)
                assert left == FilteredNodes(["a", "c"], {"b": reject("no disk")})
            assert await found.prioritize(POD, NODES) == {"a": 120, "b": 120, "c": 300}
            candidates = {
                "a": Candidate("a", tuple(LOW), 1),
            }
            assert await found.preempt(POD, candidates) == {"a": Candidate("a", (LOW[0],), 1)}
            with pytest.raises(ExtenderError) as raised:
                await found.bind(POD, BINDING)
            assert f"extender {front.url} failed bind: " in str(raised.value)
            assert "no cluster" in str(raised.value)

    asyncio.run(main())


def test_whole_nodes_are_recognised_the_second_time() -> None:
    async def main() -> None:
        nodes = [
            mr.Node.from_json(
                b'{"kind":"Node","apiVersion":"v1","metadata":{"name":"%c"},"spec":{},"status":{}}'
                % letter
            )
            for letter in b"acd"
        ]
        async with served(node_cache=False) as (found, _):
            for _ in range(3):
                assert (await found.filter(POD, nodes)).kept == ["a", "c", "d"]

    asyncio.run(main())


@pytest.mark.parametrize("node_cache", [False, True])
def test_a_policy_that_raises(node_cache: bool, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        pod = make_pod("broken")
        async with served(node_cache=node_cache) as (found, front):
            with pytest.raises(ExtenderError) as raised:
                await found.filter(pod, NODES)
            text = str(raised.value)
            assert text.startswith(f"extender {front.url} failed filter: ")
            assert "the disk is gone" in text
            assert await found.prioritize(pod, NODES) == {}

    asyncio.run(main())
    last = caplog.records[-1].getMessage()
    assert "the disk is gone" in last
    assert last.endswith("; its scores are ignored")
