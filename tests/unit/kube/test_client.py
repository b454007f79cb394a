import asyncio
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from mooring.errors import ApiError, ConfigError, KubeError
from mooring.kube.client import MERGE_PATCH, STRATEGIC_MERGE_PATCH, Client, api_path
from mooring.kube.credentials import Credentials, FixedCredentials, TokenFile, bearer
from mooring.kube.http1.connection import ApiReply
from mooring.kube.pod_status import PodCondition
from mooring.kube.sessions.api_request import ApiRequest, ClientLimits
from mooring.kube.sessions.session import Session
from tests.unit.kube.fake_api import fake_api


class Pod(msgspec.Struct):
    kind: str


def test_paths_and_queries_are_quoted() -> None:
    async def main() -> None:
        async with fake_api() as api, Client(api.config) as client:
            path = api_path("api", "v1", "a/b", "c d", "é?%")
            assert path == "/api/v1/a%2Fb/c%20d/%C3%A9%3F%25"
            query: dict[str, str | int] = {
                "fieldSelector": "spec.nodeName=,status!=a+b&c d",
                "limit": 5,
            }
            await client.request("GET", path, params=query)
            assert api.seen[0].path == path
            assert api.seen[0].query == {key: str(value) for key, value in query.items()}

    asyncio.run(main())


def test_a_server_address_with_a_path_and_the_headers_of_every_request() -> None:
    async def main() -> None:
        async with fake_api() as api:
            config = replace(
                api.config,
                server=f"{api.url}/k8s/c-1",
                headers=(("Impersonate-Group", "a"), ("Impersonate-Group", "b")),
                compression=False,
            )
            async with Client(config, user_agent="mooring/1") as client:
                await client.request("GET", "/api/v1/things")
            seen = api.seen[0]
            assert seen.path == "/k8s/c-1/api/v1/things"
            assert seen.headers["impersonate-group"] == ["a", "b"]
            assert seen.headers["user-agent"] == ["mooring/1"]
            assert seen.headers["accept-encoding"] == ["identity"]
            assert seen.headers["accept"] == ["application/json"]
            assert "authorization" not in seen.headers

    asyncio.run(main())


def test_a_header_of_the_configuration_replaces_the_usual_one() -> None:
    async def main() -> None:
        async with fake_api() as api:
            names_only = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
            config = replace(api.config, headers=(("Accept", names_only),))
            async with Client(config) as client:
                await client.request("GET", "/api/v1/things")
            assert api.seen[0].headers["accept"] == [names_only]

    asyncio.run(main())


def test_writes_have_the_headers_of_every_request_and_ask_for_plain_answers() -> None:
    async def main() -> None:
        async with fake_api() as api:
            config = replace(
                api.config,
                server=f"{api.url}/k8s/c-1",
                auth=FixedCredentials(bearer("t")),
                headers=(("Impersonate-Group", "a"), ("Impersonate-Group", "b")),
            )
            async with Client(config, user_agent="mooring/1") as client:
                await client.request("POST", "/api/v1/things", params={"a": "b c"}, body=b"{}")
                await client.request("POST", "/api/v1/a thing", body=b"{}")
            seen, quoted = api.seen
            assert (seen.path, seen.query) == ("/k8s/c-1/api/v1/things", {"a": "b c"})
            assert quoted.path == "/k8s/c-1/api/v1/a%20thing"
            for one in api.seen:
                assert one.headers["impersonate-group"] == ["a", "b"]
                assert one.headers["user-agent"] == ["mooring/1"]
                assert one.headers["accept"] == ["application/json"]
                assert one.headers["authorization"] == ["Bearer t"]
                assert one.headers["host"] == [api.url.removeprefix("http://")]
                assert one.body == b"{}"
            assert seen.headers["accept-encoding"] == ["identity"]

    asyncio.run(main())


def test_bodies_are_bytes_or_json() -> None:
    async def main() -> None:
        async with fake_api() as api, Client(api.config) as client:
            await client.request("POST", "/x", body=b"as it is", content_type="text/plain")
            await client.request("PUT", "/x", body=Pod("Pod"))
            await client.request("DELETE", "/x")
            assert [seen.body for seen in api.seen] == [b"as it is", b'{"kind":"Pod"}', b""]
            assert [seen.headers.get("content-type") for seen in api.seen] == [
                ["text/plain"],
                ["application/json"],
                None,
            ]

    asyncio.run(main())


def test_answers_are_typed() -> None:
    async def main() -> None:
        async with fake_api() as api, Client(api.config) as client:
            api.answer(200, b'{"kind":"Pod","more":1}')
            assert await client.get("/x", Pod) == Pod("Pod")
            api.answer(200, b'{"kind":1}')
            with pytest.raises(KubeError, match="/x with something other than a Pod"):
                await client.get("/x", Pod)

    asyncio.run(main())


