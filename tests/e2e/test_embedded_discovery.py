"""Discovery and OpenAPI of the embedded API server, compared with kube-apiserver's.

kubectl talks to a server that has nothing but these documents.
"""

import subprocess
import threading
from collections.abc import Callable, Iterator
from http.client import HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from mooring.embedded.http.discovery import AGGREGATED, GROUPS, discovery_document
from mooring.embedded.http.openapi import (
    V2_PROTOBUF,
    V2_PROTOBUF_ANSWER,
    openapi_bytes,
    openapi_document,
    openapi_v2_protobuf,
)
from mooring.embedded.http.reviews import review
from mooring.embedded.resources import Obj
from mooring.embedded.schema.protobuf import PROTOBUF, read_protobuf
from mooring.testing.real_kubernetes import Binaries, ControlPlane

pytestmark = pytest.mark.kube

VERSIONS = ["/api/v1", *(f"/apis/{group}/v1" for group in GROUPS)]


# -- compared


@pytest.mark.parametrize("path", VERSIONS)
def test_resources_are_told_as_the_real_server_does(control_plane: ControlPlane, path: str) -> None:
    ours = discovery_document(path)
    real = control_plane.request("GET", path)
    assert ours is not None
    known = {one["name"]: one for one in real.pop("resources")}
    for one in known.values():
        one.pop("storageVersionHash", None)
    entries = ours["resources"]
    assert {**ours, "resources": None} == {**real, "resources": None}
    assert [one["name"] for one in entries] == [one for one in known if one in _names(entries)]
    for one in entries:
        assert one == known[one["name"]]


def _names(entries: list[Obj]) -> set[str]:
    return {one["name"] for one in entries}


def test_groups_are_told_in_the_same_order(control_plane: ControlPlane) -> None:
    ours, real = discovery_document("/apis"), control_plane.request("GET", "/apis")
    assert ours is not None
    assert ours["groups"] == [one for one in real["groups"] if one["name"] in GROUPS]
    for group in GROUPS:
        path = f"/apis/{group}"
        assert discovery_document(path) == control_plane.request("GET", path)


@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_everything_at_once_is_told_as_the_real_server_does(
    control_plane: ControlPlane, path: str
) -> None:
    ours, real = discovery_document(path, aggregated=True), _aggregated(control_plane, path)
    assert ours is not None
    known = {one["metadata"].get("name", ""): one for one in real.pop("items")}
    assert {**ours, "items": None} == {**real, "items": None}
    for group in ours["items"]:
        expected = known[group["metadata"].get("name", "")]
        resources = group["versions"][0]["resources"]
        theirs = {one["resource"]: one for one in expected["versions"][0].pop("resources")}
        assert {**group["versions"][0], "resources": None} == {
            **expected["versions"][0],
            "resources": None,
        }
        for one in resources:
            other = theirs[one["resource"]]
            parts = {part["subresource"]: part for part in other.pop("subresources", [])}
            assert {**one, "subresources": None} == {**other, "subresources": None}
            for part in one.get("subresources", []):
                assert part == parts[part["subresource"]]


def _aggregated(plane: ControlPlane, path: str) -> Any:
    client = plane.https(plane.port)
    connection = HTTPSConnection("127.0.0.1", plane.port, context=client._context, timeout=30)
    try:
        connection.request("GET", path, headers={"Accept": AGGREGATED})
        response = connection.getresponse()
        assert response.headers["Content-Type"] == AGGREGATED
        return msgspec.json.decode(response.read())
    finally:
        connection.close()


@pytest.mark.parametrize("path", VERSIONS)
def test_schemas_are_those_of_the_real_server(control_plane: ControlPlane, path: str) -> None:
    ours = openapi_document(f"/openapi/v3{path}")
    real = control_plane.request("GET", f"/openapi/v3{path}")
    assert ours is not None
    for name, schema in ours["components"]["schemas"].items():
        if name.endswith((".DeleteOptions", ".Status")):
            continue  # their kinds are listed for all groups
        theirs = real["components"]["schemas"].get(name)
        if theirs is not None:
            assert _facts(schema) == _facts(theirs), name


