"""Checks of manifests: whether they can be read, what they refer to, what a static pod may not."""

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, Final

from mooring.deploy.doctor.checks import needs
from mooring.deploy.doctor.evidence import Evidence, FoundObject, mapping, sequence
from mooring.deploy.doctor.findings import DoctorCheck, DoctorFinding, DoctorSeverity, FindingPlace
from mooring.deploy.doctor.schedulers import (
    MOOR_SERVE,
    PodTemplate,
    key_in_volume,
    processes,
    templates,
    volume_at,
)

_MANIFEST_SUFFIXES: Final = (".yaml", ".yml", ".json")
#: ConfigMaps that Kubernetes makes itself.
_FURNITURE: Final = ("kube-root-ca.crt", "extension-apiserver-authentication")


def _unparsable(evidence: Evidence) -> Iterator[DoctorFinding]:
    for one in evidence.broken:
        if one.file not in evidence.static_files:
            yield DoctorFinding(
                severity=DoctorSeverity.WARNING if one.is_yaml else DoctorSeverity.ERROR,
                what=f"This is no manifest: {one.problem}."
                if one.is_yaml
                else f"The file cannot be read: {one.problem}.",
                advice="Give its kind and apiVersion, or leave the file out."
                if one.is_yaml
                else "Correct the line.",
                place=FindingPlace(one.file, one.line),
            )


def _static_unparsable(evidence: Evidence) -> Iterator[DoctorFinding]:
    advice = "Correct the file outside of the folder, and move it there when it is right."
    for one in evidence.broken:
        if one.file in evidence.static_files:
            yield DoctorFinding(
                what=f"The kubelet cannot read the file ({one.problem}), so the pod disappears.",
                advice=advice,
                place=FindingPlace(one.file, one.line),
            )
    seen: set[str] = set()
    for found in evidence.objects:
        if found.file not in evidence.static_files or found.file in seen:
            continue
        seen.add(found.file)
        if found.documents > 1:
            yield DoctorFinding(
                what=f"The file has {found.documents} documents, and the kubelet reads the first "
                "one alone.",
                advice="Leave only the Pod in the file, and apply the others with kubectl apply.",
                place=FindingPlace(found.file, 1, found.title),
            )
        problem = _not_a_pod(found)
        if problem:
            yield DoctorFinding(
                what=f"The kubelet rejects the file, since {problem}.",
                advice=advice,
                place=found.place(),
            )


def _not_a_pod(found: FoundObject) -> str:
    if found.kind != "Pod" or found.data.get("apiVersion") != "v1":
        return f"it is no Pod of v1 but a {found.kind} of {found.data.get('apiVersion')}"
    if not found.name:
        return "the Pod has no name"
    containers = sequence(mapping(found.data.get("spec")).get("containers"))
    if not containers:
        return "the Pod has no containers"
    for one in containers:
        if not mapping(one).get("name") or not mapping(one).get("image"):
            return "a container has no name or no image"
    return ""


def _static_references(evidence: Evidence) -> Iterator[DoctorFinding]:
    for template in templates(evidence):
        owner = template.owner
        if owner.kind != "Pod":
            continue
        static = owner.file in evidence.static_files
        if not static and not _looks_static(owner):
            continue
        for path, what in _references(template):
            severity = DoctorSeverity.ERROR if static else DoctorSeverity.WARNING
            clause = "" if static else ", should this become one"
            yield DoctorFinding(
                severity=severity,
                what=f"A static pod cannot use {what}{clause}: the kubelet rejects it.",
                advice="Put the file on the host and mount it with hostPath"
                + (" (kubeconfig: /etc/kubernetes/scheduler.conf)." if "account" in what else ".")
                + ("" if static else " Or make this pod a Deployment."),
                place=owner.place(path),
            )


def _references(template: PodTemplate) -> Iterator[tuple[tuple[str | int, ...], str]]:
    # parity v1.36.4: pkg/kubelet/config/common.go, PreventStaticPodAPIReferences
    account = template.spec.get("serviceAccountName") or template.spec.get("serviceAccount")
    if account:
        yield (*template.path, "serviceAccountName"), f"the service account {account}"
    for index, one in enumerate(sequence(template.spec.get("volumes"))):
        volume, path = mapping(one), (*template.path, "volumes", index)
        for kind in ("configMap", "secret", "persistentVolumeClaim", "projected"):
            if kind in volume:
                source = mapping(volume[kind])
                name = source.get("name") or source.get("secretName") or source.get("claimName")
                yield (*path, kind), f"the {kind} {name or volume.get('name')}"


def _looks_static(owner: FoundObject) -> bool:
    """Whether it is made after kubeadm's manifest of a control plane."""
    labels = mapping(mapping(owner.data.get("metadata")).get("labels"))
    return labels.get("tier") == "control-plane" and bool(labels.get("component"))


def _backups(evidence: Evidence) -> Iterator[DoctorFinding]:
    for file in evidence.static_files:
        name = PurePath(file).name
        if not name.endswith(_MANIFEST_SUFFIXES):
            hidden = str(PurePath(file).with_name(f".{name}"))
            yield DoctorFinding(
                what=f"The kubelet reads {name}, too, whatever its ending is: two pods of one "
                "name.",
                advice=f"Move it out of the folder, or run mv {file} {hidden}.",
                place=FindingPlace(file),
            )


