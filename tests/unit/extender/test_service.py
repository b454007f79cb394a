# ruff: noqa: ARG005 - a policy's function takes what it is given
import asyncio
import threading

import pytest
from aiohttp import web

import mooring as mr
from mooring.extender.service import ExtenderService
from mooring.state.cluster import Cluster
from mooring.testing import make_pod
from tests.unit.extender.asgi import args, compact, eventually, sample
from tests.unit.extender.fake_cluster import fake_cluster
from tests.unit.extender.service_rig import Rig, make_policy, rig, run
from tests.unit.kube.fake_api import FakeApi


class TestNodeCache:
    def test_is_ready_only_after_all_is_known(self, caplog: pytest.LogCaptureFixture) -> None:
        async def main() -> None:
            gate = asyncio.Event()

            async def late(request: web.Request) -> web.StreamResponse:
                await gate.wait()
                return cluster.pods._list(request)

            async with fake_cluster() as cluster:
                cluster.put_node("a")
                cluster.put_node("b")
                cluster.put_pod("db", "b")
                cluster.pods.script.append(late)
                async with ExtenderService(make_policy(), cluster.config) as service:
                    made = Rig(cluster, service)
                    await eventually(lambda: bool(cluster.pods.seen))
                    assert not service.stateless
                    reply = await made.get("/readyz")
                    assert (reply.status, reply.body) == (503, b"the node cache is not synced yet")
                    assert (await made.get("/livez")).status == 200
                    assert (await made.get("/policy")).json()["synced"] is False
                    assert await made.metric("mooring_node_cache_synced") == 0
                    gate.set()
                    await made.synced()
                    assert (await made.get("/readyz")).status == 200
                    assert (await made.get("/policy")).json()["synced"] is True
                    assert await made.fitting("a", "b") == ["a"]
                    assert await made.metric("mooring_node_cache_synced") == 1
                    assert await made.metric("mooring_node_cache_nodes") == 2
                    assert await made.metric("mooring_node_cache_pods") == 1
                    assert await made.metric("mooring_node_cache_errors") == 0

        with caplog.at_level("INFO", "mooring"):
            run(main)
        assert "node cache synced: 2 nodes, 1 pod" in caplog.messages

    def test_says_why_it_is_not_ready(self) -> None:
        async def main() -> None:
            async with fake_cluster() as cluster:
                cluster.nodes.deny(403, "nodes is forbidden: no permission", "Forbidden")
                async with ExtenderService(make_policy(), cluster.config) as service:
                    await eventually(lambda: "no permission" in service.not_ready())
                    assert service.not_ready().startswith("the node cache is not synced yet: ")
                    await Rig(cluster, service).synced()
                    service.update_gauges()
                    assert sample(service.metrics.text(), "mooring_node_cache_errors") == 1

        run(main)

    def test_watches_unfinished_pods_only(self) -> None:
        async def main() -> None:
            async with rig() as made:
                selectors = {seen.query.get("fieldSelector") for seen in made.cluster.pods.seen}
                assert selectors == {"status.phase!=Succeeded,status.phase!=Failed"}

        run(main)

    def test_watches_no_pods_for_a_policy_that_needs_none(self) -> None:
        async def main() -> None:
            policy = mr.Policy("light", usage=False)
            policy.filter(name="cordoned")(lambda pod, node: not node.unschedulable)
            async with rig(policy) as made:
                assert made.cluster.pods.seen == []
                made.cluster.put_node("b", unschedulable=True)
                await made.becomes(["a"], "a", "b")

        run(main)

    def test_watches_devices_for_a_policy_that_reads_them(self) -> None:
        async def main() -> None:
            policy = mr.Policy("gpus", usage=False)
            policy.filter(name="free")(lambda pod, node: bool(node.devices.free))
            async with rig(policy) as made:
                assert made.cluster.pods.seen == []
                assert await made.fitting("a", "b") == []
                pool = {"name": "a", "generation": 1, "resourceSliceCount": 1}
                spec = {"driver": "gpu", "nodeName": "a", "pool": pool, "devices": [{"name": "x"}]}
                made.cluster.slices.put("a", spec=spec)
                await made.becomes(["a"], "a", "b")
                result = {"request": "r", "driver": "gpu", "pool": "a", "device": "x"}
                allocation = {"devices": {"results": [result]}}
                made.cluster.claims.put("c", status={"allocation": allocation})
                await made.becomes([], "a", "b")
                # Whole nodes know their devices as well.
                node = {"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "1"}}}
                body = {"Pod": make_pod("asks").raw, "Nodes": {"items": [node]}}
                made.cluster.claims.delete("c")
                await made.becomes(["a"], "a", "b")
                reply = await made.post("/filter", compact(body))
                assert [one["metadata"]["name"] for one in reply.json()["Nodes"]["items"]] == ["a"]

        run(main)

    def test_watches_no_devices_for_others(self) -> None:
        async def main() -> None:
            async with rig() as made:
                assert made.cluster.slices.seen == made.cluster.claims.seen == []

        run(main)

    def test_goes_without_devices_where_there_are_none(self) -> None:
        async def main() -> None:
            policy = mr.Policy("gpus", usage=False)
            policy.filter(name="none")(lambda pod, node: not node.devices)
            async with fake_cluster() as cluster:
                for one in (cluster.slices, cluster.claims):
                    one.deny(404, "the server could not find the requested resource", "NotFound")
                cluster.put_node("a")
                async with ExtenderService(policy, cluster.config) as service:
                    made = Rig(cluster, service)
                    await made.synced()
                    assert await made.fitting("a") == ["a"]

        run(main)

    def test_follows_what_happens(self) -> None:
        async def main() -> None:
            async with rig() as made:
                assert await made.fitting("a", "b", "c") == ["a", "b"]
                made.cluster.put_pod("web", "a")
                await made.becomes(["b"], "a", "b")
                made.cluster.put_node("c")
                await made.becomes(["b", "c"], "a", "b", "c")
                made.cluster.pods.delete("web")
                await made.becomes(["a", "b", "c"], "a", "b", "c")
                made.cluster.nodes.delete("c")
                await made.becomes(["a", "b"], "a", "b", "c")

        run(main)

    def test_a_question_sees_all_that_is_known_when_its_turn_comes(self) -> None:
        async def main() -> None:
            started, go_on = threading.Event(), threading.Event()
            policy = make_policy()

            @policy.filter
            def dawdling(pod: mr.Pod, node: mr.Node) -> None:
                if pod.name == "slow":
                    started.set()
                    go_on.wait(20)

            async with rig(policy) as made:
                slow = asyncio.create_task(
                    made.post("/filter", args(make_pod("slow"), names=["b"]))
                )
                await asyncio.to_thread(started.wait, 20)
                question = asyncio.create_task(made.fitting("a", "b"))
                await eventually(lambda: made.service.turns.waiting == 2)
                made.cluster.put_pod("web", "a")  # after the question was asked
                await eventually(lambda: bool(made.service._pending))
                go_on.set()
                assert await question == ["b"]
                assert (await slow).json()["NodeNames"] == ["b"]

        run(main)

    @pytest.mark.parametrize("how", ["cut", "end_watches", "expire"])
    def test_survives_lost_watches(self, how: str) -> None:
        async def main() -> None:
            async with rig() as made:
                pods = made.cluster.pods
                await eventually(lambda: pods.watchers == 1)
                before = len(pods.seen)
                if how == "expire":
                    expire(pods)
                else:
                    getattr(pods, how)()
                made.cluster.put_pod("web", "a")
                await made.becomes(["b"], "a", "b")
                await eventually(lambda: pods.watchers == 1 and len(pods.seen) > before)
                made.cluster.put_pod("db", "b")
                await made.becomes([], "a", "b")
                assert (await made.get("/readyz")).status == 200

        def expire(pods: FakeApi) -> None:
            pods.version += 10
            pods.compact()
            pods.end_watches()

        run(main)

    def test_survives_a_restart_of_the_api_server(self) -> None:
        async def main() -> None:
            async with rig() as made:
                await eventually(lambda: made.cluster.pods.watchers == 1)
                await made.cluster.stop()
                # While it is away, decisions go on with what is known.
                assert await made.fitting("a", "b") == ["a", "b"]
                made.cluster.put_pod("web", "a")
                made.cluster.nodes.delete("b")
                for api in (made.cluster.nodes, made.cluster.pods):
                    api.compact()
                await made.cluster.start()
                await made.becomes([], "a", "b")
                reply = await made.post("/filter", args(make_pod("p"), names=["b"]))
                assert reply.json()["FailedNodes"]["b"] == "node is not known to the extender yet"

        run(main)

    def test_skips_what_makes_no_sense(self, caplog: pytest.LogCaptureFixture) -> None:
        async def main() -> None:
            async with rig() as made:
                made.cluster.put_pod("odd", "a", cpu="many")
                made.cluster.put_pod("web", "b")
                await made.becomes(["a"], "a", "b")

        run(main)
        assert "skipped <Pod ns/odd>: 'many' is not a valid quantity" in caplog.text

    def test_a_change_that_fails_does_not_take_the_others_along(
        self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put_node = Cluster.put_node

        def failing(cluster: Cluster, node: mr.Node) -> None:
            if node.name == "a":
                raise OverflowError("unexpected")
            put_node(cluster, node)

        async def main() -> None:
            async with rig() as made:
                assert await made.fitting("a", "b") == ["b"]

        monkeypatch.setattr(Cluster, "put_node", failing)
        run(main)
        assert "skipped <Node a>: internal error" in caplog.text
        assert "OverflowError: unexpected" in caplog.text


class TestPolicies:
    def test_may_be_replaced(self) -> None:
        async def main() -> None:
            async with rig() as made:
                other = mr.Policy("other", usage=False)
                other.filter(name="no")(lambda pod, node: "never")
                made.service.replace_policy(other)
                assert made.service.policy is other
                assert await made.fitting("a", "b") == []
                assert (await made.get("/")).body == b"Welcome to other!\n"

        run(main)

    def test_a_new_one_that_needs_pods_is_warned_of(self, caplog: pytest.LogCaptureFixture) -> None:
        async def main() -> None:
            async with rig(mr.Policy("light", usage=False)) as made:
                made.service.replace_policy(mr.Policy("light", usage=False))
                assert caplog.messages == []
                made.service.replace_policy(make_policy())

        run(main)
        assert caplog.messages == [
            "the new policy reads pods, which this server does not watch; restart it"
        ]

    def test_so_is_one_that_needs_devices(self, caplog: pytest.LogCaptureFixture) -> None:
        async def main() -> None:
            async with rig(mr.Policy("light", usage=False)) as made:
                policy = mr.Policy("gpus", usage=False)
                policy.filter(name="free")(lambda pod, node: bool(node.devices.free))
                made.service.replace_policy(policy)

        run(main)
        assert caplog.messages == [
            "the new policy reads devices, which this server does not watch; restart it"
        ]
