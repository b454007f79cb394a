"""The check of ConfigMaps: whether those that pods mount are there."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mooring.deploy.doctor.checks import needs
from mooring.deploy.doctor.evidence import Evidence, FoundObject, mapping, sequence
from mooring.deploy.doctor.findings import DoctorCheck, DoctorFinding, DoctorSeverity
from mooring.deploy.doctor.schedulers import templates
from mooring.deploy.mounted_files import mounted_file

_MADE_BY_KUBERNETES: Final = ("kube-root-ca.crt", "extension-apiserver-authentication")


def _config_maps(evidence: Evidence) -> Iterator[DoctorFinding]:
    used = {(ns, name) for ns, name, *_ in _mounts(evidence)}
    reached = evidence.cluster is not None and not evidence.cluster.problem
    for namespace, name, owner, path in _mounts(evidence):
        if evidence.find("ConfigMap", namespace, name) is not None or name in _MADE_BY_KUBERNETES:
            continue
        static = owner.file in evidence.static_files  # which cannot use any
        if owner.document is None or static or _is_optional(owner, path):
            continue
        unused = [
            one
            for one in evidence.of_kind("ConfigMap")
            if one.document is not None and (one.namespace, one.name) not in used
        ]
        here = [
            one
            for one in unused
            if one.namespace == namespace and _has_what_is_read(evidence, owner, path, one)
        ]
        live = reached and _may_get(evidence, namespace, name)
        where = ", and the cluster has none either" if live else ""
        if here:
            yield DoctorFinding(
                what=f"There is no ConfigMap {namespace}/{name}{where}; {here[0].title} is there "
                "and nothing mounts it.",
                advice=f"Write name: {here[0].name}.",
                place=owner.place((*path, "name")),
                edits=owner.document.replaced((*path, "name"), here[0].name),
                safe=len(here) == 1,
            )
        elif unused and unused[0].name == name:
            yield DoctorFinding(
                what=f"ConfigMap {name} is in the namespace {unused[0].namespace}, and the pod "
                f"that mounts it is in {namespace}.",
                advice=f"Write namespace: {namespace} in the ConfigMap.",
                place=unused[0].place(("metadata", "namespace")),
                edits=_in_namespace(unused[0], namespace),
            )
        else:
            yield DoctorFinding(
                severity=DoctorSeverity.ERROR if live else DoctorSeverity.WARNING,
                what=f"The manifests have no ConfigMap {namespace}/{name}{where}: the pod waits "
                "for it.",
                advice=f"Run kubectl create configmap {name} -n {namespace} --from-file=FILE.",
                place=owner.place((*path, "name")),
            )


def _may_get(evidence: Evidence, namespace: str, name: str) -> bool:
    cluster = evidence.cluster
    return cluster is not None and cluster.may_read("configmaps", namespace, name)


def _mounts(
    evidence: Evidence,
) -> Iterator[tuple[str, str, FoundObject, tuple[str | int, ...]]]:
    """Namespace, name, who refers to it and where, of each ConfigMap that something reads."""
    for template in templates(evidence):
        for index, one in enumerate(sequence(template.spec.get("volumes"))):
            volume = (*template.path, "volumes", index)
            for path, source in _sources(mapping(one), volume):
                yield template.owner.namespace, str(source["name"]), template.owner, path
    for found in evidence.configurations:
        # The Policy of an old configuration; moor migrate reads both.
        algorithm = mapping(found.data.get("algorithmSource"))
        source = mapping(mapping(algorithm.get("policy")).get("configMap"))
        if source.get("name") and found.owner is not None:
            namespace = str(source.get("namespace") or "default")
            yield namespace, str(source["name"]), FoundObject(data={}), ()


def _sources(
    volume: Mapping[str, Any], path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Any]]]:
    """The ConfigMaps of a volume, and where it names each; a projected one may have several."""
    projected = sequence(mapping(volume.get("projected")).get("sources"))
    parts = [(path, volume)]
    parts += [
        ((*path, "projected", "sources", at), mapping(one)) for at, one in enumerate(projected)
    ]
    for where, part in parts:
        source = mapping(part.get("configMap"))
        if source.get("name"):
            yield (*where, "configMap"), source


def _has_what_is_read(
    evidence: Evidence, owner: FoundObject, path: tuple[str | int, ...], found: FoundObject
) -> bool:
    """Whether a ConfigMap has a file that an argument of the pod names in this volume."""
    keys = mapping(found.data.get("data"))
    configurations = [one for one in evidence.configurations if one.owner is found]
    volume = path[: path.index("volumes") + 2] if "volumes" in path else ()
    for template in templates(evidence):
        if template.owner is not owner:
            continue
        for _, container in template.containers():
            for word in sequence(container.get("command")) + sequence(container.get("args")):
                flag, _, value = str(word).rpartition("=")
                where = mounted_file(template.spec, container, value) if value[:1] == "/" else None
                if where is None or (*template.path, "volumes", where.volume) != volume:
                    continue
                if where.key in keys or (flag == "--config" and configurations):
                    return True
    return False


def _is_optional(owner: FoundObject, path: tuple[str | int, ...]) -> bool:
    found: Any = owner.data
    for step in path:
        found = found[step]
    return isinstance(found, Mapping) and found.get("optional") is True


def _in_namespace(found: FoundObject, namespace: str) -> Any:
    document = found.document
    if document is None:
        return ()
    if mapping(found.data.get("metadata")).get("namespace"):
        return document.replaced(("metadata", "namespace"), namespace)
    return document.inserted(("metadata", "name"), f"namespace: {namespace}")


CHECKS: Final = (
    DoctorCheck(
        id="configmap-name",
        title="the ConfigMaps that pods mount exist",
        why="A pod whose ConfigMap does not exist stays in ContainerCreating and says so only in "
        "an event.",
        judge=_config_maps,
        lacks=needs.objects,
    ),
)
