import asyncio
import json
import ssl
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from mooring.embedded.http.app import MAX_BODY
from mooring.embedded.http.audit import AuditEvent
from mooring.embedded.server import EmbeddedCluster, Options
from mooring.http.tls import Certificates
from mooring.testing.certificates import Authority
from tests.unit.embedded.served_cluster import PATIENCE, Client, pod, run, served

PODS = "/api/v1/namespaces/default/pods"
BARE = Options(kubelet=None, controllers=False)


def test_the_life_of_an_object() -> None:
    async def test(client: Client) -> None:
        created = await client.post(PODS, pod("web", labels={"app": "web"}))
        assert created["metadata"]["namespace"] == "default"
        found = await client.get(f"{PODS}/web")
        assert found == created
        listed = await client.get("/api/v1/pods?labelSelector=app%3Dweb")
        assert (listed["kind"], listed["apiVersion"]) == ("PodList", "v1")
        assert listed["items"] == [created]
        found["metadata"]["labels"]["more"] = "yes"
        code, changed = await client.ask("PUT", f"{PODS}/web", found)
        assert (code, changed["metadata"]["labels"]["more"]) == (200, "yes")
        code, gone = await client.ask("DELETE", f"{PODS}/web")
        assert (code, gone["kind"]) == (200, "Pod")
        code, rejected = await client.ask("GET", f"{PODS}/web")
        assert (code, rejected["reason"], rejected["kind"]) == (404, "NotFound", "Status")

    run(test)


def test_pages() -> None:
    async def test(client: Client) -> None:
        for number in range(5):
            await client.post(PODS, pod(f"p{number}"))
        first = await client.get(f"{PODS}?limit=3")
        assert first["metadata"]["remainingItemCount"] == 2
        token = first["metadata"]["continue"]
        second = await client.get(f"{PODS}?limit=3&continue={token}")
        assert [one["metadata"]["name"] for one in second["items"]] == ["p3", "p4"]
        assert "continue" not in second["metadata"]

    run(test)


def test_many_are_deleted_at_once() -> None:
    async def test(client: Client) -> None:
        for name in ("a", "b", "c"):
            await client.post(PODS, pod(name, labels={"keep": str(name == "c").lower()}))
        code, _ = await client.ask("DELETE", f"{PODS}?labelSelector=keep%3Dfalse")
        assert code == 200
        left = await client.get(PODS)
        assert [one["metadata"]["name"] for one in left["items"]] == ["c"]

    run(test)


def test_a_deletion_is_answered_with_a_status_or_the_object() -> None:
    async def test(client: Client) -> None:
        path = "/api/v1/namespaces/default/configmaps"
        await client.post(
            path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
        )
        code, status = await client.ask("DELETE", f"{path}/c")
        assert (code, status["kind"], status["status"]) == (200, "Status", "Success")
        assert status["details"]["name"] == "c"

    run(test)


@pytest.mark.parametrize("version", ["v1", "scheduling.k8s.io/v1", "made.up/v9"])
@pytest.mark.parametrize("form", ["json", "protobuf"])
def test_delete_options_come_in_any_group_and_version(version: str, form: str) -> None:
    def part(number: int, content: bytes) -> bytes:
        return bytes([number << 3 | 2, len(content)]) + content

    async def test(client: Client) -> None:
        created = await client.post(PODS, pod("p", nodeName="n1"))
        body = json.dumps(
            {"kind": "DeleteOptions", "apiVersion": version, "gracePeriodSeconds": 7}
        ).encode()
        kind = "application/json"
        if form == "protobuf":
            meta = part(1, version.encode()) + part(2, b"DeleteOptions")
            body = b"k8s\x00" + part(1, meta) + part(2, b"\x08\x07")
            kind = "application/vnd.kubernetes.protobuf"
        code, ending = await client.ask("DELETE", f"{PODS}/p", body, content_type=kind)
        assert (code, ending["metadata"]["uid"]) == (200, created["metadata"]["uid"]), ending
        assert ending["metadata"]["deletionGracePeriodSeconds"] == 7

    run(test)


