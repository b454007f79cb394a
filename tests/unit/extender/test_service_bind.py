"""Bindings through the extender: what is written, what counts, and what goes wrong."""

# ruff: noqa: ARG005 - a policy's function takes what it is given
import asyncio
import threading

import pytest
from aiohttp import web

import mooring as mr
from mooring.extender.app import ExtenderApp
from mooring.extender.service import ExtenderService, ServiceLimits
from mooring.kube.cluster_config import ClusterConfig
from mooring.testing.real_kubernetes import free_port
from tests.unit.extender.asgi import eventually, send
from tests.unit.extender.service_rig import BINDING, make_policy, rig, run
from tests.unit.kube.fake_api import status_body


class TestBind:
    def test_creates_the_binding(self, caplog: pytest.LogCaptureFixture) -> None:
        async def main() -> None:
            async with rig() as made:
                assert await made.bind() == ""
                assert made.cluster.bindings == [
                    {
                        "apiVersion": "v1",
                        "kind": "Binding",
                        "metadata": {"name": "web", "namespace": "ns", "uid": "uid-web"},
                        "target": {"apiVersion": "v1", "kind": "Node", "name": "a"},
                    }
                ]

        with caplog.at_level("INFO", "mooring.extender"):
            run(main)
        assert "bound pod ns/web to node a" in caplog.messages

    def test_without_a_node_cache(self) -> None:
        async def main() -> None:
            seen = []
            policy = make_policy(lambda binding: seen.append((binding.pod, binding.node)))
            async with rig(policy, node_cache=False) as made:
                assert made.service.stateless
                assert await made.bind() == ""
                assert len(made.cluster.bindings) == 1
                assert made.cluster.nodes.seen == made.cluster.pods.seen == []
                assert seen == [(None, None)]

        run(main)

    def test_adds_the_annotations_of_the_policy(self) -> None:
        async def main() -> None:
            def note(binding: mr.Binding) -> mr.Binding:
                assert binding.node is not None
                return binding.annotate({"free": str(binding.node.free["cpu"])})

            async with rig(make_policy(note)) as made:
                assert await made.bind() == ""
                metadata = made.cluster.bindings[0]["metadata"]
                assert metadata["annotations"] == {"free": "8000"}

        run(main)

    @pytest.mark.parametrize("answer", ["not today", mr.reject("not today")])
    def test_may_be_rejected(self, answer: object) -> None:
        async def main() -> None:
            async with rig(make_policy(lambda binding: answer)) as made:
                assert await made.bind() == "not today"
                assert made.cluster.bindings == []
                assert await made.fitting("a") == ["a"]

        run(main)

    def test_counts_the_pod_before_the_watch_does(self) -> None:
        async def main() -> None:
            async with rig() as made:
                made.cluster.telling = False
                assert await made.bind() == ""
                assert await made.fitting("a", "b") == ["b"]
                made.cluster.pods.bookmark()
                assert await made.fitting("a", "b") == ["b"]
                made.cluster.put_pod("web", "a")
                await eventually(lambda: made.service.answers.cluster.assumed == 0)  # type: ignore[union-attr]
                assert await made.fitting("a", "b") == ["b"]
                made.cluster.pods.delete("web")
                await made.becomes(["a", "b"], "a", "b")

        run(main)

    @pytest.mark.parametrize(
        ("status", "reason"), [(404, "NotFound"), (403, "Forbidden"), (409, "Conflict")]
    )
    def test_an_error_of_the_api_server_is_told_and_forgotten(
        self, status: int, reason: str
    ) -> None:
        async def main() -> None:
            async with rig() as made:
                made.cluster.deny(status, "the sentence of the server", reason)
                assert "the sentence of the server" in await made.bind()
                assert await made.fitting("a") == ["a"]
                assert await made.metric("mooring_extender_errors_total", kind="cluster") == 1
                assert await made.bind() == ""

        run(main)

    def test_an_unreachable_api_server_is_told(self) -> None:
        async def main() -> None:
            config = ClusterConfig(server=f"http://127.0.0.1:{free_port()}", source="the test")
            async with ExtenderService(make_policy(), config, node_cache=False) as service:
                reply = await send(ExtenderApp(service).asgi(), "POST", "/bind", BINDING)
                assert "127.0.0.1" in reply.json()["Error"]

        run(main)

    def test_what_is_done_already_is_done(self) -> None:
        async def main() -> None:
            async with rig() as made:
                assert await made.bind() == ""
                assert await made.bind() == ""
                assert await made.bind(BINDING.replace(b"uid-web", b"")) == ""
                assert len(made.cluster.bindings) == 3
                assert "already assigned" in await made.bind(BINDING.replace(b'"a"', b'"b"'))
                assert "already assigned" in await made.bind(BINDING.replace(b"uid-web", b"new"))
                await made.becomes(["b"], "a", "b")

        run(main)

    def test_a_pod_that_is_gone_was_not_bound(self) -> None:
        async def main() -> None:
            async with rig() as made:
                made.cluster.deny(409, "already there", "Conflict")
                made.cluster.deny(404, "no such pod", "NotFound")
                assert "already there" in await made.bind()
                assert await made.fitting("a") == ["a"]

        run(main)

    @pytest.mark.parametrize("answered", [True, False])
    def test_a_lost_answer_may_have_been_a_yes(self, answered: bool) -> None:
        async def main() -> None:
            async with rig() as made:

                async def lost(request: web.Request) -> web.StreamResponse:
                    if answered:
                        return web.Response(status=504, body=status_body(504, "late", "Timeout"))
                    assert request.transport is not None
                    request.transport.abort()
                    return web.Response()

                async def bound(request: web.Request) -> web.StreamResponse:
                    metadata = {"name": "web", "namespace": "ns", "uid": "uid-web"}
                    return web.json_response({"metadata": metadata, "spec": {"nodeName": "a"}})

                made.cluster.script += [lost, bound]  # no watch hears of it
                assert await made.bind() == ""
                assert await made.fitting("a", "b") == ["b"]

        run(main)


