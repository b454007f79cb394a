"""What schedulers and extenders have to be allowed: verbs on resources.

`cluster_reading` asks the API server about each of them. What a scheduler watches is read from what
its plugins declare, with the function that decides what is watched.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from mooring.config.runtimes import build_profiles, build_runtime
from mooring.deploy.doctor.evidence import Permission
from mooring.deploy.doctor.schedulers import MOOR_SERVE
from mooring.live.informers import watched_kinds
from mooring.plugins.in_tree import default_registry
from mooring.state.cluster import Cluster

if TYPE_CHECKING:
    from mooring.framework.policy import Policy

_READ: Final = ("list", "watch")
_BINDING: Final = (Permission("create", "pods/binding"), Permission("get", "pods"))
_ALWAYS: Final = (
    *_BINDING,
    Permission("patch", "pods/status"),
    Permission("delete", "pods"),
    Permission("create", "events", "events.k8s.io"),
    Permission("patch", "events", "events.k8s.io"),
)
_LEASES: Final = "coordination.k8s.io"


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
        read = tuple(Permission(verb, what) for what in ("nodes", "pods") for verb in _READ)
        return read + (_BINDING if binds else ())
    return _scheduler(settings, policy) + (_lease(*lease) if lease is not None else ())


def _scheduler(
    settings: Mapping[str, Any] | None, policy: "Policy | None"
) -> tuple[Permission, ...]:
    policies = [policy] if policy is not None else []
    registry = default_registry()
    profiles = build_profiles(settings, registry, policies)
    runtimes = [
        build_runtime(one, registry, Cluster(), now_ns=lambda: 0) for one in profiles.values()
    ]
    read = tuple(
        Permission(verb, kind.resource, kind.group)
        for kind in watched_kinds(runtimes, policies)
        if not kind.optional
        for verb in _READ
    )
    volumes = {one.resource for one in read} & {"persistentvolumes", "persistentvolumeclaims"}
    return read + _ALWAYS + tuple(Permission("patch", one) for one in sorted(volumes))


def _lease(namespace: str, name: str) -> tuple[Permission, ...]:
    return (
        # A permission to create cannot be limited to a name.
        Permission("create", "leases", _LEASES, namespace),
        Permission("get", "leases", _LEASES, namespace, name),
        Permission("update", "leases", _LEASES, namespace, name),
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