def _facts(schema: Any) -> Any:
    """A schema without descriptions and without what says nothing."""
    if isinstance(schema, list):
        return [_facts(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if set(schema) == {"$ref"}:
        return {"allOf": [schema]}
    facts = {
        key: [schema[key][0]] if key == "allOf" else _facts(value)
        for key, value in schema.items()
        if key not in ("description", "x-kubernetes-unions", "properties")
    }
    if schema.get("properties"):
        facts["properties"] = {name: _facts(one) for name, one in schema["properties"].items()}
    if "required" in facts:
        facts["required"].sort()
    if facts.get("default") in ({}, "", 0):
        del facts["default"]
    if facts.get("x-kubernetes-list-type") == "atomic":
        del facts["x-kubernetes-list-type"]
    return facts


@pytest.mark.parametrize("path", VERSIONS)
def test_paths_and_verbs_are_those_of_the_real_server(
    control_plane: ControlPlane, path: str
) -> None:
    ours = openapi_document(f"/openapi/v3{path}")
    real = control_plane.request("GET", f"/openapi/v3{path}")
    assert ours is not None
    kind = "x-kubernetes-group-version-kind"
    for place, operations in ours["paths"].items():
        for method, operation in operations.items():
            if method == "parameters":
                continue
            theirs = real["paths"][place][method]
            assert operation[kind] == theirs[kind], (place, method)
            assert operation["x-kubernetes-action"] == theirs["x-kubernetes-action"]
            names = {one["name"] for one in theirs["parameters"]} if "parameters" in theirs else ()
            names = {*names, *(one["name"] for one in real["paths"][place].get("parameters", ()))}
            assert {one["name"] for one in operation["parameters"]} <= names, (place, method)
            if method == "patch":
                assert set(operation["requestBody"]["content"]) <= set(
                    theirs["requestBody"]["content"]
                )


# -- kubectl


class Documents(BaseHTTPRequestHandler):
    """Serves the documents; accepts every object without a look at it."""

    protocol_version = "HTTP/1.1"
    asked: list[str]

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        self.asked.append(path)
        accepted = self.headers.get("Accept", "")
        aggregated = AGGREGATED in accepted
        if path == "/openapi/v2" and V2_PROTOBUF in accepted:
            self._answer(200, openapi_v2_protobuf(), V2_PROTOBUF_ANSWER)
        elif (body := openapi_bytes(path)) is not None:
            self._answer(200, body)
        elif (document := discovery_document(path, aggregated)) is not None:
            told = AGGREGATED if aggregated and path in ("/api", "/apis") else "application/json"
            self._answer(200, msgspec.json.encode(document), told)
        else:
            status = {"kind": "Status", "apiVersion": "v1", "reason": "NotFound", "code": 404}
            self._answer(404, msgspec.json.encode({**status, "status": "Failure"}))

    def do_POST(self) -> None:
        url = urlsplit(self.path)
        self.asked.append(f"POST {url.path}?{url.query}")
        content = self.rfile.read(int(self.headers["Content-Length"]))
        protobuf = self.headers["Content-Type"] == PROTOBUF
        body: Obj = read_protobuf(content) if protobuf else msgspec.json.decode(content)
        if "reviews" in url.path:
            body = review(url.path.rpartition("/")[2], body, "somebody")
        self._answer(201, msgspec.json.encode(body))

    def _answer(self, code: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Be quiet."""


Kubectl = Callable[..., str]


@pytest.fixture
def asked() -> list[str]:
    """What the server was asked for."""
    return []


@pytest.fixture
def kubectl(binaries: Binaries, tmp_path: Path, asked: list[str]) -> Iterator[Kubectl]:
    handler = type("Handler", (Documents,), {"asked": asked})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()

    def run(*args: str, stdin: str = "") -> str:
        done = subprocess.run(
            [
                str(binaries.kubectl),
                f"--server=http://127.0.0.1:{server.server_port}",
                f"--cache-dir={tmp_path}",
                "--kubeconfig=/dev/null",
                *args,
            ],
            input=stdin, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    yield run
    server.shutdown()
    thread.join()
    server.server_close()


def test_kubectl_knows_the_version_and_does_not_warn(kubectl: Kubectl) -> None:
    assert "Server Version: v1.36.4\n" in kubectl("version")


def test_kubectl_lists_the_resources(kubectl: Kubectl, asked: list[str]) -> None:
    lines = kubectl("api-resources", "-o", "wide").splitlines()
    assert any(
        line.split()[:5] == ["pods", "po", "v1", "true", "Pod"] and line.endswith(" all")
        for line in lines
    )
    assert sorted(asked) == ["/api", "/apis"], "the aggregated form is enough"
    assert len(lines) == 49


def test_kubectl_explains(kubectl: Kubectl) -> None:
    told = kubectl("explain", "pod.spec.tolerations")
    assert "FIELD: tolerations <[]Toleration>" in told
    assert "tolerationSeconds\t<integer>" in told
    assert "GROUP:      apps" in kubectl("explain", "deploy", "--recursive")


BINDING = """
apiVersion: v1
kind: Binding
metadata: {name: a}
target: {apiVersion: v1, kind: Node, name: b}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: a, image: b}]}
"""
LIST = """
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a}
"""


def test_kubectl_leaves_the_check_of_fields_to_the_server(
    kubectl: Kubectl, asked: list[str]
) -> None:
    assert kubectl("create", "-f", "-", stdin=POD) == "pod/a created\n"
    assert "/openapi/v2" not in asked
    assert "fieldValidation=Strict" in asked[-1]


@pytest.mark.parametrize(
    ("manifest", "told"),
    [(BINDING, "binding/a created\n"), (LIST, "configmap/a created\n")],
    ids=["Binding", "List"],
)
def test_kubectl_is_content_with_an_empty_version_2(
    kubectl: Kubectl, asked: list[str], manifest: str, told: str
) -> None:
    assert kubectl("create", "-f", "-", stdin=manifest) == told
    assert "/openapi/v2" in asked


def test_kubectl_sends_protobuf(kubectl: Kubectl, asked: list[str]) -> None:
    assert kubectl("create", "namespace", "a") == "namespace/a created\n"
    assert kubectl("create", "deployment", "b", "--image=c") == "deployment.apps/b created\n"
    told = kubectl("create", "priorityclass", "c", "--value=5", "-o", "jsonpath={.value}")
    assert told == "5"
    assert asked[-1].startswith("POST /apis/scheduling.k8s.io/v1/priorityclasses?")


def test_kubectl_asks_about_permissions(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "create", "pods") == "yes\n"
    assert kubectl("auth", "can-i", "--list").splitlines()[1].split() == ["*.*", "[]", "[]", "[*]"]
    assert "somebody" in kubectl("auth", "whoami")
