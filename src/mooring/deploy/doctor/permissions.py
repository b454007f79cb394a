"""What schedulers and extenders have to be allowed: verbs on resources.

`cluster_reading` asks the API server about each of them, and a check compares them with the roles
of manifests. What they need is what the roles of ``moor manifests`` allow.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mooring.deploy.container_programs import KUBE_SCHEDULER, MOOR_SERVE
from mooring.deploy.doctor.election import elects, lease_of
from mooring.deploy.doctor.evidence import Evidence, Permission
from mooring.deploy.doctor.schedulers import (
    SchedulerProcess,
    configuration_of,
    processes,
)
from mooring.deploy.doctor.usable_configuration import usable_settings
from mooring.deploy.manifests.permissions import (
    PolicyRule,
    extender_rules,
    lease_rules,
    scheduler_rules,
)
from mooring.framework.policy_checks.device_reads import reads_devices
from mooring.model.kinds import KINDS

if TYPE_CHECKING:
    from mooring.framework.policy import Policy

#: Without these a scheduler goes on.
_OPTIONAL: Final = frozenset(one.resource for one in KINDS if one.optional)


class ProgramPermissions(NamedTuple):
    """What the program of one container needs.

    Attributes:
        process: the container.
        permissions: what it needs.
    """

    process: SchedulerProcess
    permissions: tuple[Permission, ...]

    @property
    def account(self) -> tuple[str, str]:
        """Namespace and name of the service account that it has."""
        spec, namespace = self.process.template.spec, self.process.template.owner.namespace
        return namespace, str(spec.get("serviceAccountName") or "default")


def needed_permissions(evidence: Evidence) -> Iterator[ProgramPermissions]:
    """What all schedulers and extenders of the evidence need."""
    policy = evidence.policy.policy if evidence.policy is not None else None
    for process in processes(evidence):
        if process.program == MOOR_SERVE:
            yield ProgramPermissions(process, _of_extender(evidence, process, policy))
            continue
        own = configuration_of(evidence, process)
        settings = usable_settings([own] if own is not None else evidence.configurations)
        lease = lease_of(process, own) if elects(evidence, process) else None
        part = None if process.program == KUBE_SCHEDULER else policy
        yield ProgramPermissions(process, scheduler_permissions(settings, part, lease=lease))


def scheduler_permissions(
    settings: Mapping[str, Any] | None = None,
    policy: "Policy | None" = None,
    *,
    lease: tuple[str, str] | None = None,
) -> tuple[Permission, ...]:
    """What a scheduler needs.

    Args:
        settings: its configuration; None is the default one.
        policy: a policy that takes part.
        lease: namespace and name of its Lease; None without leader election.

    Raises:
        InputError: the configuration cannot be used.
    """
    found = _permissions(scheduler_rules([policy] if policy is not None else [], settings))
    if lease is None:
        return found
    namespace, name = lease
    return found + _permissions(lease_rules(name), namespace)


def _of_extender(
    evidence: Evidence, process: SchedulerProcess, policy: "Policy | None"
) -> tuple[Permission, ...]:
    """What is certain; without the policy, the verbs that are configured tell about it."""
    verbs = [one.settings for one in evidence.extenders]
    binds = any(one.bind_verb for one in verbs)
    reads = "no-node-cache" not in process.flags
    reads_pods = policy.needs_pods if policy is not None else binds
    reads_pods = reads_pods or any(one.preempt_verb for one in verbs)
    devices = reads and policy is not None and reads_devices(policy)
    return _permissions(
        extender_rules(
            reads_nodes=reads,
            reads_pods=reads and reads_pods,
            binds=binds,
            reads_devices=devices,
        ),
        every=True,
    )


def _permissions(
    rules: Iterable[PolicyRule], namespace: str = "", *, every: bool = False
) -> tuple[Permission, ...]:
    """What some rules allow; without every one of them, what can be missing is left out."""
    return tuple(
        Permission(verb, resource, rule.group, namespace, name)
        for rule in rules
        for resource in rule.resources
        if every or resource.partition("/")[0] not in _OPTIONAL
        for verb in rule.verbs
        for name in rule.names or ("",)
    )


def in_words(permissions: Iterable[Permission]) -> str:
    """Permissions as ``list, watch nodes, pods; create pods/binding``."""
    verbs: dict[str, list[str]] = {}
    for one in permissions:
        verbs.setdefault(one.target, []).append(one.verb)
    targets: dict[tuple[str, ...], list[str]] = {}
    for target, several in verbs.items():
        targets.setdefault(tuple(several), []).append(target)
    return "; ".join(
        f"{', '.join(several)} {', '.join(named)}" for several, named in targets.items()
    )


def as_rules(permissions: Iterable[Permission]) -> list[str]:
    """Permissions as the rules of a role, each in one line of YAML."""
    verbs: dict[tuple[str, str, str], list[str]] = {}
    for one in permissions:
        verbs.setdefault((one.group, one.resource, one.name), []).append(one.verb)
    resources: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (group, resource, name), several in verbs.items():
        resources.setdefault((group, name, tuple(several)), []).append(resource)
    found = []
    for (group, name, allowed), named in resources.items():
        shown = group or '""'
        names = f"resourceNames: [{name}], " if name else ""
        found.append(
            f"{{apiGroups: [{shown}], resources: [{', '.join(named)}], {names}"
            f"verbs: [{', '.join(allowed)}]}}"
        )
    return found


def as_roles(permissions: Iterable[Permission]) -> str:
    """The roles that grant permissions, as ``a ClusterRole with the rules {...}``."""
    by_namespace: dict[str, list[Permission]] = {}
    for one in permissions:
        by_namespace.setdefault(one.namespace, []).append(one)
    return ", and ".join(
        f"a {f'Role in {namespace}' if namespace else 'ClusterRole'} with the rules "
        f"{'; '.join(as_rules(several))}"
        for namespace, several in by_namespace.items()
    )