def test_binding_and_patching_a_pod() -> None:
    async def main() -> None:
        async with fake_api() as api, Client(api.config) as client:
            await client.bind("ns", "a", "uid-1", "node-1", {"k": "v"})
            await client.bind("ns", "a", None, "node-1")
            await client.patch_pod("ns", "a", {"status": {}}, subresource="status")
            await client.patch_pod("ns", "a", b"{}", content_type=MERGE_PATCH)
            first, second, status, merge = api.seen
            assert (first.method, first.path) == ("POST", "/api/v1/namespaces/ns/pods/a/binding")
            assert msgspec.json.decode(first.body) == {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {
                    "name": "a",
                    "namespace": "ns",
                    "uid": "uid-1",
                    "annotations": {"k": "v"},
                },
                "target": {"apiVersion": "v1", "kind": "Node", "name": "node-1"},
            }
            assert msgspec.json.decode(second.body)["metadata"] == {"name": "a", "namespace": "ns"}
            assert (status.method, status.path) == ("PATCH", "/api/v1/namespaces/ns/pods/a/status")
            assert status.headers["content-type"] == ["application/strategic-merge-patch+json"]
            assert merge.path == "/api/v1/namespaces/ns/pods/a"
            assert merge.headers["content-type"] == ["application/merge-patch+json"]

    asyncio.run(main())


def test_a_binding_that_is_answered_with_a_failure_is_none_whatever_the_status_code() -> None:
    async def main() -> None:
        async with fake_api() as api, Client(api.config) as client:
            api.answer(201, b'{"kind":"Status","status":"Success","code":201}')
            await client.bind("ns", "a", None, "node-1")
            for code in (b"409", b"0", b"201"):
                api.answer(
                    200, b'{"kind":"Status","status":"Failure","message":"no","code":%s}' % code
                )
                with pytest.raises(ApiError, match=r"answered (409|500): no\.") as raised:
                    await client.bind("ns", "a", None, "node-1")
                assert raised.value.status == (409 if code == b"409" else 500)

    asyncio.run(main())


def test_creating_replacing_and_patching_any_object() -> None:
    async def main() -> None:
        async with fake_api() as api, Client(api.config) as client:
            for _ in range(2):
                api.answer(201, b'{"kind":"Stored"}')
            assert await client.create("/things", Pod("New"), Pod) == Pod("Stored")
            assert await client.replace("/things/a", b'{"kind":"Old"}', Pod) == Pod("Stored")
            api.answer(200, b"patched")
            assert await client.patch("/things/a", {"kind": "Other"}) == b"patched"
            await client.patch("/things/a", b"{}", content_type=STRATEGIC_MERGE_PATCH)
            assert [(seen.method, seen.path, seen.body) for seen in api.seen] == [
                ("POST", "/things", b'{"kind":"New"}'),
                ("PUT", "/things/a", b'{"kind":"Old"}'),
                ("PATCH", "/things/a", b'{"kind":"Other"}'),
                ("PATCH", "/things/a", b"{}"),
            ]
            assert [seen.headers["content-type"] for seen in api.seen[2:]] == [
                ["application/merge-patch+json"],
                ["application/strategic-merge-patch+json"],
            ]
            api.deny(409, "the object has been modified", "Conflict")
            with pytest.raises(ApiError) as caught:
                await client.replace("/things/a", Pod("Old"), Pod)
            assert (caught.value.status, caught.value.reason) == (409, "Conflict")
            api.answer(200, b"[]")
            with pytest.raises(KubeError, match="/things with something other than a Pod"):
                await client.create("/things", Pod("New"), Pod)

    asyncio.run(main())


def test_deleting_a_pod() -> None:
    async def main() -> None:
        async with fake_api() as api, Client(api.config) as client:
            await client.delete_pod("ns", "a", "uid-1", grace_seconds=0)
            await client.delete_pod("ns", "a", None)
            first, second = api.seen
            assert (first.method, first.path) == ("DELETE", "/api/v1/namespaces/ns/pods/a")
            assert first.headers["content-type"] == ["application/json"]
            assert msgspec.json.decode(first.body) == {
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "preconditions": {"uid": "uid-1"},
                "gracePeriodSeconds": 0,
            }
            assert msgspec.json.decode(second.body) == {"apiVersion": "v1", "kind": "DeleteOptions"}

    asyncio.run(main())


