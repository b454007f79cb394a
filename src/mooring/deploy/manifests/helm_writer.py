"""Manifests as a Helm chart: templates, values with their defaults, and a schema of these.

A template is the same YAML as without a chart, with settings in place of their values; with the
default values the chart makes the same objects. Never contains a private key.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from mooring.deploy.manifests.installation import Installation
from mooring.deploy.manifests.manifest import Manifest
from mooring.deploy.manifests.nodes import ChartFile, EmbeddedYaml, Noted, Setting, Tree
from mooring.deploy.manifests.object_names import HELPERS, MOST_NAME, helpers
from mooring.deploy.manifests.plain_objects import plain
from mooring.deploy.manifests.yaml_text import (
    chart_file_text,
    comment_lines,
    with_indents,
    yaml_text,
)
from mooring.version import __version__

#: What values are for, by their path.
_ABOUT = {
    "affinity": "Where its pods run.",
    "env": "Environment variables of moor, such as [{name: LOG_LEVEL, value: DEBUG}].",
    "extraArgs": "More arguments of moor, such as [--log-format=json]; the last of two counts.",
    "extraVolumeMounts": "Where the container of moor has extraVolumes, such as\n"
    "[{name: prices, mountPath: /data, readOnly: true}].",
    "extraVolumes": "More volumes, such as [{name: prices, configMap: {name: prices}}].",
    "fullnameOverride": "Another name of all objects. The schedulerName of pods stays the same.",
    "image": "The image with mooring and the libraries of the policy.",
    "imagePullSecrets": "Secrets to pull images with, such as [{name: registry}].",
    "kubeScheduler": "The kube-scheduler beside it: best the version of the cluster.",
    "nameOverride": "The same, if there is no fullnameOverride.",
    "networkPolicy": "Let only the ports in that somebody has to reach.",
    "nodeSelector": "Labels of the nodes its pods run on.",
    "podAnnotations": "More annotations of its pods.",
    "podDisruptionBudget": "When nodes are drained, one pod at a time leaves.",
    "podLabels": "More labels of its pods.",
    "podSecurityContext": "Of its pods: not root.",
    "priorityClass": "Pods that schedule others are not preempted by them. With create: false,\n"
    "the name is that of an existing class; if it is empty, the cluster's default.",
    "replicaCount": "Of several schedulers one works; of several extenders all do.",
    "resources": "More memory for thousands of nodes.",
    "securityContext": "Of its containers: no privileges, a read-only root file system.",
    "service": "How kube-scheduler reaches the extender.",
    "serviceAccount": "Who asks the API server. With create: false, the name is that of one that\n"
    "exists; if it is empty, the namespace's default.",
    "serviceMonitor": "For Prometheus' operator, which may look for additionalLabels, such as\n"
    "{release: prometheus}.",
    "tolerations": "Taints that its pods tolerate.",
    "topologySpreadConstraints": "Replicas on different nodes, if possible.",
}

#: What objects may be called; empty takes the usual name.
_NAMES: Final = ("fullnameOverride", "nameOverride")
_NAME: Final = {
    "type": "string",
    "maxLength": MOST_NAME,
    "pattern": "^([a-z]([-a-z0-9]*[a-z0-9])?)?$",
}


def chart(
    installation: Installation, manifests: Iterable[Manifest], heading: str = ""
) -> dict[str, str]:
    """The files of a chart, by their path.

    Args:
        installation: what is deployed.
        manifests: its objects.
        heading: a comment at the top of the values.
    """
    every = list(manifests)
    found = _found_values(every)
    values = _tree(found)
    files = {
        "Chart.yaml": yaml_text(_chart(installation)),
        "values.yaml": comment_lines(heading) + "\n" + _values_text(values),
        "values.schema.json": json.dumps(_values_schema(found), indent=2) + "\n",
        HELPERS: helpers(installation),
    }
    for name in dict.fromkeys(one.file for one in every):
        parts = [_template(one) for one in every if one.file == name]
        files[f"templates/{name}.yaml"] = "---\n".join(parts)
    for one in every:
        for kind in (ChartFile, EmbeddedYaml):
            files |= {file.name: chart_file_text(file) for file in _found(one.object, kind)}
    return files


def _chart(installation: Installation) -> dict[str, Tree]:
    about = installation.policy.policy.description or f"Policy {installation.policy.policy.name}."
    return {
        "apiVersion": "v2",
        "name": installation.name,
        "description": about,
        "type": "application",
        "version": __version__,
        "appVersion": __version__,
        "kubeVersion": f">=1.{installation.kubernetes.minor}.0-0",
    }


def _template(one: Manifest) -> str:
    text = with_indents(comment_lines(one.comment) + yaml_text(one.object, chart=True))
    if not one.toggle:
        return text
    return f"{{{{- if .Values.{one.toggle} }}}}\n{text}{{{{- end }}}}\n"


def _found_values(manifests: list[Manifest]) -> dict[str, Any]:
    """All values with their defaults, by path."""
    found: dict[str, Any] = {}
    for one in manifests:
        if one.toggle:
            found[one.toggle] = not one.off
        for each in _found(one.object, Setting):
            found |= {path: _written(value) for path, value in each.values.items()}
    return found


def _written(value: Tree) -> Tree:
    """A default value as users see it: with templates in place of what they depend on."""
    match value:
        case Setting():
            return value.template
        case dict():
            return {key: _written(one) for key, one in value.items()}
        case list():
            return [_written(one) for one in value]
        case _:
            return plain(value)


def _tree(found: dict[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path in sorted(found):
        *parents, last = path.split(".")
        at = tree
        for parent in parents:
            at = at.setdefault(parent, {})
        at[last] = found[path]
    return tree


def _values_text(values: dict[str, Any]) -> str:
    parts = [
        comment_lines(_ABOUT.get(key, "")) + yaml_text({key: value})
        for key, value in values.items()
    ]
    return "\n".join(parts)


def _values_schema(found: dict[str, Any]) -> dict[str, Any]:
    """A schema that takes what has the type of the default."""
    made: dict[str, Any] = {"$schema": "http://json-schema.org/draft-07/schema#"} | _mapping()
    for path, value in found.items():
        *parents, last = path.split(".")
        at = made
        for parent in parents:
            at = at["properties"].setdefault(parent, _mapping())
        at["properties"][last] = _NAME if path in _NAMES else _schema(value)
    return _sorted(made)


def _mapping() -> dict[str, Any]:
    return {"type": "object", "properties": {}, "additionalProperties": False}


def _sorted(schema: dict[str, Any]) -> dict[str, Any]:
    if "properties" not in schema:
        return schema
    inner = schema["properties"]
    return schema | {"properties": {key: _sorted(inner[key]) for key in sorted(inner)}}


def _schema(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"type": "boolean"}
        case int():
            return {"type": "integer", "minimum": 0}
        case str():
            return {"type": "string"}
        case list():
            return {"type": "array"}
        case _:
            return {"type": "object"}


def _found(tree: Tree, wanted: type[Any]) -> Iterator[Any]:
    """Everything of a class in an object."""
    if isinstance(tree, wanted):
        yield tree
    match tree:
        case dict():
            parts: Iterable[Tree] = tree.values()
        case list():
            parts = tree
        case Noted():
            parts = [tree.value]
        case EmbeddedYaml():
            parts = [tree.content]
        case _:
            parts = []
    for part in parts:
        yield from _found(part, wanted)
