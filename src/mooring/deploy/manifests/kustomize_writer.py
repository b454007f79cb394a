"""Manifests as a kustomization: a file for each part, generated ConfigMaps and Secrets.

Called by ``moor manifests`` and ``moor init``. What comes from files (policy, configuration,
certificates) stays a file, of which kustomize makes the object; its name changes with its content,
so that pods are replaced when it does, unless they reload the policy themselves.
"""

from collections.abc import Iterable
from typing import Any

from mooring.deploy.manifests.installation import Installation
from mooring.deploy.manifests.manifest import Manifest
from mooring.deploy.manifests.nodes import Noted, Tree
from mooring.deploy.manifests.plain_objects import plain
from mooring.deploy.manifests.yaml_text import comment_lines, yaml_text
from mooring.deploy.manifests.yaml_writer import yaml_stream


def kustomization(
    installation: Installation,
    manifests: Iterable[Manifest],
    heading: str = "",
    *,
    folder: str = "",
) -> dict[str, str]:
    """The files of a kustomization, by their path.

    Args:
        installation: what is deployed.
        manifests: its objects.
        heading: a comment at the top.
        folder: where all files are but ``kustomization.yaml`` and the policy, with a slash at the
            end.
    """
    files: dict[str, str] = {}
    resources: dict[str, list[Manifest]] = {}
    config_maps: list[Tree] = []
    secrets: list[Tree] = []
    for one in manifests:
        if one.kind == "ConfigMap":
            entry = _generator(one, _written(one, "data", files, folder))
            if installation.reload and one.file == "policy":
                note = "running pods load it again"
                entry["options"]["disableNameSuffixHash"] = Noted(value=True, note=note)
            config_maps.append(entry)
        elif one.kind == "Secret":
            place = f"{folder}{plain(one.object['metadata'])['name']}/"
            entry = _generator(one, _written(one, "stringData", files, place))
            secrets.append(entry | {"type": one.object["type"]})
        else:
            resources.setdefault(f"{folder}{one.file}.yaml", []).append(one)
    name, _, tag = installation.image.rpartition(":")
    made: dict[str, Tree] = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(resources),
        "configMapGenerator": config_maps,
    }
    if secrets:
        made["secretGenerator"] = secrets
    if name and "/" not in tag and "@" not in name:
        made["images"] = [{"name": name, "newName": name, "newTag": tag}]
    text = comment_lines(heading) + yaml_text(made)
    return {
        "kustomization.yaml": text,
        **{path: yaml_stream(group) for path, group in resources.items()},
        **files,
    }


def _written(one: Manifest, field: str, files: dict[str, str], folder: str) -> list[str]:
    """Add the files of an object; their paths."""
    found = []
    data: dict[str, Any] = plain(one.object[field])
    for name, text in data.items():
        path = name if name.endswith(".py") else f"{folder}{name}"
        files[path] = text
        found.append(path)
    return found


def _generator(one: Manifest, paths: list[str]) -> dict[str, Tree]:
    head = plain(one.object["metadata"])
    return {
        "name": head["name"],
        "namespace": head["namespace"],
        "files": paths,
        "options": {"labels": head["labels"]},
    }
