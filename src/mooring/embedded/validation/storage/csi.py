"""Checks of storage classes, and of what CSI drivers publish about themselves."""

# parity v1.36.4: storage/validation/validation.go
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import (
    IMMUTABLE,
    NOT_NEGATIVE,
    ErrorList,
    duplicate,
    forbidden,
    in_order,
    invalid,
    not_negative,
    not_supported,
    required,
    shown_selector,
    texts,
    too_long,
)
from mooring.embedded.validation.object_meta import check_meta, check_meta_update, check_selector
from mooring.embedded.validation.pod.volumes import (
    check_driver,
)
from mooring.embedded.validation.resource_amounts import nano
from mooring.embedded.validation.semantic_equality import check_same, same

_BINDING: Final = ("Immediate", "WaitForFirstConsumer")
_FS_GROUP: Final = ("File", "None", "ReadWriteOnceWithFSType")


def check_storage_class(obj: Obj, errors: ErrorList) -> None:
    """Check a new StorageClass."""
    check_meta(obj, names.subdomain, errors, namespaced=False)
    provisioner = obj.get("provisioner", "")
    if not provisioner:
        errors.append(required("provisioner"))
    else:
        lower = provisioner.lower()
        texts(errors, "provisioner", lower, names.label_key(lower))
    _check_parameters(obj.get("parameters") or {}, errors)
    reclaim = obj.get("reclaimPolicy")
    if reclaim and reclaim not in ("Delete", "Retain"):
        errors.append(not_supported("reclaimPolicy", reclaim, ("Delete", "Retain")))
    mode = obj.get("volumeBindingMode")
    if mode is None:
        errors.append(required("volumeBindingMode"))
    elif mode not in _BINDING:
        errors.append(not_supported("volumeBindingMode", mode, _BINDING))
    _check_topologies(obj.get("allowedTopologies") or [], errors)


def _check_parameters(parameters: Obj, errors: ErrorList) -> None:
    if len(parameters) > 512:
        errors.append(too_long("parameters", 512))
        return
    if "" in parameters:
        errors.append(invalid("parameters", "", "field can not be empty."))
    if sum(len(key) + len(value) for key, value in parameters.items()) > 256 * 1024:
        errors.append(too_long("parameters", 256 * 1024))


def _check_topologies(topologies: list[Obj], errors: ErrorList) -> None:
    # One empty entry for each: the API server makes its list with them by mistake.
    seen: list[dict[str, set[str]]] = [{} for _ in topologies]
    for number, term in enumerate(topologies):
        path, keys = f"allowedTopologies[{number}].matchLabelExpressions", {}
        for place, one in enumerate(term.get("matchLabelExpressions") or ()):
            at, key, values = f"{path}[{place}]", one.get("key", ""), one.get("values") or []
            if not values:
                errors.append(required(f"{at}.values"))
            for position, value in enumerate(values):
                if value in values[:position]:
                    errors.append(duplicate(f"{at}.values[{position}]", value))
            texts(errors, f"{at}.key", key, names.label_key(key))
            if key in keys:
                errors.append(duplicate(f"{at}.key", key))
            keys[key] = set(values)
        errors += [duplicate(path, "") for other in seen if other == keys]
        seen.append(keys)


def check_storage_class_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a StorageClass."""
    check_storage_class(obj, errors)
    check_meta_update(obj, old, errors)
    for name in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        if not same(obj.get(name), old.get(name), name):
            value = obj.get(name)
            errors.append(
                invalid(name, in_order(value) if name == "parameters" else value, IMMUTABLE)
            )


def check_csi_node(obj: Obj, errors: ErrorList) -> None:
    """Check a new CSINode."""
    check_meta(obj, names.subdomain, errors, namespaced=False)
    seen: set[str] = set()
    for number, one in enumerate((obj.get("spec") or {}).get("drivers") or ()):
        path, name, node = f"spec.drivers[{number}]", one.get("name", ""), one.get("nodeID", "")
        check_driver(name, f"{path}.name", errors)
        if not node:
            errors.append(required(f"{path}.nodeID"))
        if len(node) > 256:
            errors.append(invalid(f"{path}.nodeID", node, "must be 256 characters or less"))
        not_negative(errors, one.get("allocatable") or {}, f"{path}.allocatable", "count")
        if name in seen:
            errors.append(duplicate(f"{path}.name", name))
        seen.add(name)
        keys = one.get("topologyKeys") or []
        for place, key in enumerate(keys):
            if not key:
                errors.append(required(path))
            if key in keys[:place]:
                errors.append(duplicate(path, key))
            texts(errors, path, key, names.label_key(key))


def check_csi_node_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a CSINode: a driver's name stays with its node's id."""
    check_csi_node(obj, errors)
    for was in (old.get("spec") or {}).get("drivers") or ():
        for one in (obj.get("spec") or {}).get("drivers") or ():
            if was.get("name") != one.get("name"):
                continue
            fields = ("nodeID", "topologyKeys")
            if not all(same(one.get(name), was.get(name), name) for name in fields):
                value = {
                    "Name": one.get("name", ""), "NodeID": one.get("nodeID", ""),
                    "TopologyKeys": one.get("topologyKeys"), "Allocatable": None,
                }  # fmt: skip
                errors.append(invalid("spec.drivers", value, IMMUTABLE))