def test_objects_without_kind_and_in_yaml() -> None:
    async def test(client: Client) -> None:
        bare = pod("bare")
        del bare["kind"], bare["apiVersion"]
        assert (await client.post(PODS, bare))["kind"] == "Pod"
        text = "apiVersion: v1\nkind: Pod\nmetadata: {name: yaml}\n"
        text += "spec: {containers: [{name: c, image: i}]}\n"
        code, found = await client.ask("POST", PODS, text, content_type="application/yaml")
        assert (code, found["metadata"]["name"]) == (201, "yaml")

    run(test)


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "code", "words"),
    [
        ("POST", PODS, "{", {}, 400, "couldn't get version/kind"),
        ("POST", PODS, "[]", {}, 400, "not an object"),
        ("POST", PODS, b"\xff", {"content_type": "application/yaml"}, 400, "YAML"),
        ("POST", PODS, "{}", {"content_type": "text/html"}, 415, "JSON"),
        ("POST", PODS, {"kind": "Pod", "apiVersion": "v2"}, {}, 400, "expected API version (v1)"),
        ("POST", PODS, {"kind": "Node", "apiVersion": "v1"}, {}, 400, "cannot be handled as a Pod"),
        ("POST", PODS, {"apiVersion": "v1"}, {}, 400, "'Kind' is missing"),
        ("POST", f"{PODS}?dryRun=Some", {}, {}, 400, "dryRun"),
        ("POST", f"{PODS}?fieldValidation=Sometimes", {}, {}, 400, "fieldValidation"),
        ("POST", "/api/v1/pods", {}, {}, 405, "does not allow this method"),
        ("POST", f"{PODS}/web", {}, {}, 405, "does not allow this method"),
        ("PUT", PODS, {}, {}, 405, "does not allow this method"),
        ("PATCH", f"{PODS}/web", "{}", {"content_type": "text/plain"}, 415, "merge-patch"),
        ("POST", PODS, "[" * 100_000, {}, 400, "json parse error"),
        ("POST", PODS, '{"spec":' * 5000 + "{}" + "}" * 5000, {}, 400, ""),
        (
            "PATCH", "/api/v1/namespaces/default", '{"a":' * 5000 + "1" + "}" * 5000,
            {"content_type": "application/merge-patch+json"}, 400, "nested too deeply",
        ),
        ("DELETE", "/api/v1/namespaces", None, {}, 405, "does not allow this method"),
        ("DELETE", f"{PODS}/web/status", None, {}, 405, "does not allow this method"),
        ("DELETE", f"{PODS}/web", {"kind": "Pod", "apiVersion": "v1"}, {}, 400, "is registered"),
        ("GET", "/api/v1/namespaces/default/bindings", None, {}, 405, "does not allow"),
        ("GET", f"{PODS}/web/binding", None, {}, 405, "does not allow"),
        ("GET", "/api/v1/unicorns", None, {}, 404, "could not find the requested resource"),
        ("GET", "/no/such/path", None, {}, 404, "could not find the requested resource"),
        ("POST", "/no/such/path", {}, {}, 404, "could not find the requested resource"),
        ("GET", PODS, None, {"accept": "application/vnd.kubernetes.protobuf"}, 406, "json"),
        ("GET", f"{PODS}?watch=true&resourceVersion=x", None, {}, 400, "invalid resource version"),
        ("GET", f"{PODS}?watch=1&sendInitialEvents=true", None, {}, 400, "NotOlderThan"),
        ("GET", f"{PODS}?labelSelector=%3D%3D", None, {}, 400, "found '=='"),
        ("OPTIONS", PODS, None, {}, 405, "does not allow"),
    ],
)  # fmt: skip
def test_what_is_rejected(
    method: str, path: str, body: Any, headers: dict[str, str], code: int, words: str
) -> None:
    async def test(client: Client) -> None:
        found, rejected = await client.ask(method, path, body, **headers)
        assert found == code, rejected
        assert rejected["kind"] == "Status"
        assert rejected["code"] == code
        assert words.lower() in json.dumps(rejected).lower()

    run(test)


def test_a_body_that_is_too_large() -> None:
    async def test(client: Client) -> None:
        async with asyncio.timeout(PATIENCE):
            try:
                code, _ = await client.ask("POST", PODS, b"x" * (MAX_BODY + 2))
            except aiohttp.ClientError:
                return  # the connection may be closed before all was sent
            assert code == 413

    run(test)


