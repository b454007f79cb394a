"""What kube-apiserver says of subresources with odd bodies, compared with our record of it.

Our own answers are compared with the same record in the unit tests. To make the record anew:
``python -m tests.e2e.test_embedded_subresources``.
"""

import contextlib
from typing import Any

import msgspec
import pytest

from mooring.testing.real_kubernetes import ControlPlane
from tests.unit.embedded.http.subresource_cases import ACCOUNT, CASES, DEPLOYMENT, POD, RECORD, told

pytestmark = pytest.mark.kube


def answers(plane: ControlPlane, namespace: str) -> dict[str, Any]:
    """What the server says to each case; nothing is changed."""
    for manifest in (ACCOUNT, POD, DEPLOYMENT):
        plane.create({**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}})
    found = {}
    with contextlib.closing(plane.https(plane.port)) as client:
        for name, (method, path, body) in CASES.items():
            code, content = client.send(
                method,
                f"{path}?dryRun=All".replace("NAMESPACE", namespace),
                msgspec.json.encode(body),
                content_type="application/json",
            )
            found[name] = told(code, msgspec.json.decode(content))
    return found


def test_the_record_is_what_kube_apiserver_says(
    control_plane: ControlPlane, namespace: str
) -> None:
    assert answers(control_plane, namespace) == msgspec.json.decode(RECORD.read_bytes())


def write_record() -> None:
    """Ask a kube-apiserver about all cases and write down what it says."""
    with ControlPlane() as plane:
        found = answers(plane, "default")
    lines = (
        f"{msgspec.json.encode(name).decode()}: {msgspec.json.encode(value).decode()}"
        for name, value in found.items()
    )
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    write_record()