def test_patching_a_pods_status() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    condition = PodCondition(type="PodScheduled", status="False", reason="Unschedulable")

    async def main() -> None:
        async with fake_api() as api, Client(api.config, sleep=sleep) as client:
            await client.patch_pod_status("ns", "a", "uid-1", conditions=[condition])
            seen = api.seen[0]
            assert (seen.method, seen.path) == ("PATCH", "/api/v1/namespaces/ns/pods/a/status")
            assert seen.headers["content-type"] == ["application/strategic-merge-patch+json"]
            assert msgspec.json.decode(seen.body) == {
                "metadata": {"uid": "uid-1"},
                "status": {
                    "conditions": [
                        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
                    ]
                },
            }
            # what may pass is tried again, four times in all
            api.deny(409, "modified", "Conflict")
            api.deny(500, "oh", "InternalError")
            await client.patch_pod_status("ns", "a", nominated_node="n")
            assert slept == [0.01, 0.05]
            slept.clear()
            for _ in range(4):
                api.deny(503, "busy", "ServiceUnavailable")
            with pytest.raises(ApiError, match="503"):
                await client.patch_pod_status("ns", "a", nominated_node="n")
            assert slept == [0.01, 0.05, 0.25]
            assert not api.script
            slept.clear()
            api.deny(404, "gone", "NotFound")
            with pytest.raises(ApiError, match="gone"):
                await client.patch_pod_status("ns", "a", nominated_node="n")
            assert slept == []
            config = api.config
        async with Client(config, sleep=sleep) as client:
            with pytest.raises(KubeError, match="Connection refused"):
                await client.patch_pod_status("ns", "a", nominated_node="n")
            assert slept == [0.01, 0.05, 0.25]

    asyncio.run(main())


def test_the_api_servers_words_are_in_the_error() -> None:
    async def main() -> None:
        async with fake_api() as api, Client(api.config) as client:
            api.deny(409, 'pod a is already assigned to node "n".', "Conflict")
            with pytest.raises(ApiError) as caught:
                await client.bind("ns", "a", None, "n")
            assert (caught.value.status, caught.value.reason) == (409, "Conflict")
            assert str(caught.value) == (
                f'The API server {api.url} answered 409: pod a is already assigned to node "n".'
            )
            api.deny(403, 'pods is forbidden: User "u" cannot list resource "pods"', "Forbidden")
            with pytest.raises(ApiError, match=r'403.*cannot list resource "pods".*RBAC'):
                await client.request("GET", "/x")
            api.answer(502, b"<html>")
            with pytest.raises(ApiError, match=r"answered 502 Bad Gateway\.$"):
                await client.request("GET", "/x")
            api.answer(302, b"", Location="https://elsewhere/")
            with pytest.raises(ApiError, match="302 Found, a redirection"):
                await client.request("GET", "/x")
            api.answer(599)
            with pytest.raises(ApiError, match=r"answered 599\.$"):
                await client.request("GET", "/x")
            api.deny(404, "not found", "NotFound")
            with pytest.raises(ApiError, match="404: not found"):
                async with client.stream("/x"):
                    pass

    asyncio.run(main())


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_rejected_credentials_are_renewed_once(tmp_path: Path, method: str) -> None:
    file = tmp_path / "token"
    body = None if method == "GET" else b"{}"
    file.write_text("old")

    async def main() -> None:
        async with fake_api() as api:
            config = replace(api.config, auth=TokenFile(file))
            async with Client(config) as client:
                api.tokens = {"old"}
                await client.request(method, "/x", body=body)
                api.tokens = {"new"}
                file.write_text("new")
                await client.request(method, "/x", body=body)
                assert len(api.seen) == 3
                api.tokens = {"newer"}
                file.write_text("newer")
                async with client.stream("/x") as chunks:
                    assert [chunk async for chunk in chunks]
                api.tokens = set()
                count = len(api.seen)
                with pytest.raises(ApiError, match=r"rejected the credentials.*the test"):
                    await client.request(method, "/x", body=body)
                # the file has no other token, so once is enough
                assert len(api.seen) == count + 1
                file.write_text("wrong secret")
                with pytest.raises(ApiError, match="401") as caught:
                    await client.request(method, "/x", body=body)
                assert len(api.seen) == count + 3
                assert "secret" not in str(caught.value)

    asyncio.run(main())


def test_credentials_that_cannot_be_had_are_an_error_of_the_configuration(tmp_path: Path) -> None:
    class Fails(FixedCredentials):
        async def renew(self, rejected: Credentials) -> bool:
            raise ConfigError("no more tokens")

    async def main() -> None:
        async with fake_api() as api:
            async with Client(replace(api.config, auth=TokenFile(tmp_path / "no"))) as client:
                with pytest.raises(ConfigError, match="token file"):
                    await client.request("GET", "/x")
            api.tokens = set()
            async with Client(replace(api.config, auth=Fails(bearer("x")))) as client:
                with pytest.raises(ConfigError, match="no more tokens"):
                    await client.request("GET", "/x")

    asyncio.run(main())


