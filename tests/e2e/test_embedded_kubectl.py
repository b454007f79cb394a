"""kubectl on the embedded cluster: the same answers as on the real API server, command by command.

The scripts in `tests/e2e/kubectl` run on both servers, without controllers and without a kubelet;
what kubectl prints and how it ends must be equal.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from difflib import unified_diff
from pathlib import Path

import pytest

from mooring.testing.embedded_control_plane import EmbeddedControlPlane
from mooring.testing.real_kubernetes import BaseControlPlane, Binaries, ControlPlane
from tests.e2e.kubectl_scripts import FOLDER, Command, Kubectl, comparable, read_script

pytestmark = pytest.mark.kube

SCRIPTS = sorted(file.stem for file in FOLDER.glob("*.txt"))
#: Kinds without a namespace that could disturb other tests.
WIDE = {
    "DeviceClass": "resource.k8s.io/v1",
    "ResourceSlice": "resource.k8s.io/v1",
    "Node": "v1",
    "PersistentVolume": "v1",
    "PriorityClass": "scheduling.k8s.io/v1",
    "StorageClass": "storage.k8s.io/v1",
}


@pytest.fixture(scope="module")
def embedded(binaries: Binaries) -> Iterator[BaseControlPlane]:
    with EmbeddedControlPlane() as running:
        yield running


def run(plane: BaseControlPlane, folder: Path, name: str) -> list[list[str]]:
    """What a script comes to in a namespace of its own: the comparable lines of each command."""
    namespace = f"kubectl-{name.replace('_', '-')}"
    plane.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    editor = folder / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/c: .*/c: edited/' \"$1\"\n")
    editor.chmod(0o755)
    env = {"KUBE_EDITOR": str(editor)}
    kubectl = Kubectl(plane.binaries, plane.kubeconfig, folder, namespace, env)
    commands = script(name)
    try:
        answers = zip(commands, kubectl.script(commands), strict=True)
        return [comparable(command, answer) for command, answer in answers]
    finally:
        kubectl.run("delete", "all,pdb,leases,roles,rolebindings", "--all", "--wait=false")
        clean_up(plane, namespace)


def clean_up(plane: BaseControlPlane, namespace: str) -> None:
    """Remove what a script made and may have left, whatever came of it."""
    for one in plane.list_objects("Namespace"):
        if one["metadata"]["name"].endswith(namespace):
            plane.delete_namespace(one["metadata"]["name"])
    for kind, api_version in WIDE.items():
        for one in plane.list_objects(kind, api_version=api_version):
            if one["metadata"]["name"].endswith(namespace):
                plane.delete(kind, one["metadata"]["name"], api_version=api_version)


def script(name: str) -> list[Command]:
    return read_script((FOLDER / f"{name}.txt").read_text())


@pytest.mark.parametrize("name", SCRIPTS)
def test_kubectl_prints_the_same_as_on_kube_apiserver(
    name: str, control_plane: ControlPlane, embedded: BaseControlPlane, tmp_path: Path
) -> None:
    folders = tmp_path / "real", tmp_path / "embedded"
    for folder in folders:
        folder.mkdir()
    with ThreadPoolExecutor(2) as pool:
        real, ours = pool.map(run, (control_plane, embedded), folders, (name, name))
    wrong: list[str] = []
    for command, expected, found in zip(script(name), real, ours, strict=True):
        if command.mark != "!":
            wrong += unified_diff(expected, found, "kube-apiserver", "embedded", n=9, lineterm="")
        elif expected == found:
            wrong.append(f"no longer different, so its mark can go: {expected[0]}")
    text = "\n".join(wrong)
    assert not wrong, text
