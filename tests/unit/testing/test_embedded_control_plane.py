"""The embedded API server with the face of a control plane."""

import http.client
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from mooring.embedded.http.audit import AuditEvent
from mooring.errors import ApiError, InputError, KubeError
from mooring.testing.embedded_control_plane import EmbeddedControlPlane, audit_event


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[EmbeddedControlPlane]:
    with EmbeddedControlPlane(tmp_path, audited=True) as running:
        yield running


def pod(name: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "main", "image": "pause"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def bind(plane: EmbeddedControlPlane, name: str, node: str) -> None:
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}}
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    plane.request("POST", f"{plane.path('Pod', name)}/binding", {**body, "target": target})


def written(plane: EmbeddedControlPlane) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in plane.audit_file.read_bytes().splitlines()]


def test_objects_are_made_and_removed(plane: EmbeddedControlPlane) -> None:
    plane.create_node("a", cpu="3")
    assert plane.get("Node", "a")["status"]["allocatable"]["cpu"] == "3"
    plane.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    made = pod("web")
    made["metadata"]["namespace"] = "shop"
    plane.create(made)
    assert [one["metadata"]["name"] for one in plane.list_objects("Pod", "shop")] == ["web"]
    plane.delete_namespace("shop")
    assert plane.list_objects("Pod") == []
    with pytest.raises(ApiError, match='namespaces "shop" not found'):
        plane.get("Namespace", "shop")


def test_nothing_lives_there_by_itself(plane: EmbeddedControlPlane) -> None:
    plane.create_node("a")
    plane.create(pod("web"))
    bind(plane, "web", "a")
    found = plane.get("Pod", "web")
    assert (found["spec"]["nodeName"], found["status"]["phase"]) == ("a", "Pending")
    assert plane.list_objects("ServiceAccount") == []


def test_bindings_and_leases_are_written_down_and_nothing_else(plane: EmbeddedControlPlane) -> None:
    plane.create_node("a")
    plane.create(pod("web"))
    bind(plane, "web", "a")
    with pytest.raises(ApiError, match="already assigned"):
        bind(plane, "web", "a")
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "leader", "namespace": "default"},
        "spec": {"holderIdentity": "me"},
    }
    plane.create(lease)
    first, second, third = written(plane)
    assert (first["user"]["username"], first["verb"]) == ("admin", "create")
    assert first["objectRef"] == {
        "resource": "pods", "namespace": "default", "name": "web", "subresource": "binding",
    }  # fmt: skip
    assert first["requestObject"]["target"]["name"] == "a"
    assert [one["responseStatus"]["code"] for one in (first, second, third)] == [201, 409, 201]
    assert first["requestReceivedTimestamp"] <= first["stageTimestamp"]
    assert third["objectRef"]["apiGroup"] == "coordination.k8s.io"
    assert third["requestObject"]["spec"]["holderIdentity"] == "me"


def test_users_are_known_by_their_kubeconfigs(plane: EmbeddedControlPlane) -> None:
    (cluster,) = yaml.safe_load(plane.kubeconfig.read_text())["clusters"]
    assert cluster["cluster"]["server"] == plane.url == f"https://127.0.0.1:{plane.port}"
    file = plane.kubeconfig_for("system:kube-scheduler")
    assert file.name == "system-kube-scheduler.kubeconfig"
    token = yaml.safe_load(file.read_text())["users"][0]["user"]["token"]
    assert status(plane, {"Authorization": f"Bearer {token}"}) == 200
    assert status(plane, {"Authorization": "Bearer another"}) == 401
    assert status(plane, {}) == 401


def status(plane: EmbeddedControlPlane, headers: dict[str, str]) -> int:
    context = ssl.create_default_context(cafile=str(plane.ca_file))
    connection = http.client.HTTPSConnection("127.0.0.1", plane.port, timeout=10, context=context)
    try:
        connection.request("GET", "/api/v1/nodes", headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_the_data_outlives_the_server(plane: EmbeddedControlPlane) -> None:
    plane.create_node("a")
    plane.stop_apiserver()
    with pytest.raises(KubeError, match="got no answer"):
        plane.get("Node", "a")
    plane.stop_apiserver()
    plane.start_apiserver()
    assert plane.get("Node", "a")["metadata"]["name"] == "a"
    with pytest.raises(InputError, match="listening already"):
        plane.start_apiserver()


def test_history_can_be_forgotten(plane: EmbeddedControlPlane) -> None:
    version = plane.create_node("a")["metadata"]["resourceVersion"]
    plane.create_node("b")
    watch = f"/api/v1/nodes?watch=1&timeoutSeconds=1&resourceVersion={version}"
    told = plane.request("GET", watch)
    assert (told["type"], told["object"]["metadata"]["name"]) == ("ADDED", "b")
    plane.compact()
    told = plane.request("GET", watch)
    assert (told["type"], told["object"]["code"]) == ("ERROR", 410)


def test_it_ends_and_leaves_nothing_behind() -> None:
    plane = EmbeddedControlPlane()
    with plane:
        folder = plane.folder
        assert plane.kubeconfig.is_file()
    assert not folder.exists()
    with pytest.raises(KubeError):
        plane.request("GET", "/version")
    plane.stop()
    with pytest.raises(InputError, match="not running"):
        plane.compact()


def test_a_body_that_is_no_json_is_left_out() -> None:
    asked = AuditEvent(
        user="eve", verb="create", group="", resource="pods", subresource="binding",
        namespace="default", name="web", code=400, received=0.0, completed=1.5, body=b"\\xff",
    )  # fmt: skip
    event = audit_event(asked)
    assert "requestObject" not in event
    assert event["requestReceivedTimestamp"] == "1970-01-01T00:00:00.000000Z"
    assert event["stageTimestamp"] == "1970-01-01T00:00:01.500000Z"