def test_a_fault_of_our_own_is_told_as_one(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(client: Client) -> None:
        def broken(*args: object) -> None:
            raise RuntimeError("broken on purpose")

        monkeypatch.setattr(client.cluster.api, "get", broken)
        code, rejected = await client.ask("GET", f"{PODS}/web")
        assert (code, rejected["reason"]) == (500, "InternalError")
        assert "broken on purpose" not in json.dumps(rejected)
        assert "broken on purpose" in caplog.text

    run(test)


def test_tables_and_metadata() -> None:
    async def test(client: Client) -> None:
        await client.post(PODS, pod("web"))
        accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
        table = await client.get(PODS, accept=accept)
        assert table["kind"] == "Table"
        assert table["rows"][0]["cells"][:3] == ["web", "0/1", "Pending"]
        one = await client.get(f"{PODS}/web", accept=accept)
        assert one["rows"][0]["cells"][0] == "web"
        accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
        listed = await client.get(PODS, accept=accept)
        assert listed["kind"] == "PartialObjectMetadataList"
        assert "spec" not in listed["items"][0]

    run(test)


def test_unknown_fields_come_back_as_warnings() -> None:
    async def test(client: Client) -> None:
        body = json.dumps(pod("web", nodeSelecter={}))
        url = f"{client.cluster.url}{PODS}?fieldValidation=Warn"
        headers = {"content-type": "application/json"}
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, data=body, headers=headers) as response,
        ):
            assert response.status == 201
            assert response.headers["warning"] == '299 - "unknown field \\"spec.nodeSelecter\\""'

    run(test)


def test_what_needs_containers_says_that_there_are_none() -> None:
    async def test(client: Client) -> None:
        await client.post(PODS, pod("web"))
        for name in ("log", "exec", "portforward"):
            code, rejected = await client.ask("GET", f"{PODS}/web/{name}")
            assert (code, rejected["reason"]) == (501, "NotImplemented")
            assert "runs no containers" in rejected["message"]

    run(test)


def test_a_dry_run_has_no_version() -> None:
    async def test(client: Client) -> None:
        shown = await client.post(f"{PODS}?dryRun=All", pod("web"))
        assert "resourceVersion" not in shown["metadata"]
        assert shown["metadata"]["uid"]
        assert (await client.get(PODS))["items"] == []

    run(test)


def test_events_in_both_forms() -> None:
    async def test(client: Client) -> None:
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "e"},
            "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web"},
            "reason": "Scheduled",
            "message": "it is there",
            "type": "Normal",
        }
        await client.post("/api/v1/namespaces/default/events", event)
        new = "/apis/events.k8s.io/v1/namespaces/default/events"
        assert (await client.get(f"{new}/e"))["note"] == "it is there"
        selected = await client.get(f"{new}?fieldSelector=regarding.name%3Dweb,reason%3DScheduled")
        assert [one["note"] for one in selected["items"]] == ["it is there"]
        assert (await client.get(f"{new}?fieldSelector=type%3DWarning"))["items"] == []
        async with client.watch(new) as watch:
            assert (await watch.next())["object"]["regarding"]["name"] == "web"

    run(test)


def test_what_is_no_resource() -> None:
    async def test(client: Client) -> None:
        for path in ("/healthz", "/livez", "/readyz", "/readyz?verbose"):
            assert await client.get(path) == "ok"
        assert (await client.get("/version"))["gitVersion"].startswith("v1.36")
        groups = {one["name"] for one in (await client.get("/apis"))["groups"]}
        assert {"apps", "batch", "policy", "events.k8s.io"} <= groups
        accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        assert (await client.get("/apis", accept=accept))["kind"] == "APIGroupDiscoveryList"
        assert "paths" in await client.get("/openapi/v3")
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {"verb": "create", "resource": "pods"}},
        }
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        assert (await client.post(path, review))["status"]["allowed"] is True

    run(test)


def test_scale_over_http() -> None:
    async def test(client: Client) -> None:
        template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}
        spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
        path = "/apis/apps/v1/namespaces/default/deployments"
        deployment = {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec,
        }  # fmt: skip
        await client.post(path, deployment)
        scale = await client.get(f"{path}/d/scale")
        assert (scale["kind"], scale["spec"]) == ("Scale", {"replicas": 2})
        assert scale["status"]["selector"] == "a=b"
        accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
        table = await client.get(f"{path}/d/scale", accept=accept)
        assert [one["name"] for one in table["columnDefinitions"]] == [
            "Name", "Desired", "Available", "Age",
        ]  # fmt: skip
        assert table["rows"][0]["cells"][:3] == ["d", 2, 0]
        scale["spec"]["replicas"] = 3
        code, changed = await client.ask("PUT", f"{path}/d/scale", scale)
        assert (code, changed["spec"]["replicas"]) == (200, 3)

    run(test)


# -- who is there


