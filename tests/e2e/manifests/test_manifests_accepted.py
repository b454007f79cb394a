"""What `moor manifests` writes is accepted by the real API server, in every mode and format."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.deploy.manifests.choices import ManifestFormat, Mode, TlsSource
from mooring.deploy.manifests.kustomize_writer import kustomization
from mooring.deploy.manifests.manifest_set import manifest_set
from mooring.testing.real_kubernetes import ControlPlane
from tests.e2e.manifests.generated_manifests import (
    NAME,
    PAIRS,
    for_kubectl,
    installation,
    objects,
    write,
)

pytestmark = pytest.mark.kube


@pytest.mark.parametrize(("mode", "form"), PAIRS)
def test_the_api_server_accepts_everything(
    plane: ControlPlane, policy: Path, tmp_path: Path, mode: Mode, form: ManifestFormat
) -> None:
    one = installation(
        policy, mode, format=form, service_monitor=mode is not Mode.STATIC_POD, test_pod=True
    )
    arguments, stdin, count = for_kubectl(one, tmp_path / "made")
    said = plane.kubectl(
        "apply", "--dry-run=server", "--warnings-as-errors", *arguments, stdin=stdin
    )
    assert said.count("(server dry run)\n") == count > 0


def test_the_pods_need_no_privileges(plane: ControlPlane, policy: Path) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    plane.create(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "strict", "labels": labels},
        }
    )
    for mode in (Mode.EXTENDER, Mode.SIDECAR, Mode.SCHEDULER):
        for each in objects(installation(policy, mode, priority_class="system-node-critical")):
            if each["kind"] == "Deployment":
                pod = {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"name": "try", "namespace": "strict"},
                    "spec": each["spec"]["template"]["spec"],
                }
                plane.request("POST", "/api/v1/namespaces/strict/pods?dryRun=All", pod)


def test_a_kustomization_makes_the_same_objects(
    plane: ControlPlane, policy: Path, tmp_path: Path
) -> None:
    for mode in (Mode.EXTENDER, Mode.SIDECAR, Mode.SCHEDULER):
        one = installation(policy, mode, format=ManifestFormat.KUSTOMIZE, tls=TlsSource.NONE)
        folder = tmp_path / mode
        write(folder, kustomization(one, manifest_set(one)))
        built = plane.kubectl("kustomize", str(folder))
        for name in ("policy", "config"):
            built = re.sub(rf"{NAME}-{name}-[a-z0-9]{{10}}\b", f"{NAME}-{name}", built)
        assert _by_name(yaml.safe_load_all(built)) == _by_name(objects(one))


def _by_name(made: Iterable[dict[str, Any]]) -> dict[tuple[str, str], Any]:
    return {(each["kind"], each["metadata"]["name"]): each for each in made}
