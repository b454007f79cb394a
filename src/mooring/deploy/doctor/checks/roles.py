"""Checks of roles in manifests: what service accounts of schedulers and extenders may do."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from mooring.deploy.container_programs import MOOR_SERVE
from mooring.deploy.doctor.checks import needs
from mooring.deploy.doctor.evidence import Evidence, Permission, sequence
from mooring.deploy.doctor.findings import DoctorCheck, DoctorFinding, DoctorSeverity, Edit
from mooring.deploy.doctor.permissions import (
    ProgramPermissions,
    as_roles,
    as_rules,
    in_words,
    needed_permissions,
)
from mooring.deploy.doctor.roles import BoundRole, bound_roles
from mooring.wording import counted

_SCHEDULER_ROLES: Final = ("system:kube-scheduler", "system:volume-scheduler")


def _programs(evidence: Evidence) -> list[ProgramPermissions]:
    """Those of manifests; a static pod has no service account."""
    return [
        one
        for one in needed_permissions(evidence)
        if one.process.template.owner.document is not None
        and one.process.template.owner.file not in evidence.static_files
    ]


def _cluster_admin(evidence: Evidence) -> Iterator[DoctorFinding]:
    accounts: dict[tuple[str, str], list[ProgramPermissions]] = defaultdict(list)
    for one in _programs(evidence):
        accounts[one.account].append(one)
    for account, programs in accounts.items():
        for role in bound_roles(evidence, account):
            if role.is_cluster_admin:
                yield _too_wide(role, account, programs)


def _too_wide(
    role: BoundRole, account: tuple[str, str], programs: list[ProgramPermissions]
) -> DoctorFinding:
    if all(one.process.program == MOOR_SERVE for one in programs):
        needed = dict.fromkeys(each for one in programs for each in one.permissions)
        needs_role = as_roles(needed)
    else:
        needs_role = f"the ClusterRoles {' and '.join(_SCHEDULER_ROLES)}"
    binding = role.binding
    name = f"{binding.kind} {binding.name}"
    group = str(role.subject.get("name")) if role.subject.get("kind") == "Group" else ""
    if len(sequence(binding.data.get("subjects"))) > 1:
        out = f"take the {f'Group {group}' if group else 'account'} out of the subjects of {name}"
    else:
        out = f"delete {name}; its roleRef cannot be changed"
    where = f"the namespace {role.namespace}" if role.namespace else "the cluster"
    return DoctorFinding(
        severity=DoctorSeverity.WARNING,
        what=f"The service account {'/'.join(account)} may do everything in {where}"
        f"{f', as part of the Group {group}' if group else ''}.",
        advice=f"Bind to it {needs_role} with new ClusterRoleBindings, and {out}.",
        place=binding.place(("roleRef", "name")),
    )


def _missing(evidence: Evidence) -> Iterator[DoctorFinding]:
    for one in _programs(evidence):
        roles = bound_roles(evidence, one.account)
        if not _can_be_judged(evidence, one.account, roles):
            continue
        lacks = [each for each in one.permissions if not any(role.allows(each) for role in roles)]
        for namespace in dict.fromkeys(each.namespace for each in lacks):
            there = [each for each in lacks if each.namespace == namespace]
            yield _gap(one, roles, namespace, there)


def _can_be_judged(evidence: Evidence, account: tuple[str, str], roles: list[BoundRole]) -> bool:
    """Whether all roles of an account are known, or it has none although it is made here."""
    if roles:
        return all(one.rules is not None for one in roles)
    return evidence.find("ServiceAccount", *account) is not None


def _gap(
    one: ProgramPermissions, roles: list[BoundRole], namespace: str, lacks: list[Permission]
) -> DoctorFinding:
    account, rules = "/".join(one.account), as_rules(lacks)
    own = next((each for each in roles if each.found and each.namespace == namespace), None)
    role = own.found if own is not None else None
    edits: tuple[Edit, ...] = ()
    if role is not None:
        name = f"{role.kind} {role.name}"
        advice = f"Add to the rules of {name}: {'; '.join(rules)}."
        if role.document is not None:
            edits = role.document.items_before(("rules", 0), rules)
    else:
        advice = f"Bind to it {as_roles(lacks)}."
    return DoctorFinding(
        # Somebody else may bind roles to an account that has none here.
        severity=DoctorSeverity.ERROR if roles else DoctorSeverity.WARNING,
        what=f"The roles of the service account {account} lack "
        f"{counted(len(lacks), 'permission')} that {one.process.program} needs: "
        f"{in_words(lacks)}.",
        advice=advice,
        place=role.place(("rules",)) if role is not None else one.process.place(),
        edits=edits,
    )


def _needs_roles(evidence: Evidence) -> str:
    found = needs.objects(evidence)
    if found:
        return found
    for one in _programs(evidence):
        if _can_be_judged(evidence, one.account, bound_roles(evidence, one.account)):
            return ""
    return "the manifests do not have all roles of a scheduler's or an extender's service account"


CHECKS: Final = (
    DoctorCheck(
        id="rbac-wide",
        title="schedulers and extenders are not cluster admins",
        why="A policy is code that runs with the permissions of its pod.",
        judge=_cluster_admin,
        lacks=needs.objects,
    ),
    DoctorCheck(
        id="rbac-missing",
        title="the roles of manifests allow what schedulers and extenders do",
        why="A scheduler that may not watch a resource does not start; one that may not bind, "
        "patch or record events places nothing, or says nothing about it.",
        judge=_missing,
        lacks=_needs_roles,
    ),
)