def test_a_token_is_asked_for_and_gives_a_name() -> None:
    heard: list[AuditEvent] = []

    async def test(client: Client) -> None:
        code, rejected = await client.ask("GET", PODS)
        assert (code, rejected["reason"]) == (401, "Unauthorized")
        for wrong in ("Bearer nonsense", "Basic c2VjcmV0", "Bearer"):
            code, _ = await client.ask("GET", PODS, authorization=wrong)
            assert code == 401
        code, _ = await client.ask("POST", PODS, pod("web"), authorization="Bearer secret")
        assert code == 201
        [asked] = heard
        assert (asked.user, asked.verb, asked.resource, asked.code) == (
            "ann",
            "create",
            "pods",
            201,
        )
        assert json.loads(asked.body)["metadata"]["name"] == "web"
        assert asked.received <= asked.completed

    options = Options(kubelet=None, controllers=False, tokens={"secret": "ann"}, closed=True)
    run(test, options, audit=heard.append)


def test_a_service_account_gets_a_token() -> None:
    heard: list[AuditEvent] = []

    async def test(client: Client) -> None:
        path = "/api/v1/namespaces/default/serviceaccounts"
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
        await client.post(path, account)
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        answer = await client.post(f"{path}/robot/token", request)
        token = answer["status"]["token"]
        code, _ = await client.ask("POST", PODS, pod("web"), authorization=f"Bearer {token}")
        assert code == 201
        assert heard[-1].user == "system:serviceaccount:default:robot"

    run(test, audit=heard.append)


def test_what_was_rejected_is_told_to_the_audit_too() -> None:
    heard: list[AuditEvent] = []

    async def test(client: Client) -> None:
        await client.ask("DELETE", f"{PODS}/web")
        await client.ask("GET", f"{PODS}/web")  # reading changes nothing
        assert [(one.verb, one.name, one.code) for one in heard] == [("delete", "web", 404)]

    run(test, audit=heard.append)


def test_a_certificate_gives_a_name(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    serving = authority.server("server")
    certificates = Certificates(serving.certificate, serving.key, authority.file)
    ann = authority.client("ann", "ann", [])
    heard: list[AuditEvent] = []

    async def test() -> None:
        context = ssl.create_default_context(cafile=str(authority.file))
        context.load_cert_chain(ann.certificate, ann.key)
        async with (
            EmbeddedCluster((), BARE, certificates=certificates, audit=heard.append) as cluster,
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session,
        ):
            assert cluster.url.startswith("https://")
            async with session.post(cluster.url + PODS, json=pod("web")) as response:
                assert response.status == 201
        assert [one.user for one in heard] == ["ann"]

    asyncio.run(test())


# -- coming and going


def test_it_comes_back_with_its_data_and_its_port() -> None:
    async def test() -> None:
        async with served(BARE) as client:
            await client.post(PODS, pod("web"))
            url = client.cluster.url
            async with client.watch("/api/v1/pods") as watch:
                await watch.changes(1)
                await client.cluster.go_offline()
                with pytest.raises(aiohttp.ClientError):
                    await watch.next()
            with pytest.raises(aiohttp.ClientError):
                await client.get(f"{PODS}/web")
            await client.cluster.go_online()
            assert client.cluster.url == url
            assert (await client.get(f"{PODS}/web"))["metadata"]["name"] == "web"

    asyncio.run(test())


def test_what_every_cluster_has() -> None:
    async def test(client: Client) -> None:
        namespaces = await client.get("/api/v1/namespaces")
        assert [one["metadata"]["name"] for one in namespaces["items"]] == [
            "default", "kube-node-lease", "kube-public", "kube-system",
        ]  # fmt: skip
        classes = await client.get("/apis/scheduling.k8s.io/v1/priorityclasses")
        assert [one["value"] for one in classes["items"]] == [2_000_000_000, 2_000_001_000]
        critical = pod("web", priorityClassName="system-node-critical")
        path = "/api/v1/namespaces/kube-system/pods"
        assert (await client.post(path, critical))["spec"]["priority"] == 2_000_001_000

    run(test)


def test_objects_of_a_snapshot_are_loaded_and_others_left_out() -> None:
    async def test(client: Client) -> None:
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
        odd = {"apiVersion": "example.com/v1", "kind": "Unicorn", "metadata": {"name": "u"}}
        seen = pod("seen", nodeName="n")
        seen["status"] = {"phase": "Running"}
        assert client.cluster.load([node, odd, seen]) == 2
        assert (await client.get(f"{PODS}/seen"))["status"]["phase"] == "Running"

    run(test)


def test_the_same_seed_gives_the_same_names() -> None:
    def name(seed: int) -> str:
        cluster = EmbeddedCluster((), Options(kubelet=None, controllers=False, seed=seed))
        wanted = pod("")
        wanted["metadata"] = {"generateName": "web-"}
        from mooring.embedded.resources import PODS as RESOURCE

        return cluster.api.create(RESOURCE, wanted, "default").name

    assert name(7) == name(7)
    assert name(7) != name(8)
