"""Checks of scheduler names: who serves them, who asks for them, and who serves one twice."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from mooring.config.strict_decoding import nearest
from mooring.config.types import DEFAULT_SCHEDULER
from mooring.deploy.doctor.checks import needs
from mooring.deploy.doctor.evidence import Evidence, FoundConfiguration, mapping, sequence
from mooring.deploy.doctor.findings import DoctorCheck, DoctorFinding, DoctorSeverity, Edit
from mooring.deploy.doctor.schedulers import (
    KUBE_SCHEDULER_LEASE,
    PodTemplate,
    SchedulerProcess,
    configuration_of,
    elects,
    lease_of,
    names_of,
    processes,
    scheduler_names,
    schedulers,
    templates,
)
from mooring.wording import counted

_SHOWN: Final = 3


def served_names(evidence: Evidence) -> set[str]:
    """The scheduler names that somebody serves, as far as the evidence says."""
    names = {DEFAULT_SCHEDULER}
    for one in evidence.configurations:
        names |= set(scheduler_names(one))
    for process in schedulers(evidence):
        names |= set(names_of(evidence, process))
    if evidence.cluster is not None:
        for event in evidence.cluster.events:
            if event.get("reason") in ("Scheduled", "FailedScheduling"):
                source = mapping(event.get("source")).get("component")
                names.add(str(event.get("reportingComponent") or source or ""))
        names |= {_name(pod) for pod in evidence.cluster.pods if _was_looked_at(pod)}
    return names - {""}


def _unserved(evidence: Evidence) -> Iterator[DoctorFinding]:
    served = served_names(evidence)
    for template in templates(evidence):
        name, owner = template.scheduler_name, template.owner
        if name in served or owner.file in evidence.static_files or owner.document is None:
            continue
        others = sorted(served - {DEFAULT_SCHEDULER})
        meant = nearest(name, served) or (others[0] if len(others) == 1 else DEFAULT_SCHEDULER)
        path = (*template.path, "schedulerName")
        near = nearest(name, served) is not None
        yield DoctorFinding(
            # Without a cluster, nobody knows which other schedulers it has.
            severity=DoctorSeverity.ERROR
            if near or evidence.cluster is not None
            else DoctorSeverity.WARNING,
            what=f"schedulerName is {name}, and no scheduler that is known serves it: "
            "the pods stay pending.",
            advice=f"Write schedulerName: {meant}.",
            place=owner.place(path),
            edits=owner.document.replaced(path, meant),
        )
    if evidence.cluster is None:
        return
    waiting: dict[str, list[str]] = defaultdict(list)
    for pod in evidence.cluster.pods:
        if not mapping(pod.get("spec")).get("nodeName") and _name(pod) not in served:
            waiting[_name(pod)].append(_key(pod))
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
        asked |= {_name(pod) for pod in evidence.cluster.pods}
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


class _Served(NamedTuple):
    process: SchedulerProcess
    configuration: FoundConfiguration | None
    elects: bool
    lease: tuple[str, str]


def _twice(evidence: Evidence) -> Iterator[DoctorFinding]:
    by_name: dict[str, list[_Served]] = defaultdict(list)
    for process in schedulers(evidence):
        found = configuration_of(evidence, process)
        one = _Served(process, found, elects(evidence, process), lease_of(process, found))
        for name in names_of(evidence, process):
            by_name[name].append(one)
        if process.template.replicas > 1 and not one.elects:
            number = process.template.replicas
            yield _electing(one, f"{number} replicas schedule the same pods without election")
        elif not one.elects and _rolls(process):
            yield DoctorFinding(
                severity=DoctorSeverity.WARNING,
                what="Without leader election, an update runs the old scheduler and the new one "
                "at the same time.",
                advice="Write strategy: {type: Recreate} in the spec of the Deployment.",
                place=process.place(("spec",)),
                edits=_recreate(process),
            )
    for name, several in by_name.items():
        pairs = {(id(one.process.template.owner), one.elects, one.lease) for one in several}
        if (len(pairs) > 1 and len({pair[1:] for pair in pairs}) > 1) or (
            len(pairs) > 1 and not several[0].elects
        ):
            other = several[0].process.template.owner.title
            last = next((one for one in several[1:] if not one.elects), several[-1])
            yield _electing(last, f"{other} serves {name}, too, and there is no common election")
        if name != DEFAULT_SCHEDULER or len(pairs) != 1:
            continue
        only = several[0]
        if not only.elects and not _is_the_cluster_s(only.process):
            yield _electing(only, f"the cluster's own kube-scheduler serves {name}, too")


def _electing(one: _Served, why: str) -> DoctorFinding:
    """Two schedulers of one name: let them elect a leader."""
    path = one.process.flags.get("leader-elect", ("", ()))[1]
    owner, edits = one.process.template.owner, tuple[Edit, ...]()
    place = one.process.place(path)
    if path and owner.document is not None:
        edits = owner.document.replaced(path, "--leader-elect=true")
    elif one.configuration is not None:
        field = ("leaderElection", "leaderElect")
        place = one.configuration.place(field)
        if one.configuration.document is not None:
            edits = one.configuration.document.replaced(field, "true")
    setting = "--leader-elect=true" if path else "leaderElection.leaderElect: true"
    return DoctorFinding(
        what=f"Leader election is off, and {why}: both may bind a pod.",
        advice=f"Write {setting}, or give this scheduler another schedulerName.",
        place=place,
        edits=edits,
    )


def _shared_lease(evidence: Evidence) -> Iterator[DoctorFinding]:
    for process in schedulers(evidence):
        found = configuration_of(evidence, process)
        names = names_of(evidence, process)
        if not names or DEFAULT_SCHEDULER in names or not elects(evidence, process):
            continue
        if lease_of(process, found) != KUBE_SCHEDULER_LEASE or found is None:
            continue
        election = mapping(found.data.get("leaderElection"))
        field = f"resourceName: {names[0]}"
        edits: tuple[Edit, ...] = ()
        if found.document is not None:
            if "resourceName" in election:
                path = ("leaderElection", "resourceName")
                edits = found.document.replaced(path, names[0])
            elif election:
                edits = found.document.inserted(("leaderElection", next(iter(election))), field)
            else:
                first = next(iter(found.data))
                edits = found.document.inserted((first,), f"leaderElection:\n  {field}")
        yield DoctorFinding(
            what=f"The scheduler {names[0]} waits for the Lease kube-system/kube-scheduler, which "
            "the cluster's own kube-scheduler holds: it never starts to work.",
            advice=f"Write leaderElection.{field} in the configuration.",
            place=found.place(("leaderElection",)),
            edits=edits,
        )


def _rolls(process: SchedulerProcess) -> bool:
    owner = process.template.owner
    strategy = mapping(mapping(owner.data.get("spec")).get("strategy"))
    return owner.kind == "Deployment" and strategy.get("type") != "Recreate"


def _recreate(process: SchedulerProcess) -> tuple[Edit, ...]:
    document = process.template.owner.document
    spec = mapping(process.template.owner.data.get("spec"))
    if document is None:
        return ()
    if "strategy" in spec:
        return document.replaced(("spec", "strategy", "type"), "Recreate")
    return document.inserted(("spec", next(iter(spec))), "strategy: {type: Recreate}")


def _is_the_cluster_s(process: SchedulerProcess) -> bool:
    """Whether it is the control plane's own: kubeadm's static pod has this name."""
    owner, (namespace, name) = process.template.owner, KUBE_SCHEDULER_LEASE
    named = owner.name == name or owner.name.startswith(f"{name}-")
    return owner.kind == "Pod" and owner.namespace == namespace and named


def _name(pod: object) -> str:
    return str(mapping(mapping(pod).get("spec")).get("schedulerName") or DEFAULT_SCHEDULER)


def _key(pod: object) -> str:
    metadata = mapping(mapping(pod).get("metadata"))
    return f"{metadata.get('namespace', 'default')}/{metadata.get('name', '')}"


def _was_looked_at(pod: object) -> bool:
    """Whether a scheduler has said something about a pod."""
    if mapping(mapping(pod).get("spec")).get("nodeName"):
        return False  # anybody can write it
    conditions = sequence(mapping(mapping(pod).get("status")).get("conditions"))
    return any(
        mapping(one).get("type") == "PodScheduled"
        and mapping(one).get("reason") != "SchedulingGated"
        for one in conditions
    )


def _needs_names(evidence: Evidence) -> str:
    return needs.pods(evidence) or (
        ""
        if evidence.configurations or (evidence.cluster and not evidence.cluster.problem)
        else "neither a configuration nor a cluster was given"
    )


def _needs_other_pods(evidence: Evidence) -> str:
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
        lacks=lambda evidence: needs.configurations(evidence) or _needs_other_pods(evidence),
    ),
    DoctorCheck(
        id="scheduler-twice",
        title="no two schedulers of one name work at the same time",
        why="Two schedulers that serve one name decide about the same pods without knowing of each "
        "other; one of them always fails to bind, or a node gets more than it has.",
        judge=_twice,
        lacks=needs.scheduler_pods,
    ),
    DoctorCheck(
        id="lease-shared",
        title="schedulers of different names have different Leases",
        why="Only one holder of a Lease works. A second scheduler with kube-scheduler's own Lease "
        "waits forever, or takes the place of the first one.",
        judge=_shared_lease,
        lacks=needs.scheduler_pods,
    ),
)