class TestAsyncBind:
    def test_may_wait_without_holding_up_decisions(self) -> None:
        async def main() -> None:
            waiting, gate = threading.Event(), threading.Event()

            async def note(binding: mr.Binding) -> mr.Binding:
                waiting.set()
                await asyncio.to_thread(gate.wait, 20)
                return binding.annotate({"waited": "yes"})

            async with rig(make_policy(note)) as made:
                binding = asyncio.create_task(made.bind())
                await asyncio.to_thread(waiting.wait, 20)
                assert await made.fitting("a", "b") == ["b"]  # counted while it waits
                assert made.cluster.bindings == []
                gate.set()
                assert await binding == ""
                metadata = made.cluster.bindings[0]["metadata"]
                assert metadata["annotations"] == {"waited": "yes"}
                ran = "mooring_policy_function_duration_seconds_count"
                assert await made.metric(ran, hook="bind", function="note") == 1

        run(main)

    def test_may_reject(self) -> None:
        async def main() -> None:
            async def note(binding: mr.Binding) -> str:
                await asyncio.sleep(0)
                return "not today"

            async with rig(make_policy(note)) as made:
                assert await made.bind() == "not today"
                assert await made.fitting("a") == ["a"]
                assert made.cluster.bindings == []

        run(main)

    def test_may_fail(self) -> None:
        async def main() -> None:
            async def note(binding: mr.Binding) -> None:
                await asyncio.sleep(0)
                raise OSError("the network is gone")

            async with rig(make_policy(note)) as made:
                error = await made.bind()
                assert error == "bind 'note' failed on node a: OSError: the network is gone"
                assert await made.fitting("a") == ["a"]
                assert made.cluster.bindings == []
                assert await made.metric("mooring_policy_function_errors_total", function="note")
                assert await made.metric("mooring_extender_errors_total", kind="policy") == 1

        run(main)

    @pytest.mark.parametrize("blocking", [False, True])
    def test_that_does_not_return_is_answered_for(
        self, blocking: bool, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Whether it waits or blocks: the caller is told in time, and nobody else is held up."""

        async def main() -> None:
            gate = threading.Event()

            async def note(binding: mr.Binding) -> None:
                if blocking:
                    gate.wait(20)
                await asyncio.to_thread(gate.wait, 20)

            async with rig(make_policy(note), limits=ServiceLimits(timeout=2.0)) as made:
                error = await made.bind()
                assert error == (
                    "bind 'note' failed on node a: "
                    "it had not finished 1.6 seconds after the request came"
                )
                assert f"bind for pod ns/web: {error}\n" in caplog.text
                where = "gate.wait(20)" if blocking else "await asyncio.to_thread(gate.wait, 20)"
                assert f", in note\n    {where}\n" in caplog.text
                assert made.cluster.bindings == []
                assert await made.fitting("a") == ["a"]
                hangs = "mooring_policy_function_hangs_total"
                assert await made.metric(hangs, hook="bind", function="note") == 1
                failures = "mooring_policy_function_errors_total"
                assert await made.metric(failures, hook="bind", function="note") == 1
                if blocking:
                    await eventually(lambda: bool(made.service.stuck()))
                    reply = await made.get("/livez")
                    assert reply.status == 503
                    assert reply.body.startswith(b"bind 'note' on node a (pod ns/web, at test_")
                    assert "; no async function runs until it returns" in await made.bind()
                    assert await made.metric(hangs, hook="bind", function="note") == 1
                gate.set()
                await eventually(lambda: not made.service.stuck())

        run(main)

    def test_that_raises_what_ends_a_coroutine_is_an_error(self) -> None:
        async def main() -> None:
            async def note(binding: mr.Binding) -> None:
                raise GeneratorExit

            async with rig(make_policy(note)) as made:
                error = "bind 'note' failed on node a: GeneratorExit"
                assert await made.bind() == error
                assert await made.fitting("a") == ["a"]
                assert await made.metric("mooring_policy_function_errors_total") == 1

        run(main)

    def test_that_cancels_itself_is_an_error(self) -> None:
        async def main() -> None:
            async def note(binding: mr.Binding) -> None:
                raise asyncio.CancelledError

            async with rig(make_policy(note)) as made:
                assert await made.bind() == "bind 'note' failed on node a: it was cancelled"
                assert await made.metric("mooring_policy_function_errors_total") == 1
                assert await made.fitting("a") == ["a"]

        run(main)


class TestSlowBind:
    def test_an_api_server_that_does_not_answer_is_told_in_time(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        """What comes of the Binding is taken note of all the same."""

        async def main() -> None:
            async with rig(limits=ServiceLimits(timeout=2.0)) as made:
                gate = asyncio.Event()

                async def late(request: web.Request) -> web.StreamResponse:
                    await gate.wait()
                    body = status_body(403, "not allowed", "Forbidden")
                    return web.Response(status=403, body=body)

                made.cluster.script.append(late)
                error = await made.bind()
                assert error == (
                    "the API server did not answer the binding of pod ns/web to node a in time; "
                    "it may still be bound"
                )
                assert await made.fitting("a", "b") == ["b"]  # it may be, so it is counted
                gate.set()
                await made.becomes(["a", "b"], "a", "b")

        run(main)
        assert "a binding that took too long failed: " in caplog.text
        assert "not allowed" in caplog.text

    def test_a_pod_is_counted_as_long_as_nobody_knows_whether_it_is_bound(self) -> None:
        async def main() -> None:
            async with rig(limits=ServiceLimits(timeout=2.0)) as made:
                gate = asyncio.Event()

                async def late(request: web.Request) -> web.StreamResponse:
                    await gate.wait()
                    return await made.cluster.get(request)

                made.cluster.deny(500, "etcd is away", "InternalError")
                made.cluster.script.append(late)
                error = await made.bind()
                assert error.startswith("it is not known yet whether pod ns/web was bound to node")
                assert "etcd is away" in error
                assert await made.fitting("a", "b") == ["b"]
                gate.set()
                await made.becomes(["a", "b"], "a", "b")

        run(main)

    def test_a_binding_that_fails_late_leaves_alone_what_another_one_did(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def main() -> None:
            async with rig(limits=ServiceLimits(timeout=2.0)) as made:
                gate = asyncio.Event()

                async def late(request: web.Request) -> web.StreamResponse:
                    await gate.wait()
                    body = status_body(403, "not allowed", "Forbidden")
                    return web.Response(status=403, body=body)

                async def bound(request: web.Request) -> web.StreamResponse:
                    return web.json_response({"kind": "Status"}, status=201)

                made.cluster.script += [late, bound]  # no watch hears of it
                assert "it may still be bound" in await made.bind()
                assert await made.bind(BINDING.replace(b'"a"', b'"b"')) == ""
                assert await made.fitting("a", "b") == ["a"]
                gate.set()
                await eventually(lambda: "a binding that took too long failed" in caplog.text)
                assert await made.fitting("a", "b") == ["a"]

        run(main)

    def test_a_bind_function_that_returns_too_late_leaves_nothing_behind(self) -> None:
        async def main() -> None:
            gate = threading.Event()

            def note(binding: mr.Binding) -> None:
                gate.wait(20)

            async with rig(make_policy(note), limits=ServiceLimits(timeout=2.0)) as made:
                assert "bind 'note' on node a has not returned" in await made.bind()
                gate.set()
                await eventually(lambda: not made.service.stuck())
                assert await made.fitting("a", "b") == ["a", "b"]
                assert made.cluster.bindings == []

        run(main)
