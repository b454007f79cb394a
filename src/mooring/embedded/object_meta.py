"""What the API server itself writes into an object's metadata, and what clients may not.

`api` calls it for every object that is created or changed.
"""

from typing import Final

from mooring.embedded.resources import (
    CSI_DRIVERS,
    CSI_NODES,
    CSI_STORAGE_CAPACITIES,
    LEASES,
    POD_DISRUPTION_BUDGETS,
    RUNTIME_CLASSES,
    VOLUME_ATTACHMENTS,
    Obj,
    Resource,
)
from mooring.embedded.status_errors import (
    INVALID,
    Cause,
    StatusError,
    bad_request,
    conflict,
    invalid,
)
from mooring.embedded.stored_object import StoredObject

#: A generated name is cut to this length before its five characters are added.
_STEM: Final = 58
# parity v1.36.4: registry/*/strategy.go AllowUnconditionalUpdate
_MUST_NAME_A_VERSION: Final = frozenset(
    {CSI_DRIVERS, CSI_NODES, CSI_STORAGE_CAPACITIES, LEASES, POD_DISRUPTION_BUDGETS,
     RUNTIME_CLASSES, VOLUME_ATTACHMENTS}
)  # fmt: skip
_NEVER_FROM_CLIENTS: Final = (
    "deletionGracePeriodSeconds", "deletionTimestamp", "managedFields", "resourceVersion",
    "selfLink", "uid",
)  # fmt: skip
MODIFIED: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def ensure_namespace(resource: Resource, obj: Obj, namespace: str) -> Obj:
    """Put an object into the namespace of the request, in place; its metadata.

    Raises:
        StatusError: it says that it is in another one.
    """
    metadata: Obj = obj.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise bad_request("metadata is not an object")
    obj["metadata"] = metadata
    if not resource.namespaced:
        metadata.pop("namespace", None)
    elif metadata.get("namespace", namespace) not in ("", namespace):
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    else:
        metadata["namespace"] = namespace
    return metadata


def fill_system_fields(obj: Obj, uid: str, now: str) -> Obj:
    """A new object, with its system fields and the usual order of fields."""
    metadata = obj["metadata"]
    if named_version(metadata):
        text = "resourceVersion should not be set on objects to be created"
        raise StatusError(500, "InternalError", text)
    for name in _NEVER_FROM_CLIENTS:
        metadata.pop(name, None)
    metadata["uid"] = uid
    metadata["creationTimestamp"] = now
    return _in_order(obj, metadata)


def generate_name(stem: str, suffix: str) -> str:
    """A name from generateName."""
    return stem[:_STEM] + suffix


def before_update(resource: Resource, obj: Obj, item: StoredObject, old: Obj) -> Obj:
    """A changed object: what it was made of is checked, system fields are those of the old one.

    Raises:
        StatusError: it was made of another version or of another object.
    """
    metadata, before = obj["metadata"], old["metadata"]
    version = named_version(metadata)
    if version and version != before["resourceVersion"]:
        raise conflict(resource, item.name, MODIFIED)
    if not version and resource in _MUST_NAME_A_VERSION:
        cause = Cause(
            "metadata.resourceVersion", INVALID, "Invalid value: 0: must be specified for an update"
        )
        # This one error has the resource in place of the kind.
        raise invalid(resource.plural, resource.group, item.name, [cause])
    check_uid(resource, item, metadata.get("uid") or "")
    for name in ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if name in before:
            metadata[name] = before[name]
        else:
            metadata.pop(name, None)
    metadata.pop("selfLink", None)
    metadata["resourceVersion"] = before["resourceVersion"]
    return _in_order(obj, metadata)


def named_version(metadata: Obj) -> str:
    """The version that an object is an update of; empty for whichever is stored."""
    # parity v1.36.4: apiserver/pkg/storage/api_object_versioner.go, 0 is no version
    version = metadata.get("resourceVersion") or ""
    return "" if version == "0" else version


def check_uid(resource: Resource, item: StoredObject, uid: str) -> None:
    """Reject what was meant for an earlier object of the same name."""
    if uid and uid != item.uid:
        raise conflict(
            resource,
            item.name,
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: {item.uid}",
        )


def check_preconditions(resource: Resource, item: StoredObject, preconditions: Obj) -> None:
    """Reject if the object is not the one, or not in the version, that the client knows."""
    check_uid(resource, item, preconditions.get("uid") or "")
    version = preconditions.get("resourceVersion") or ""
    if version and version != str(item.version):
        raise conflict(
            resource,
            item.name,
            f"Precondition failed: ResourceVersion in precondition: {version}, "
            f"ResourceVersion in object meta: {item.version}",
        )


def _in_order(obj: Obj, metadata: Obj) -> Obj:
    """The same object, with kind, apiVersion and metadata first as the API server writes them."""
    first = {"kind": obj["kind"], "apiVersion": obj["apiVersion"], "metadata": metadata}
    for name, value in obj.items():
        if name not in first:
            first[name] = value
    return first
