"""Checks of leader election: who serves a name twice, and who waits for the Lease of another."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from mooring.config.types import DEFAULT_SCHEDULER, KUBE_SCHEDULER_LEASE
from mooring.deploy.doctor.checks import needs
from mooring.deploy.doctor.election import (
    electing,
    elects,
    lease_of,
    says_to_elect,
    written,
)
from mooring.deploy.doctor.evidence import Evidence, FoundConfiguration, mapping
from mooring.deploy.doctor.findings import DoctorCheck, DoctorFinding, DoctorSeverity, Edit
from mooring.deploy.doctor.schedulers import (
    SchedulerProcess,
    configuration_of,
    names_of,
    scheduler_names,
    schedulers,
)

#: A scheduler that may not use its Lease never works.
_ALLOW: Final = "allow the scheduler to create, get and update its Lease"


class _Served(NamedTuple):
    process: SchedulerProcess
    names: list[str]
    elects: bool
    lease: tuple[str, str]


def _twice(evidence: Evidence) -> Iterator[DoctorFinding]:
    by_name: dict[str, list[_Served]] = defaultdict(list)
    for process in schedulers(evidence):
        lease = lease_of(process, configuration_of(evidence, process))
        names = names_of(evidence, process)
        one = _Served(process, names, elects(evidence, process), lease)
        for name in names:
            by_name[name].append(one)
        number = process.template.replicas
        if number > 1 and not one.elects:
            common = _common_lease([one])
            yield _electing(evidence, one, common, f"{number} replicas schedule the same pods")
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
        yield from _apart(evidence, name, several)


def _apart(evidence: Evidence, name: str, several: list[_Served]) -> Iterator[DoctorFinding]:
    """Those of several schedulers of one name that do not elect a leader with the others."""
    owners = {id(one.process.template.owner): one.process.template.owner for one in several}
    if len(owners) == 1 and (name != DEFAULT_SCHEDULER or _is_the_cluster_s(several[0].process)):
        return
    common = _common_lease(several)
    told = set()
    for one in several:
        if one.elects and one.lease == common:
            continue
        own = one.process.template.owner
        others = [each.title for each in owners.values() if each is not own]
        other = others[0] if others else "the cluster's own kube-scheduler"
        found = _electing(
            evidence,
            one,
            common,
            f"{other} serves {name}, too",
            " Or give this scheduler another schedulerName.",
        )
        if found.place not in told:  # one configuration may be that of both
            yield found
        told.add(found.place)


def _common_lease(several: list[_Served]) -> tuple[str, str]:
    """The Lease with which schedulers of one name should elect a leader.

    Whoever serves default-scheduler elects one with the cluster's own kube-scheduler, and nobody
    else does.
    """
    if any(DEFAULT_SCHEDULER in one.names for one in several):
        return KUBE_SCHEDULER_LEASE
    first = several[0]
    if all(one.elects and one.lease == first.lease for one in several):
        return first.lease  # if it is kube-scheduler's, another check says so
    for one in sorted(several, key=lambda each: not each.elects):
        if one.lease != KUBE_SCHEDULER_LEASE:
            return one.lease
    owner = first.process.template.owner
    return owner.namespace, first.names[0] if first.names else owner.name


def _electing(
    evidence: Evidence, one: _Served, lease: tuple[str, str], why: str, instead: str = ""
) -> DoctorFinding:
    """Two schedulers of one name: let them elect a leader."""
    change = electing(evidence, one.process, lease)
    lease_now = f"The leader is elected with the Lease {'/'.join(one.lease)}"
    now = lease_now if one.elects else "Leader election is off"
    return DoctorFinding(
        what=f"{now}, and {why}: more than one may bind a pod.",
        advice=f"Write {change.words}, and {_ALLOW}.{instead}",
        place=change.place,
        edits=change.edits,
    )


def _shared_lease(evidence: Evidence) -> Iterator[DoctorFinding]:
    used = set()
    for process in schedulers(evidence):
        found = configuration_of(evidence, process)
        used.add(id(found))
        names = names_of(evidence, process)
        if found is not None and elects(evidence, process):
            lease = lease_of(process, found)
            yield from _waiting(found, names, lease, DoctorSeverity.ERROR)
    for one in evidence.configurations:
        if id(one) not in used and says_to_elect(one):
            # Whoever is started with it may have arguments that say something else.
            names, lease = scheduler_names(one), lease_of(None, one)
            yield from _waiting(one, names, lease, DoctorSeverity.WARNING)


def _waiting(
    configuration: FoundConfiguration,
    names: list[str],
    lease: tuple[str, str],
    severity: DoctorSeverity,
) -> Iterator[DoctorFinding]:
    """A second scheduler that waits for kube-scheduler's Lease."""
    if not names or DEFAULT_SCHEDULER in names or lease != KUBE_SCHEDULER_LEASE:
        return
    unless = ", unless an argument names another Lease or it is moor run"
    if severity is DoctorSeverity.ERROR:
        unless = ""
    yield DoctorFinding(
        severity=severity,
        what=f"The scheduler {names[0]} waits for the Lease kube-system/kube-scheduler, "
        f"which the cluster's own kube-scheduler holds: it never starts to work{unless}.",
        advice=f"Write leaderElection.resourceName: {names[0]} in the configuration, and {_ALLOW}.",
        place=configuration.place(("leaderElection",)),
        edits=written(configuration, {"resourceName": names[0]}),
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


def _needs_scheduler(evidence: Evidence) -> str:
    if evidence.configurations or any(True for _ in schedulers(evidence)):
        return ""
    return "neither a scheduler's configuration nor a container that runs one was given"


CHECKS: Final = (
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
        lacks=_needs_scheduler,
    ),
)
