"""The scripts of docs/guide/deploy.md that get an extender's files from a cluster, with kubectl."""

import base64
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.testing.real_kubernetes import Binaries
from tests.e2e.full_embedded_control_plane import FullEmbeddedControlPlane

pytestmark = pytest.mark.kube

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "deploy.md").read_text()
CONFIG, CLIENT = (
    block
    for block in re.findall(r"^```sh\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    if "kubectl get" in block
)
NAME = "fair-gpus"
FILES = {"ca.crt": "authority\n", "tls.crt": "certificate\n", "tls.key": "key\n"}


@pytest.fixture
def plane(binaries: Binaries) -> Iterator[FullEmbeddedControlPlane]:
    with FullEmbeddedControlPlane() as running:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}}
        running.create(namespace)
        yield running


def run(plane: FullEmbeddedControlPlane, script: str, folder: Path) -> int:
    path = f"{plane.binaries.kubectl.parent}:{os.environ['PATH']}"
    env = {"PATH": path, "KUBECONFIG": str(plane.kubeconfig), "HOME": str(folder)}
    return subprocess.run(
        ["sh", "-c", script], cwd=folder, env=env, check=False, timeout=120
    ).returncode


def test_the_configuration_is_written(plane: FullEmbeddedControlPlane, tmp_path: Path) -> None:
    metadata = {"name": f"{NAME}-config", "namespace": NAME}
    data = {"config.yaml": "kind: KubeSchedulerConfiguration\n"}
    plane.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    assert run(plane, CONFIG, tmp_path) == 0
    assert (tmp_path / "config.yaml").read_text() == data["config.yaml"]


def test_the_clients_files_are_written_for_their_owner(
    plane: FullEmbeddedControlPlane, tmp_path: Path
) -> None:
    metadata = {"name": f"{NAME}-client", "namespace": NAME}
    data = {name: base64.b64encode(text.encode()).decode() for name, text in FILES.items()}
    plane.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
    assert run(plane, CLIENT, tmp_path) == 0
    made = {one.name: one for one in (tmp_path / "client").iterdir()}
    assert {name: file.read_text() for name, file in made.items()} == FILES
    assert {file.stat().st_mode & 0o777 for file in made.values()} == {0o600}
    made["tls.key"].write_text("mine")
    assert run(plane, CLIENT, tmp_path) != 0
    assert made["tls.key"].read_text() == "mine"


def test_without_the_secret_nothing_is_written(
    plane: FullEmbeddedControlPlane, tmp_path: Path
) -> None:
    assert run(plane, CLIENT, tmp_path) != 0
    assert not (tmp_path / "client").exists()
