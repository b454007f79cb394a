"""The real Helm makes the same objects of our charts as `moor manifests --format yaml`.

Helm is built from its Go module, which takes some minutes the first time.
"""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.deploy.manifests.choices import ManifestFormat, Mode, TlsSource
from mooring.deploy.manifests.helm_writer import chart
from mooring.deploy.manifests.installation import (
    DeployedPolicy,
    Installation,
    default_scheduler_name,
)
from mooring.deploy.manifests.manifest_set import manifest_set
from mooring.deploy.manifests.plain_objects import plain
from mooring.framework.loading import load

ROOT = Path(__file__).parents[2]
HELM = "helm.sh/helm/v3/cmd/helm@v3.19.0"
POLICY = ROOT / "examples" / "05-gpu-packing" / "policy.py"


@pytest.fixture(scope="module")
def helm() -> Path:
    """The program; MOORING_HELM names one that is there already."""
    if "MOORING_HELM" in os.environ:
        return Path(os.environ["MOORING_HELM"])
    folder = Path.home() / ".cache" / "mooring" / "helm"
    if not (folder / "helm").exists():
        folder.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "GOBIN": str(folder)}
        subprocess.run(["go", "install", HELM], env=environment, check=True)
    return folder / "helm"


def run(*command: str | Path) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout


def installation(mode: Mode, **options: Any) -> Installation:
    tls = TlsSource.CERT_MANAGER if mode is Mode.EXTENDER else TlsSource.NONE
    return Installation(
        mode=mode,
        policy=DeployedPolicy(load(str(POLICY)), text=POLICY.read_text()),
        name="gpu-packing",
        namespace="placing",
        scheduler_name=default_scheduler_name(mode, "gpu-packing"),
        tls=tls,
        **options,
    )


def by_name(made: Any) -> dict[tuple[str, str], Any]:
    return {(one["kind"], one["metadata"]["name"]): one for one in made if one}


@pytest.mark.parametrize("mode", [Mode.EXTENDER, Mode.SIDECAR, Mode.SCHEDULER])
@pytest.mark.parametrize("service_monitor", [False, True])
def test_helm_makes_the_same_objects(
    helm: Path, tmp_path: Path, mode: Mode, service_monitor: bool
) -> None:
    options = {"service_monitor": service_monitor, "test_pod": True}
    charted = installation(mode, format=ManifestFormat.HELM, **options)
    for path, text in chart(charted, manifest_set(charted)).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    run(helm, "lint", "--strict", tmp_path)
    made = run(
        helm, "template", "any", tmp_path, "--namespace=placing", "--kube-version=1.36.4"
    )  # fmt: skip
    plainly = manifest_set(installation(mode, **options))
    expected = [plain(one.object) for one in plainly if one.kind != "Namespace"]
    rendered = by_name(yaml.safe_load_all(made))
    hook = rendered["Pod", "gpu-packing-test"]["metadata"].pop("annotations")
    assert hook["helm.sh/hook"] == "test"
    assert rendered == by_name(expected)


def test_no_pod_names_a_priority_class_that_does_not_exist(helm: Path) -> None:
    folder = ROOT / "deploy" / "chart"
    for values, classes, used in (
        ([], ["mooring-scheduler.default"], "mooring-scheduler.default"),
        (["--set=priorityClass.name=mine"], ["mine"], "mine"),
        (["--set=priorityClass.create=false"], [], ""),
    ):
        said = run(helm, "template", "any", folder, "--kube-version=1.36.4", *values)
        made = by_name(yaml.safe_load_all(said))
        assert [name for kind, name in made if kind == "PriorityClass"] == classes
        pod = made["Deployment", "mooring-scheduler"]["spec"]["template"]["spec"]
        assert pod["priorityClassName"] == used


def test_names_and_accounts_are_those_of_the_values(helm: Path) -> None:
    folder = ROOT / "deploy" / "chart"
    given = {
        "fullnameOverride": "other",
        "serviceAccount.name": "mine",
        "serviceAccount.create": "false",
        "extraArgs": "{--log-format=json}",
        "podSecurityContext.runAsUser": "7",
        "securityContext.runAsGroup": "8",
    }
    values = [f"--set={path}={value}" for path, value in given.items()]
    said = run(helm, "template", "any", folder, "--kube-version=1.36.4", *values)
    assert "mooring-scheduler" not in said.replace("schedulerName: mooring-scheduler", "").replace(
        "Source: mooring-scheduler/", ""
    )
    made = by_name(yaml.safe_load_all(said))
    assert "ServiceAccount" not in {kind for kind, _ in made}
    assert made["RoleBinding", "other-lease"]["subjects"][0]["name"] == "mine"
    pod = made["Deployment", "other"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "mine"
    assert pod["securityContext"]["runAsUser"] == 7
    (spread,) = pod["topologySpreadConstraints"]
    assert spread["labelSelector"]["matchLabels"] == {"app.kubernetes.io/name": "other"}
    (container,) = pod["containers"]
    assert container["args"][-1] == "--log-format=json"
    assert container["securityContext"]["runAsGroup"] == 8


def test_values_that_fit_no_schema_are_rejected(helm: Path) -> None:
    folder = ROOT / "deploy" / "chart"
    for value in ("replicaCount=many", "replicas=3", "fullnameOverride=Not.One"):
        done = subprocess.run(
            [helm, "template", "any", folder, "--kube-version=1.36.4", f"--set={value}"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode != 0
        assert value.partition("=")[0] in done.stderr
