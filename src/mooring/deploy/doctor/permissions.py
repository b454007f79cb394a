"""What schedulers and extenders have to be allowed: verbs on resources.

`cluster_reading` asks the API server about each of them. What a scheduler needs is what the role of
``moor manifests`` allows it.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from mooring.deploy.doctor.evidence import Permission
from mooring.deploy.doctor.schedulers import MOOR_SERVE
from mooring.deploy.manifests.permissions import PolicyRule, lease_rules, scheduler_rules
from mooring.model.kinds import KINDS

if TYPE_CHECKING:
    from mooring.framework.policy import Policy

#: Without these a scheduler goes on.
_OPTIONAL: Final = frozenset(one.resource for one in KINDS if one.optional)


def permissions_of(
    program: str,
    settings: Mapping[str, Any] | None = None,
    policy: "Policy | None" = None,
    *,
    lease: tuple[str, str] | None = None,
    binds: bool = False,
) -> tuple[Permission, ...]:
    """What a program needs.

    Args:
        program: one of `schedulers`.
        settings: a scheduler's configuration; None is the default one.
        policy: a policy that takes part.
        lease: namespace and name of a scheduler's Lease; None without leader election.
        binds: whether an extender binds pods.

    Raises:
        InputError: the configuration cannot be used.
    """
    if program == MOOR_SERVE:
        read = [PolicyRule("", ("nodes", "pods"), ("list", "watch"), "")]
        bind = [PolicyRule("", ("pods/binding",), ("create",), "")] if binds else []
        return _permissions(read + bind)
    found = _permissions(scheduler_rules([policy] if policy is not None else [], settings))
    if lease is None:
        return found
    namespace, name = lease
    return found + _permissions(lease_rules(name), namespace)


def _permissions(rules: Iterable[PolicyRule], namespace: str = "") -> tuple[Permission, ...]:
    return tuple(
        Permission(verb, resource, rule.group, namespace, name)
        for rule in rules
        for resource in rule.resources
        if resource not in _OPTIONAL
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
