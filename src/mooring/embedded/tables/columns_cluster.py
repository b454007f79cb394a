"""The columns of volumes, devices, leases, priorities and roles.

Owns what ``kubectl get`` shows of them; `tables` calls it.
"""

# parity v1.36.4: pkg/printers/internalversion/printers.go
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.tables.printer import (
    AGE,
    CREATED_AT,
    NAME,
    NONE,
    UNSET,
    Cell,
    Printer,
    age_of,
    amount,
    being_deleted,
    boolean,
    flag,
    integer,
    listed,
    name_of,
    number,
    part,
    selector_text,
    text,
    wide,
)

_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_ANNOTATIONS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_MODES: Final = {
    "ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}  # fmt: skip


def _access(modes: list[str]) -> str:
    return ",".join(short for mode, short in _MODES.items() if mode in modes)


def _class(obj: Obj) -> str:
    annotations = part(obj, "metadata", "annotations")
    named = part(obj, "spec").get("storageClassName") or ""
    return str(annotations.get(_CLASS_ANNOTATION, named))


def _phase(obj: Obj) -> str:
    return "Terminating" if being_deleted(obj) else str(part(obj, "status").get("phase", ""))


def _or_unset(value: str | None) -> str:
    return UNSET if value is None else value


def _volume(volume: Obj, now: float) -> list[Cell]:
    spec = part(volume, "spec")
    claim = spec.get("claimRef")
    return [
        name_of(volume),
        amount(part(spec, "capacity").get("storage")),
        _access(listed(spec, "accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(volume),
        "" if claim is None else f"{claim.get('namespace', '')}/{claim.get('name', '')}",
        _class(volume),
        _or_unset(spec.get("volumeAttributesClassName")),
        part(volume, "status").get("reason", ""),
        age_of(volume, now),
        _or_unset(spec.get("volumeMode")),
    ]


def _claim(claim: Obj, now: float) -> list[Cell]:
    spec, status = part(claim, "spec"), part(claim, "status")
    bound = bool(spec.get("volumeName"))
    return [
        name_of(claim),
        _phase(claim),
        spec.get("volumeName", ""),
        amount(part(status, "capacity").get("storage")) if bound else "",
        _access(listed(status, "accessModes")) if bound else "",
        _class(claim),
        _or_unset(spec.get("volumeAttributesClassName")),
        age_of(claim, now),
        _or_unset(spec.get("volumeMode")),
    ]


def _storage_class(obj: Obj, now: float) -> list[Cell]:
    annotations = part(obj, "metadata", "annotations")
    default = any(annotations.get(one) == "true" for one in _DEFAULT_ANNOTATIONS)
    return [
        f"{name_of(obj)} (default)" if default else name_of(obj),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy") or "Delete",
        obj.get("volumeBindingMode") or "Immediate",
        flag(obj, "allowVolumeExpansion"),
        age_of(obj, now),
    ]


def _csi_node(node: Obj, now: float) -> list[Cell]:
    return [name_of(node), len(listed(node, "spec", "drivers")), age_of(node, now)]


def _csi_driver(driver: Obj, now: float) -> list[Cell]:
    spec = part(driver, "spec")
    tokens = spec.get("tokenRequests")
    return [
        name_of(driver),
        flag(spec, "attachRequired", absent=True),
        flag(spec, "podInfoOnMount"),
        flag(spec, "storageCapacity"),
        UNSET if tokens is None else ",".join(one.get("audience", "") for one in tokens),
        flag(spec, "requiresRepublish"),
        ",".join(listed(spec, "volumeLifecycleModes")) or NONE,
        age_of(driver, now),
    ]


def _attachment(attachment: Obj, now: float) -> list[Cell]:
    spec = part(attachment, "spec")
    return [
        name_of(attachment),
        spec.get("attacher", ""),
        part(spec, "source").get("persistentVolumeName") or "",
        spec.get("nodeName", ""),
        flag(part(attachment, "status"), "attached"),
        age_of(attachment, now),
    ]


def _resource_claim(claim: Obj, now: float) -> list[Cell]:
    status = part(claim, "status")
    states = ["deleted"] if being_deleted(claim) else []
    if status.get("allocation") is not None:
        states.append("allocated")
        if status.get("reservedFor"):
            states.append("reserved")
    elif not states:
        states.append("pending")
    return [name_of(claim), ",".join(states), age_of(claim, now)]


def _resource_slice(devices: Obj, now: float) -> list[Cell]:
    spec = part(devices, "spec")
    return [
        name_of(devices),
        spec.get("nodeName") or "",
        spec.get("driver", ""),
        part(spec, "pool").get("name", ""),
        age_of(devices, now),
    ]


def _lease(lease: Obj, now: float) -> list[Cell]:
    return [name_of(lease), part(lease, "spec").get("holderIdentity") or "", age_of(lease, now)]


def _priority_class(priority: Obj, now: float) -> list[Cell]:
    return [
        name_of(priority),
        number(priority, "value"),
        flag(priority, "globalDefault"),
        age_of(priority, now),
        priority.get("preemptionPolicy") or "",
    ]


def _runtime_class(runtime: Obj, now: float) -> list[Cell]:
    return [name_of(runtime), runtime.get("handler") or "", age_of(runtime, now)]


def _network_policy(policy: Obj, now: float) -> list[Cell]:
    selector = selector_text(part(policy, "spec").get("podSelector"))
    return [name_of(policy), selector, age_of(policy, now)]


def _role_binding(binding: Obj, now: float) -> list[Cell]:
    role, subjects = part(binding, "roleRef"), listed(binding, "subjects")
    accounts = (
        f"{one.get('namespace', '')}/{one['name']}"
        for one in subjects
        if one["kind"] == "ServiceAccount"
    )
    return [
        name_of(binding),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        age_of(binding, now),
        ", ".join(one["name"] for one in subjects if one["kind"] == "User"),
        ", ".join(one["name"] for one in subjects if one["kind"] == "Group"),
        ", ".join(accounts),
    ]


def _name_and_age(obj: Obj, now: float) -> list[Cell]:
    return [name_of(obj), age_of(obj, now)]


def _name_and_time(obj: Obj, _now: float) -> list[Cell]:
    return [name_of(obj), obj["metadata"].get("creationTimestamp") or "0001-01-01T00:00:00Z"]


PERSISTENT_VOLUMES: Final = Printer(
    (
        NAME, text("Capacity"), text("Access Modes"), text("Reclaim Policy"), text("Status"),
        text("Claim"), text("StorageClass"), text("VolumeAttributesClass"), text("Reason"), AGE,
        wide("VolumeMode"),
    ),
    _volume,
)  # fmt: skip
PERSISTENT_VOLUME_CLAIMS: Final = Printer(
    (
        NAME, text("Status"), text("Volume"), text("Capacity"), text("Access Modes"),
        text("StorageClass"), text("VolumeAttributesClass"), AGE, wide("VolumeMode"),
    ),
    _claim,
)  # fmt: skip
STORAGE_CLASSES: Final = Printer(
    (
        NAME, text("Provisioner"), text("ReclaimPolicy"), text("VolumeBindingMode"),
        text("AllowVolumeExpansion"), AGE,
    ),
    _storage_class,
)  # fmt: skip
CSI_NODES: Final = Printer((NAME, integer("Drivers"), AGE), _csi_node)
CSI_DRIVERS: Final = Printer(
    (
        NAME, boolean("AttachRequired"), boolean("PodInfoOnMount"), boolean("StorageCapacity"),
        text("TokenRequests"), boolean("RequiresRepublish"), text("Modes"), AGE,
    ),
    _csi_driver,
)  # fmt: skip
VOLUME_ATTACHMENTS: Final = Printer(
    (
        # The server marks both columns as names.
        NAME, {**NAME, "name": "Attacher"}, text("PV"), text("Node"), boolean("Attached"), AGE,
    ),
    _attachment,
)  # fmt: skip
RESOURCE_CLAIMS: Final = Printer((NAME, text("State"), AGE), _resource_claim)
RESOURCE_SLICES: Final = Printer(
    (NAME, text("Node"), text("Driver"), text("Pool"), AGE), _resource_slice
)
LEASES: Final = Printer((NAME, text("Holder"), AGE), _lease)
PRIORITY_CLASSES: Final = Printer(
    (NAME, integer("Value"), boolean("Global-Default"), AGE, text("PreemptionPolicy")),
    _priority_class,
)
RUNTIME_CLASSES: Final = Printer((NAME, text("Handler"), AGE), _runtime_class)
NETWORK_POLICIES: Final = Printer((NAME, text("Pod-Selector"), AGE), _network_policy)
ROLE_BINDINGS: Final = Printer(
    (NAME, text("Role"), AGE, wide("Users"), wide("Groups"), wide("ServiceAccounts")),
    _role_binding,
)
#: Kinds the server has nothing more to say about.
NAME_AND_AGE: Final = Printer((NAME, AGE), _name_and_age)
#: Kinds for which the server has no columns of its own.
NAME_AND_TIME: Final = Printer((NAME, CREATED_AT), _name_and_time)