def check_csi_driver(obj: Obj, errors: ErrorList) -> None:
    """Check a new CSIDriver."""
    check_meta(obj, names.subdomain, errors, namespaced=False)
    _check_driver_spec(obj.get("spec") or {}, errors)


def _check_driver_spec(spec: Obj, errors: ErrorList) -> None:
    for name in ("attachRequired", "podInfoOnMount", "storageCapacity"):
        if spec.get(name) is None:
            field = "attachedRequired" if name == "attachRequired" else name
            errors.append(required(f"spec.{field}"))
    policy = spec.get("fsGroupPolicy")
    if policy is not None and policy not in _FS_GROUP:
        errors.append(not_supported("spec.fsGroupPolicy", policy, _FS_GROUP))
    for mode in spec.get("volumeLifecycleModes") or ():
        if mode not in ("Persistent", "Ephemeral"):
            known = ("Persistent", "Ephemeral")
            errors.append(not_supported("spec.volumeLifecycleModes", mode, known))
    if spec.get("seLinuxMount") is None:
        errors.append(required("spec.seLinuxMount"))
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < 10:
        text = "must be greater than or equal to 10 seconds"
        errors.append(invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, text))


def check_csi_driver_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a CSIDriver."""
    check_meta_update(obj, old, errors)
    spec, before = obj.get("spec") or {}, old.get("spec") or {}
    _check_driver_spec(spec, errors)
    check_same(spec, before, "attachRequired", "spec.attachedRequired", errors)
    check_same(spec, before, "volumeLifecycleModes", "spec.volumeLifecycleModes", errors)


def check_capacity(obj: Obj, errors: ErrorList) -> None:
    """Check a new CSIStorageCapacity."""
    check_meta(obj, names.subdomain, errors)
    check_selector(obj.get("nodeTopology"), "nodeTopology", errors)
    storage_class = obj.get("storageClassName", "")
    texts(errors, "storageClassName", storage_class, names.subdomain(storage_class))
    amount = obj.get("capacity")
    if amount is not None and nano(amount) < 0:
        errors.append(invalid("capacity", str(amount), NOT_NEGATIVE))


def check_capacity_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a CSIStorageCapacity."""
    check_capacity(obj, errors)
    check_meta_update(obj, old, errors)
    topology = obj.get("nodeTopology")
    if not same(topology, old.get("nodeTopology"), "nodeTopology"):
        errors.append(invalid("nodeTopology", shown_selector(topology), IMMUTABLE))
    check_same(obj, old, "storageClassName", "storageClassName", errors)


def check_attachment(obj: Obj, errors: ErrorList) -> None:
    """Check a new VolumeAttachment."""
    check_meta(obj, names.subdomain, errors, namespaced=False)
    spec = obj.get("spec") or {}
    check_driver(spec.get("attacher", ""), "spec.attacher", errors)
    source = spec.get("source") or {}
    volume, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    text = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if volume is None and inline is None:
        errors.append(required("spec.source", text))
    elif volume is not None and inline is not None:
        errors.append(forbidden("spec.source", text))
    elif volume == "":
        text = "must specify non empty persistentVolumeName"
        errors.append(required("spec.source.persistentVolumeName", text))
    node = spec.get("nodeName", "")
    texts(errors, "spec.nodeName", node, names.subdomain(node))
    if volume is not None:
        texts(errors, "spec.source.persistentVolumeName", volume, names.subdomain(volume))


def check_attachment_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a VolumeAttachment."""
    check_attachment(obj, errors)
    spec = obj.get("spec") or {}
    if same(spec, old.get("spec")):
        return
    source = spec.get("source") or {}
    value = {
        "Attacher": spec.get("attacher", ""),
        "Source": {
            "PersistentVolumeName": source.get("persistentVolumeName"),
            "InlineVolumeSpec": source.get("inlineVolumeSpec"),
        },
        "NodeName": spec.get("nodeName", ""),
    }
    errors.append(invalid("spec", value, IMMUTABLE))
