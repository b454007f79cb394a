"""Checks of scheduler names: who serves them, and who asks for them."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from mooring.config.strict_decoding import nearest
from mooring.config.types import DEFAULT_SCHEDULER
from mooring.deploy.doctor.checks import needs
from mooring.deploy.doctor.evidence import Evidence, mapping
from mooring.deploy.doctor.findings import DoctorCheck, DoctorFinding, DoctorSeverity, Edit
from mooring.deploy.doctor.schedulers import (
    PodTemplate,
    names_of,
    processes,
    scheduler_names,
    schedulers,
    templates,
)
from mooring.deploy.doctor.served_names import scheduler_of, served_names
from mooring.wording import counted

_SHOWN: Final = 3


def _unserved(evidence: Evidence) -> Iterator[DoctorFinding]:
    served = served_names(evidence)
    knows_all = evidence.cluster is not None and evidence.cluster.may_read("pods")
    for template in templates(evidence):
        name, owner = template.scheduler_name, template.owner
        if name in served or owner.file in evidence.static_files or owner.document is None:
            continue
        others = sorted(served - {DEFAULT_SCHEDULER})
        meant = nearest(name, served) or (others[0] if len(others) == 1 else DEFAULT_SCHEDULER)
        path = (*template.path, "schedulerName")
        near = nearest(name, served) is not None
        advice = f"Write schedulerName: {meant}."
        if not others and not near and evidence.cluster is None:
            advice = (
                f"Give the files of the scheduler {name}, too, or write schedulerName: {meant}."
            )
        yield DoctorFinding(
            # Without a cluster and its pods, nobody knows which other schedulers it has.
            severity=DoctorSeverity.ERROR if near or knows_all else DoctorSeverity.WARNING,
            what=f"schedulerName is {name}, and no scheduler that is known serves it: "
            "the pods stay pending.",
            advice=advice,
            place=owner.place(path),
            edits=owner.document.replaced(path, meant),
        )
    if evidence.cluster is None:
        return
    waiting: dict[str, list[str]] = defaultdict(list)
    for pod in evidence.cluster.pods:
        if not mapping(pod.get("spec")).get("nodeName") and scheduler_of(pod) not in served:
            waiting[scheduler_of(pod)].append(_key(pod))
    for name, pods in sorted(waiting.items()):
        shown = ", ".join(pods[:_SHOWN]) + (", …" if len(pods) > _SHOWN else "")
        meant = nearest(name, served) or DEFAULT_SCHEDULER
        yield DoctorFinding(
            what=f"{counted(len(pods), 'pod')} with schedulerName {name} waited for a scheduler "
            f"that nobody has seen: {shown}.",
            advice=f"Start the scheduler {name}, or create the pods again with "
            f"schedulerName: {meant}.",
        )


def _unused(evidence: Evidence) -> Iterator[DoctorFinding]:
    own = {id(one.template.owner) for one in processes(evidence)}
    others = [one for one in templates(evidence) if id(one.owner) not in own]
    asked = {one.scheduler_name for one in others}
    if evidence.cluster is not None:
        asked |= {scheduler_of(pod) for pod in evidence.cluster.pods}
    for one in evidence.configurations:
        for place, name in enumerate(scheduler_names(one)):
            if name in asked or name == DEFAULT_SCHEDULER:
                continue
            # A Service's pods are what the scheduler needs, not what it places.
            free = [each for each in others if each.scheduler_name == DEFAULT_SCHEDULER]
            yield DoctorFinding(
                severity=DoctorSeverity.WARNING,
                what=f"No pod has schedulerName {name}, so this scheduler places nothing.",
                advice=f"Write schedulerName: {name} in the spec of the pods that it should place; "
                f"those without one are placed by {DEFAULT_SCHEDULER}.",
                place=one.place(("profiles", place, "schedulerName")),
                edits=_naming(free, name),
            )


def _naming(pods: list[PodTemplate], name: str) -> tuple[Edit, ...]:
    for pod in pods:
        document, first = pod.owner.document, next(iter(pod.spec), None)
        if document is not None and first is not None and pod.owner.kind == "Pod":
            return document.inserted((*pod.path, first), f"schedulerName: {name}")
    return ()


def _key(pod: object) -> str:
    metadata = mapping(mapping(pod).get("metadata"))
    return f"{metadata.get('namespace', 'default')}/{metadata.get('name', '')}"


def _needs_names(evidence: Evidence) -> str:
    missing = needs.pods(evidence)
    if missing or evidence.configurations or (evidence.cluster and not evidence.cluster.problem):
        return missing
    for process in schedulers(evidence):
        if not names_of(evidence, process):
            title = process.template.owner.title
            return f"the configuration of {title} was not given, so nobody knows its names"
    return ""


def _needs_other_pods(evidence: Evidence) -> str:
    missing = needs.configurations(evidence)
    if missing:
        return missing
    own = {id(one.template.owner) for one in processes(evidence)}
    if any(id(one.owner) not in own for one in templates(evidence)):
        return ""
    if evidence.cluster is not None and not evidence.cluster.problem:
        return ""
    return "neither a cluster nor manifests of pods besides the schedulers' own were given"


CHECKS: Final = (
    DoctorCheck(
        id="scheduler-name",
        title="every schedulerName is served by a scheduler",
        why="A pod waits without an event and without a condition while no scheduler serves its "
        "schedulerName.",
        judge=_unserved,
        lacks=_needs_names,
    ),
    DoctorCheck(
        id="scheduler-unused",
        title="every scheduler has pods that ask for it",
        why="A pod without schedulerName is placed by default-scheduler, even if there is only one "
        "profile and it has another name.",
        judge=_unused,
        lacks=_needs_other_pods,
    ),
)
