"""What programs may need to be allowed, as data: verbs on resources.

`cluster_reading` asks the API server about each of them. A test compares the list of ``moor run``
with the role in docs/samples.
"""

from collections.abc import Iterable
from typing import Final

from mooring.deploy.doctor.evidence import Permission
from mooring.deploy.doctor.schedulers import MOOR_SERVE

_READ: Final = ("get", "list", "watch")
_WATCHED: Final[dict[str, tuple[str, ...]]] = {
    "": (
        "nodes", "pods", "namespaces", "services", "replicationcontrollers", "persistentvolumes",
        "persistentvolumeclaims",
    ),
    "apps": ("replicasets", "statefulsets"),
    "policy": ("poddisruptionbudgets",),
    "storage.k8s.io": (
        "storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments",
    ),
}  # fmt: skip
_WRITTEN: Final = (
    Permission("create", "pods/binding"),
    Permission("patch", "pods/status"),
    Permission("delete", "pods"),
    Permission("patch", "persistentvolumes"),
    Permission("patch", "persistentvolumeclaims"),
    Permission("create", "events", "events.k8s.io"),
    Permission("patch", "events", "events.k8s.io"),
)
_LEASES: Final = "coordination.k8s.io"


def scheduler_permissions(lease: tuple[str, str] | None = None) -> tuple[Permission, ...]:
    """What a scheduler with the default plugins needs.

    Args:
        lease: namespace and name of its Lease; None if it does not take part in leader election.
    """
    read = tuple(
        Permission(verb, resource, group)
        for group, resources in _WATCHED.items()
        for resource in resources
        for verb in _READ
    )
    if lease is None:
        return read + _WRITTEN
    namespace, name = lease
    return (
        *read,
        *_WRITTEN,
        # A permission to create cannot be limited to a name.
        Permission("create", "leases", _LEASES, namespace),
        Permission("get", "leases", _LEASES, namespace, name),
        Permission("update", "leases", _LEASES, namespace, name),
    )


def extender_permissions(*, binds: bool) -> tuple[Permission, ...]:
    """What ``moor serve --node-cache`` needs."""
    read = tuple(Permission(verb, resource) for resource in ("nodes", "pods") for verb in _READ)
    return read + ((Permission("create", "pods/binding"),) if binds else ())


def permissions_of(
    program: str, *, lease: tuple[str, str] | None, binds: bool
) -> tuple[Permission, ...]:
    """What a program needs.

    Args:
        program: one of `schedulers`.
        lease: see `scheduler_permissions`.
        binds: whether an extender of a configuration binds pods.
    """
    if program == MOOR_SERVE:
        return extender_permissions(binds=binds)
    return scheduler_permissions(lease)


def in_words(permissions: Iterable[Permission]) -> str:
    """Permissions as ``get, list, watch nodes, pods; create pods/binding``."""
    verbs: dict[str, list[str]] = {}
    for one in permissions:
        verbs.setdefault(one.target, []).append(one.verb)
    targets: dict[tuple[str, ...], list[str]] = {}
    for target, several in verbs.items():
        targets.setdefault(tuple(several), []).append(target)
    return "; ".join(
        f"{', '.join(several)} {', '.join(named)}" for several, named in targets.items()
    )
