"""What programs may need to be allowed, as data: verbs on resources.

`cluster_reading` asks the API server about each of them. A test compares the list of ``moor run``
with the role in docs/samples.
"""

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


def scheduler_permissions(lease_namespace: str = "") -> tuple[Permission, ...]:
    """What a scheduler with the default plugins needs.

    Args:
        lease_namespace: where its Lease is; empty if it does not take part in leader election.
    """
    read = tuple(
        Permission(verb, resource, group)
        for group, resources in _WATCHED.items()
        for resource in resources
        for verb in _READ
    )
    lease = tuple(
        Permission(verb, "leases", _LEASES, lease_namespace)
        for verb in ("create", "get", "update")
        if lease_namespace
    )
    return read + _WRITTEN + lease


def extender_permissions(*, binds: bool) -> tuple[Permission, ...]:
    """What ``moor serve --node-cache`` needs."""
    read = tuple(Permission(verb, resource) for resource in ("nodes", "pods") for verb in _READ)
    return read + ((Permission("create", "pods/binding"),) if binds else ())


def permissions_of(program: str, *, lease_namespace: str, binds: bool) -> tuple[Permission, ...]:
    """What a program needs.

    Args:
        program: one of `schedulers`.
        lease_namespace: see `scheduler_permissions`.
        binds: whether an extender of a configuration binds pods.
    """
    if program == MOOR_SERVE:
        return extender_permissions(binds=binds)
    return scheduler_permissions(lease_namespace)
