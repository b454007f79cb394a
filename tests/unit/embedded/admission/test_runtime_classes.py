"""A pod gets overhead, node selector and tolerations from its RuntimeClass."""

from typing import Any

import pytest

from mooring.embedded.resources import PODS, RUNTIME_CLASSES, Obj
from mooring.embedded.status_errors import StatusError
from tests.unit.embedded.fake_api_server import FakeApiServer, manifest, pod

TOLERATION = {"key": "kata", "operator": "Exists", "effect": "NoSchedule"}


@pytest.fixture
def server() -> FakeApiServer:
    server = FakeApiServer()
    runtime_class = manifest(
        "node.k8s.io/v1", "RuntimeClass", "kata", handler="kata",
        overhead={"podFixed": {"cpu": "250m"}},
        scheduling={"nodeSelector": {"runtime": "kata"}, "tolerations": [TOLERATION]},
    )  # fmt: skip
    server.api.create(RUNTIME_CLASSES, runtime_class)
    return server


def created(server: FakeApiServer, **spec: Any) -> Obj:
    made = pod("p")
    made["spec"].update(spec)
    found: Obj = server.api.create(PODS, made, "default").obj["spec"]
    return found


def test_a_pod_gets_what_its_class_says(server: FakeApiServer) -> None:
    spec = created(server, runtimeClassName="kata", nodeSelector={"disk": "ssd"})
    assert spec["overhead"] == {"cpu": "250m"}
    assert spec["nodeSelector"] == {"disk": "ssd", "runtime": "kata"}
    assert TOLERATION in spec["tolerations"]


def test_a_pod_may_say_the_same(server: FakeApiServer) -> None:
    spec = created(server, runtimeClassName="kata", overhead={"cpu": "0.25"})
    assert spec["overhead"] == {"cpu": "250m"}


@pytest.mark.parametrize("name", [None, "unknown"])
def test_other_pods_stay_as_they_are(server: FakeApiServer, name: str | None) -> None:
    spec = created(server, **({"runtimeClassName": name} if name else {}))
    assert "overhead" not in spec
    assert "nodeSelector" not in spec


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"overhead": {"cpu": "1"}}, "Pod's Overhead doesn't match"),
        ({"nodeSelector": {"runtime": "runc"}}, "runtimeClass.scheduling.nodeSelector[runtime]"),
    ],
)
def test_what_contradicts_the_class_is_rejected(
    server: FakeApiServer, spec: Obj, words: str
) -> None:
    with pytest.raises(StatusError) as caught:
        created(server, runtimeClassName="kata", **spec)
    assert caught.value.code == 403
    assert words in str(caught.value)


@pytest.mark.parametrize("handler", ["", "Not_A_Label"])
def test_a_class_without_a_proper_handler_is_rejected(server: FakeApiServer, handler: str) -> None:
    wrong = manifest("node.k8s.io/v1", "RuntimeClass", "wrong", handler=handler)
    with pytest.raises(StatusError) as caught:
        server.api.create(RUNTIME_CLASSES, wrong)
    assert caught.value.code == 422
    assert "handler" in str(caught.value)


def test_the_handler_of_a_class_does_not_change(server: FakeApiServer) -> None:
    obj = server.api.get(RUNTIME_CLASSES, "", "kata").obj
    obj["handler"] = "other"
    with pytest.raises(StatusError) as caught:
        server.api.update(RUNTIME_CLASSES, obj, "", "kata")
    assert "handler: Invalid value" in str(caught.value)
