"""Checks of the files of manifests: whether kubectl and, for static pods, the kubelet take them."""

from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

from mooring.deploy.doctor.checks import needs
from mooring.deploy.doctor.evidence import Evidence, FoundObject, mapping, sequence
from mooring.deploy.doctor.findings import DoctorCheck, DoctorFinding, DoctorSeverity, FindingPlace
from mooring.deploy.doctor.schedulers import PodTemplate, templates

_MANIFEST_SUFFIXES: Final = (".yaml", ".yml", ".json")


def _unparsable(evidence: Evidence) -> Iterator[DoctorFinding]:
    for one in evidence.broken:
        if one.file not in evidence.static_files:
            yield DoctorFinding(
                severity=DoctorSeverity.WARNING if one.is_yaml else DoctorSeverity.ERROR,
                what=f"This is not a manifest: {one.problem}."
                if one.is_yaml
                else f"The file cannot be read: {one.problem}.",
                advice="Give its kind and apiVersion, or leave the file out."
                if one.is_yaml
                else "Correct the line, or leave the file out.",
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
        return f"it is not a Pod of v1 but a {found.kind} of {found.data.get('apiVersion')}"
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


CHECKS: Final = (
    DoctorCheck(
        id="manifest-parses",
        title="manifests can be read",
        why="What cannot be read is not checked, and kubectl apply stops at it.",
        judge=_unparsable,
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
)
