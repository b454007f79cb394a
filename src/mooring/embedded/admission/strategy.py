"""What a client may not decide about an object, and what the API server works out itself.

`api` calls it after defaults and admission and before validation: a new object begins without a
status, an update of the object keeps its status, an update of the status keeps all else, a change
of the spec counts as a new generation.
"""

from typing import Final

from mooring.embedded import resources as kinds
from mooring.embedded.admission.device_strategy import complete_slice, drop_deallocated_devices
from mooring.embedded.admission.kind_strategies import CREATE, UPDATE, keep
from mooring.embedded.admission.pod_strategy import prepare_new_pod, prepare_pod_status
from mooring.embedded.resources import Obj, Resource
from mooring.embedded.schema.stored_form import empty

# parity v1.36.4: pkg/registry/*/*/strategy.go PrepareForCreate, PrepareForUpdate
_WITH_STATUS: Final = frozenset(
    {kinds.PODS, kinds.NAMESPACES, kinds.SERVICES, kinds.PERSISTENT_VOLUMES,
     kinds.PERSISTENT_VOLUME_CLAIMS, kinds.REPLICATION_CONTROLLERS, kinds.RESOURCE_QUOTAS,
     kinds.DEPLOYMENTS, kinds.REPLICA_SETS, kinds.STATEFUL_SETS, kinds.DAEMON_SETS, kinds.JOBS,
     kinds.CRON_JOBS, kinds.POD_DISRUPTION_BUDGETS, kinds.VOLUME_ATTACHMENTS,
     kinds.RESOURCE_CLAIMS}
)  # fmt: skip
_KEEP_STATUS: Final = _WITH_STATUS | {kinds.NODES}
_NUMBERED: Final = frozenset(
    {kinds.PODS, kinds.REPLICATION_CONTROLLERS, kinds.POD_TEMPLATES, kinds.DEPLOYMENTS,
     kinds.REPLICA_SETS, kinds.STATEFUL_SETS, kinds.DAEMON_SETS, kinds.JOBS, kinds.CRON_JOBS,
     kinds.POD_DISRUPTION_BUDGETS, kinds.NETWORK_POLICIES, kinds.PRIORITY_CLASSES,
     kinds.RESOURCE_SLICES, kinds.DEVICE_CLASSES}
)  # fmt: skip
_RENUMBERED: Final = (_NUMBERED | {kinds.CSI_DRIVERS}) - {kinds.PRIORITY_CLASSES}
# Kinds whose status is all that an update of the status can change.
_STATUS_ONLY: Final = frozenset({kinds.RESOURCE_CLAIMS, kinds.VOLUME_ATTACHMENTS})


def prepare_for_create(resource: Resource, obj: Obj, now: str = "") -> None:
    """Prepare a new object, in place; it has its name, its id and the time of its creation.

    Args:
        resource: what it is.
        obj: the object, complete with defaults.
        now: the time; that of the object's creation if empty.
    """
    metadata = obj["metadata"]
    if resource in _NUMBERED:
        metadata["generation"] = 1
    if resource is kinds.PODS:
        prepare_new_pod(obj, now or metadata.get("creationTimestamp", ""))
        return
    if resource in _WITH_STATUS:
        obj["status"] = empty(resource, "status")
    special = CREATE.get(resource)
    if special is not None:
        special(obj, now or metadata.get("creationTimestamp", ""))


def prepare_for_update(
    resource: Resource, obj: Obj, old: Obj, subresource: str = "", now: str = ""
) -> None:
    """Prepare a changed object, in place; parts of the old one go over into it.

    Args:
        resource: what it is.
        obj: the changed object, complete with defaults.
        old: the object as it is stored.
        subresource: what part of it is to be changed; empty for all but its status.
        now: the time.
    """
    metadata, before = obj["metadata"], old["metadata"]
    keep(metadata, before, "generation")
    if subresource == "status":
        _prepare_status(resource, obj, old, now)
    elif subresource == "finalize":
        keep(obj, old, "status")
    else:
        if resource in _KEEP_STATUS:
            keep(obj, old, "status")
        special = UPDATE.get(resource)
        if special is not None:
            special(obj, old)
        elif resource is kinds.RESOURCE_SLICES:
            complete_slice(obj, now)
        if resource in _RENUMBERED and _is_changed(resource, obj, old):
            metadata["generation"] = before.get("generation", 0) + 1
    # parity v1.36.4: apiserver/pkg/registry/rest/update.go BeforeUpdate
    if not metadata.get("uid"):
        keep(metadata, before, "uid")
    for name in ("creationTimestamp", "deletionTimestamp"):
        if name in before:
            metadata[name] = before[name]
    if "deletionGracePeriodSeconds" in before:
        metadata.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])


def _prepare_status(resource: Resource, obj: Obj, old: Obj, now: str) -> None:
    metadata, before = obj["metadata"], old["metadata"]
    keep(obj, old, "spec")
    if resource is kinds.PODS:
        prepare_pod_status(obj, old)
    elif resource is kinds.DEPLOYMENTS:
        keep(metadata, before, "labels")
    elif resource is kinds.NODES:
        obj["status"].pop("config", None)
    elif resource is kinds.PERSISTENT_VOLUMES:
        _note_phase(obj["status"], old["status"], now)
    elif resource in _STATUS_ONLY:
        for name in ("deletionTimestamp", "labels", "annotations", "finalizers", "ownerReferences"):
            keep(metadata, before, name)
        if resource is kinds.RESOURCE_CLAIMS:
            drop_deallocated_devices(obj, old)


def _note_phase(status: Obj, before: Obj, now: str) -> None:
    """When a volume came into its phase."""
    # parity v1.36.4: pkg/registry/core/persistentvolume/strategy.go
    field = "lastPhaseTransitionTime"
    if status.get("phase") == before.get("phase"):
        if field in before:
            status.setdefault(field, before[field])
    elif now and status.get(field) in (None, before.get(field)):
        status[field] = now


def _is_changed(resource: Resource, obj: Obj, old: Obj) -> bool:
    if resource is kinds.POD_TEMPLATES:
        return bool(obj["template"] != old["template"])
    if obj["spec"] != old["spec"]:
        return True
    # Its annotations are copied to its replica sets.
    return resource is kinds.DEPLOYMENTS and (
        obj["metadata"].get("annotations") != old["metadata"].get("annotations")
    )
