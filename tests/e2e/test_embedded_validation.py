"""What kube-apiserver says of objects in which something is wrong, compared with our record of it.

Our own answers are compared with the same record in the unit tests. To make the record anew:
``python -m tests.e2e.test_embedded_validation``.
"""

import contextlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mooring.embedded.resources import BY_KIND
from mooring.testing.real_kubernetes import ControlPlane
from tests.unit.embedded.validation.cases import CHANGED, NEW, Obj, changed, plain

pytestmark = pytest.mark.kube

RECORD = Path(__file__).parents[1] / "unit" / "embedded" / "validation" / "causes.json"
NAMESPACE = "default"


def path_of(manifest: Obj, name: str = "") -> str:
    resource = BY_KIND[manifest["apiVersion"], manifest["kind"]]
    root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    place = f"/namespaces/{NAMESPACE}" if resource.namespaced else ""
    return f"{root}{place}/{resource.plural}" + (f"/{name}" if name else "")


def answer(plane: ControlPlane, method: str, path: str, manifest: Obj) -> Any:
    """What the server rejects in a manifest, in short; nothing if it takes it."""
    body = msgspec.json.encode(manifest)
    client = plane.https(plane.port)
    with contextlib.closing(client):
        code, content = client.send(
            method, f"{path}?dryRun=All", body, content_type="application/json"
        )
    if code < 400:
        return []
    status = msgspec.json.decode(content)
    if code != 422:
        return {"code": code, "message": status["message"]}
    causes = status["details"].get("causes") or ()
    return [[one.get("field", ""), one["reason"], plain(one["message"])] for one in causes]


def answer_to_new(plane: ControlPlane, name: str) -> Any:
    return answer(plane, "POST", path_of(NEW[name]), NEW[name])


def answer_to_change(plane: ControlPlane, name: str) -> Any:
    manifest, _, subresource = CHANGED[name]
    stored = plane.request("POST", path_of(manifest), manifest)
    path = path_of(manifest, manifest["metadata"]["name"])
    try:
        wanted = changed(name, stored)
        if manifest["kind"] not in NEED_VERSION:
            del wanted["metadata"]["resourceVersion"]
        return answer(plane, "PUT", f"{path}/{subresource}".rstrip("/"), wanted)
    finally:
        options = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
        plane.request("DELETE", path, options)


NEED_VERSION = frozenset(
    (
        "Lease",
        "PodDisruptionBudget",
        "CSINode",
        "CSIDriver",
        "CSIStorageCapacity",
        "Event",
        "VolumeAttachment",
    )
)


def recorded() -> dict[str, dict[str, Any]]:
    record: dict[str, dict[str, Any]] = msgspec.json.decode(RECORD.read_bytes())
    return record


@pytest.mark.parametrize("name", NEW)
def test_new_objects(control_plane: ControlPlane, name: str) -> None:
    assert answer_to_new(control_plane, name) == recorded()["new"][name]


@pytest.mark.parametrize("name", CHANGED)
def test_changed_objects(control_plane: ControlPlane, name: str) -> None:
    assert answer_to_change(control_plane, name) == recorded()["changed"][name]


def write_record() -> None:
    """Ask a kube-apiserver about all cases and write down what it says."""
    with ControlPlane() as plane:
        record = {
            "new": {name: answer_to_new(plane, name) for name in NEW},
            "changed": {name: answer_to_change(plane, name) for name in CHANGED},
        }
    lines = []
    for part, cases in record.items():
        inner = ",\n".join(
            f"  {msgspec.json.encode(name).decode()}: {msgspec.json.encode(value).decode()}"
            for name, value in cases.items()
        )
        lines.append(f'"{part}": {{\n{inner}\n}}')
    RECORD.write_text("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    write_record()
