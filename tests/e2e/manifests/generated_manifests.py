"""What `moor manifests` writes in every mode and format, for kubectl and any API server."""

import json
from pathlib import Path
from typing import Any, Final

import yaml

from mooring.deploy.manifests.certificates import with_certificates
from mooring.deploy.manifests.choices import ManifestFormat, Mode, TlsSource
from mooring.deploy.manifests.helm_writer import chart
from mooring.deploy.manifests.installation import (
    DeployedPolicy,
    Installation,
    default_scheduler_name,
)
from mooring.deploy.manifests.kustomize_writer import kustomization
from mooring.deploy.manifests.manifest_set import manifest_set
from mooring.deploy.manifests.static_pod_files import static_pod_files
from mooring.deploy.manifests.yaml_writer import yaml_stream
from mooring.framework.loading import load
from tests.unit.deploy.manifests.chart_rendering import ChartRenderer

Objects = list[dict[str, Any]]
NAME: Final = "permitted"
#: Every mode and format that go together.
PAIRS: Final = [
    (Mode.EXTENDER, ManifestFormat.YAML),
    (Mode.EXTENDER, ManifestFormat.KUSTOMIZE),
    (Mode.EXTENDER, ManifestFormat.HELM),
    (Mode.SIDECAR, ManifestFormat.YAML),
    (Mode.SIDECAR, ManifestFormat.KUSTOMIZE),
    (Mode.SIDECAR, ManifestFormat.HELM),
    (Mode.SCHEDULER, ManifestFormat.YAML),
    (Mode.SCHEDULER, ManifestFormat.KUSTOMIZE),
    (Mode.SCHEDULER, ManifestFormat.HELM),
    (Mode.STATIC_POD, ManifestFormat.YAML),
]


def installation(policy: Path, mode: Mode, **options: Any) -> Installation:
    """What is deployed, with certificates that fit the format."""
    tls = TlsSource.NONE
    if mode is Mode.EXTENDER:
        is_chart = options.get("format") is ManifestFormat.HELM
        tls = TlsSource.CERT_MANAGER if is_chart else TlsSource.SELF_SIGNED
    made = Installation(
        mode=mode,
        policy=DeployedPolicy(load(str(policy)), text=policy.read_text()),
        name=NAME,
        namespace=NAME,
        **{"scheduler_name": default_scheduler_name(mode, NAME), "tls": tls} | options,
    )
    return with_certificates(made)


def objects(one: Installation) -> Objects:
    """The objects of plain YAML."""
    return list(yaml.safe_load_all(yaml_stream(manifest_set(one))))


def write(folder: Path, files: dict[str, str]) -> None:
    """Write files by their paths below a folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def for_kubectl(one: Installation, folder: Path) -> tuple[list[str], str | None, int]:
    """What ``kubectl apply`` gets: arguments, standard input, and how many objects there are."""
    if one.mode is Mode.STATIC_POD:
        files = static_pod_files(one)
        write(folder, {name: text for name, text in files.items() if "scheduler.yaml" in name})
        return [f"--filename={folder}"], None, 1
    if one.format is ManifestFormat.KUSTOMIZE:
        write(folder, kustomization(one, manifest_set(one)))
        return [f"--kustomize={folder}"], None, len(manifest_set(one))
    made = objects(one)
    if one.format is ManifestFormat.HELM:
        made = ChartRenderer(chart(one, manifest_set(one)), NAME).objects()
    return ["--filename=-"], stream(made), len(made)


def stream(made: Objects) -> str:
    """Objects as one text."""
    return "---\n".join(json.dumps(each) + "\n" for each in made)