def test_a_busy_api_server_is_asked_again_when_it_says() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def main() -> None:
        async with fake_api() as api, Client(api.config, sleep=sleep) as client:
            api.answer(429, b"", Retry_After="1")
            api.answer(503, b"", Retry_After="2")
            api.answer(200, b"done")
            assert await client.request("POST", "/x", body={}) == b"done"
            assert slept == [1.0, 2.0]
            api.answer(429, b"", Retry_After="31")
            with pytest.raises(ApiError, match="429"):
                await client.request("GET", "/x")
            for text in ("tomorrow", "nan", "inf", "-inf"):
                api.answer(429, b"", Retry_After=text)
                with pytest.raises(ApiError, match="429"):
                    await client.request("GET", "/x")
            assert slept == [1.0, 2.0]
            for _ in range(11):
                api.answer(429, b"", Retry_After="0")
            with pytest.raises(ApiError, match="429"):
                await client.request("GET", "/x")
            assert not api.script

    asyncio.run(main())


def test_waiting_for_a_busy_api_server_counts_as_time_of_the_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits: list[float | None] = []
    exchange = Session.exchange

    async def noting(session: Session, call: ApiRequest) -> ApiReply:
        limits.append(call.seconds)
        return await exchange(session, call)

    async def main() -> None:
        async with fake_api() as api, Client(api.config) as client:
            api.answer(429, b"", Retry_After="0.02")
            await client.request("GET", "/x", seconds=10.0)

    monkeypatch.setattr(Session, "exchange", noting)
    asyncio.run(main())
    first, second = limits
    assert first == 10.0
    assert second is not None
    assert second <= 9.98


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_nobody_at_the_address(method: str) -> None:
    async def main() -> None:
        async with fake_api() as api:
            config = api.config
        async with Client(config) as client:
            with pytest.raises(
                KubeError, match="cannot be reached: Connection refused; check"
            ) as caught:
                await client.request(method, "/x", body=b"{}")
            assert config.server in str(caught.value)
            assert not isinstance(caught.value, ApiError)

    asyncio.run(main())


def test_broken_answers() -> None:
    async def hang_up(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async def half(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"half")
        assert request.transport is not None
        request.transport.close()
        return response

    async def main() -> None:
        async with fake_api() as api, Client(api.config) as client:
            api.script.append(hang_up)
            with pytest.raises(KubeError, match="failed: "):
                await client.request("POST", "/x", body={})
            for method in ("GET", "POST"):
                api.script.append(half)
                with pytest.raises(KubeError, match="the response was truncated"):
                    await client.request(method, "/x", body=b"{}")
            api.script.append(half)
            async with client.stream("/x") as chunks:
                assert await anext(chunks) == b"half"
                with pytest.raises(KubeError, match="the response was truncated"):
                    await anext(chunks)

    asyncio.run(main())


def test_silence_has_a_limit() -> None:
    async def wait(request: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        return web.Response()

    async def main() -> None:
        async with fake_api() as api:
            async with Client(api.config, limits=ClientLimits(request_seconds=0.01)) as client:
                api.script += [wait, wait, wait]
                for method in ("GET", "PATCH"):
                    with pytest.raises(KubeError, match="did not answer in time"):
                        await client.request(method, "/x", body=b"{}")
                with pytest.raises(KubeError, match="did not answer in time"):
                    async with client.stream("/x"):
                        pass
                api.script.clear()  # a request may have been given up before it arrived
            query = {"watch": "true", "resourceVersion": "1"}
            async with (
                Client(api.config, limits=ClientLimits(stream_read_seconds=0.01)) as client,
                client.stream("/x", query) as chunks,
            ):
                assert [chunk async for chunk in chunks] == []

    asyncio.run(main())


@pytest.mark.parametrize("pause", [0.0, 0.001], ids=["a flood", "a trickle"])
def test_an_error_without_an_end_is_that_error(pause: float) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=503)
        await response.prepare(request)
        while True:
            await response.write(b"x" if pause else b"x" * 65536)
            await asyncio.sleep(pause)

    async def main() -> None:
        limits = ClientLimits(request_seconds=0.2 if pause else 30.0)
        async with fake_api() as api, Client(api.config, limits=limits) as client:
            api.script.append(endless)
            with pytest.raises(ApiError, match="503"):
                async with asyncio.timeout(10), client.stream("/x"):
                    pass

    asyncio.run(main())


def test_errors_of_the_one_who_reads_a_stream_stay_what_they_are() -> None:
    async def main() -> None:
        async with fake_api() as api, Client(api.config) as client:

            async def read() -> None:
                async with client.stream("/x"):
                    raise OSError("mine")

            with pytest.raises(OSError, match="mine"):
                await read()

    asyncio.run(main())


def test_a_client_must_be_entered() -> None:
    async def main() -> None:
        async with fake_api() as api:
            for method in ("GET", "POST"):
                with pytest.raises(RuntimeError, match="async with"):
                    await Client(api.config).request(method, "/x", body=b"{}")

    asyncio.run(main())