def _config_maps(evidence: Evidence) -> Iterator[DoctorFinding]:
    used = {(ns, name) for ns, name, *_ in _mounts(evidence)}
    live = evidence.cluster is not None and not evidence.cluster.problem
    for namespace, name, owner, path in _mounts(evidence):
        if evidence.find("ConfigMap", namespace, name) is not None or name in _FURNITURE:
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


def _mounts(
    evidence: Evidence,
) -> Iterator[tuple[str, str, FoundObject, tuple[str | int, ...]]]:
    """Namespace, name, who refers to it and where, of each ConfigMap that something reads."""
    for template in templates(evidence):
        for index, one in enumerate(sequence(template.spec.get("volumes"))):
            source = mapping(mapping(one).get("configMap"))
            if source.get("name"):
                path = (*template.path, "volumes", index, "configMap")
                yield template.owner.namespace, str(source["name"]), template.owner, path
    for found in evidence.configurations:
        # The Policy of an old configuration; moor migrate reads both.
        algorithm = mapping(found.data.get("algorithmSource"))
        source = mapping(mapping(algorithm.get("policy")).get("configMap"))
        if source.get("name") and found.owner is not None:
            namespace = str(source.get("namespace") or "default")
            yield namespace, str(source["name"]), FoundObject(data={}), ()


def _has_what_is_read(
    evidence: Evidence, owner: FoundObject, path: tuple[str | int, ...], found: FoundObject
) -> bool:
    """Whether a ConfigMap has a file that an argument of the pod names in this volume."""
    keys = mapping(found.data.get("data"))
    configurations = [one for one in evidence.configurations if one.owner is found]
    for template in templates(evidence):
        if template.owner is not owner:
            continue
        for _, container in template.containers():
            for word in sequence(container.get("command")) + sequence(container.get("args")):
                flag, _, value = str(word).rpartition("=")
                where = volume_at(template, container, value) if value[:1] == "/" else None
                if where is None or where.path != path[:-1]:
                    continue
                if key_in_volume(where) in keys or (flag == "--config" and configurations):
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


def _cluster_admin(evidence: Evidence) -> Iterator[DoctorFinding]:
    accounts = {
        (one.template.owner.namespace, str(one.template.spec.get("serviceAccountName", "default"))):
        one.program
        for one in processes(evidence)
    }  # fmt: skip
    for binding in evidence.of_kind("ClusterRoleBinding", "RoleBinding"):
        if mapping(binding.data.get("roleRef")).get("name") != "cluster-admin":
            continue
        for subject in map(mapping, sequence(binding.data.get("subjects"))):
            account = (str(subject.get("namespace")), str(subject.get("name")))
            if account not in accounts:
                continue
            serves = accounts[account] == MOOR_SERVE
            role = "view" if serves else "system:kube-scheduler"
            document = binding.document
            yield DoctorFinding(
                severity=DoctorSeverity.WARNING,
                what=f"The service account {'/'.join(account)} may do everything in the cluster.",
                advice=f"Write name: {role} in roleRef"
                + ("." if serves else ", and bind system:volume-scheduler as well."),
                place=binding.place(("roleRef", "name")),
                edits=document.replaced(("roleRef", "name"), role) if document is not None else (),
            )


CHECKS: Final = (
    DoctorCheck(
        id="manifest-parses",
        title="manifests can be read",
        why="What cannot be read is not checked, and kubectl apply stops at it.",
        judge=_unparsable,
        lacks=needs.objects,
    ),
    DoctorCheck(
        id="configmap-name",
        title="the ConfigMaps that pods mount exist",
        why="A pod whose ConfigMap does not exist stays in ContainerCreating and says so only in "
        "an event.",
        judge=_config_maps,
        lacks=needs.objects,
    ),
    DoctorCheck(
        id="static-pod-parses",
        title="the kubelet can read the static pods",
        why="The kubelet stops a static pod whose file it cannot read. Then the cluster has no "
        "scheduler, and only the kubelet's log says why.",
        judge=_static_unparsable,
        lacks=needs.static_pods,
    ),
    DoctorCheck(
        id="static-pod-references",
        title="static pods use files of the host alone",
        why="A static pod cannot use ConfigMaps, Secrets and service accounts; since v1.34 the "
        "kubelet rejects one that names them.",
        judge=_static_references,
        lacks=needs.objects,
    ),
    DoctorCheck(
        id="static-pod-backup",
        title="no backups are in the folder of static pods",
        why="The kubelet reads every file there whose name does not begin with a dot, also "
        "kube-scheduler.yaml.bak: which of both pods runs is a matter of luck.",
        judge=_backups,
        lacks=needs.static_pods,
    ),
    DoctorCheck(
        id="rbac-wide",
        title="schedulers and extenders are no cluster admins",
        why="A policy is code that runs with the permissions of its pod.",
        judge=_cluster_admin,
        lacks=needs.objects,
    ),
)
