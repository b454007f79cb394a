"""Checks of PersistentVolumes and PersistentVolumeClaims."""

# parity v1.36.4: core/validation/validation.go ValidatePersistentVolume and
# ValidatePersistentVolumeClaimUpdate
from typing import Any, Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import (
    IMMUTABLE,
    ErrorList,
    forbidden,
    in_order,
    invalid,
    not_supported,
    required,
    texts,
)
from mooring.embedded.validation.object_meta import check_meta, check_meta_update
from mooring.embedded.validation.pod.pod_scheduling import check_node_selector
from mooring.embedded.validation.pod.pod_update import shown_term
from mooring.embedded.validation.pod.volumes import (
    SOURCES,
    check_driver,
    check_host_path,
    check_nfs,
    check_no_backsteps,
)
from mooring.embedded.validation.resource_amounts import check_basic, check_positive, nano
from mooring.embedded.validation.semantic_equality import check_same, differences, same
from mooring.embedded.validation.storage.volume_claim_spec import (
    VOLUME_MODES,
    check_access_modes,
    check_claim_spec,
)

_ONE: Final = "may not specify more than 1 volume type"
_RECLAIM: Final = ("Delete", "Recycle", "Retain")
_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_SECRETS: Final = (
    "controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef",
    "nodeExpandSecretRef",
)  # fmt: skip
# In the order in which the API server looks at them.
_VOLUME_SOURCES: Final = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd",
    "quobyte", "cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume",
    "photonPersistentDisk", "portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip
_IMMUTABLE_CLAIM: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for "
    "bound claims"
)
_BETA_LABELS: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def check_volume(obj: Obj, errors: ErrorList) -> None:
    """Check a new PersistentVolume."""
    check_meta(obj, names.subdomain, errors, namespaced=False)
    spec = obj.get("spec") or {}
    modes = spec.get("accessModes") or []
    if not modes:
        errors.append(required("spec.accessModes"))
    check_access_modes(modes, "spec.accessModes", errors)
    _check_capacity(spec.get("capacity") or {}, errors)
    reclaim = spec.get("persistentVolumeReclaimPolicy")
    if reclaim and reclaim not in _RECLAIM:
        errors.append(not_supported("spec.persistentVolumeReclaimPolicy", reclaim, _RECLAIM))
    affinity = spec.get("nodeAffinity")
    if affinity is not None:
        if affinity.get("required") is not None:
            check_node_selector(affinity["required"], "spec.nodeAffinity.required", errors)
        else:
            text = "must specify required node constraints"
            errors.append(required("spec.nodeAffinity.required", text))
    _check_volume_source(spec, errors)
    _check_volume_rest(spec, errors)


def _check_capacity(capacity: Obj, errors: ErrorList) -> None:
    if not capacity:
        errors.append(required("spec.capacity"))
    if list(capacity) != ["storage"]:
        errors.append(not_supported("spec.capacity", in_order(capacity) or None, ("storage",)))
    for name, amount in capacity.items():
        check_basic(amount, f"spec.capacity[{name}]", errors)
        check_positive(amount, f"spec.capacity[{name}]", errors)


def _check_volume_source(spec: Obj, errors: ErrorList) -> None:
    count = 0
    for name in _VOLUME_SOURCES:
        source = spec.get(name)
        if source is None:
            continue
        if count and name != "flexVolume":
            field = "cephFS" if name == "cephfs" else name
            errors.append(forbidden(f"spec.{field}", _ONE))
            continue
        count += 1
        path = f"spec.{name}"
        if name == "hostPath":
            check_host_path(source, path, errors)
        elif name == "nfs":
            check_nfs(source, path, errors)
        elif name == "local":
            _check_local(spec, source, errors)
        elif name == "csi":
            _check_csi(source, errors)
        elif name in SOURCES:
            SOURCES[name](source, path, errors)
    if not count:
        errors.append(required("spec", "must specify a volume type"))


def _check_local(spec: Obj, source: Obj, errors: ErrorList) -> None:
    if not source.get("path"):
        errors.append(required("spec.local.path"))
    else:
        check_no_backsteps(source["path"], "spec.local.path", errors)
    if spec.get("nodeAffinity") is None:
        errors.append(required("spec.nodeAffinity", "Local volume requires node affinity"))


def _check_csi(source: Obj, errors: ErrorList) -> None:
    check_driver(source.get("driver", ""), "spec.csi.driver", errors)
    if not source.get("volumeHandle"):
        errors.append(required("spec.csi.volumeHandle"))
    for name in _SECRETS:
        secret = source.get(name)
        if secret is None:
            continue
        for field, namer in (("name", names.subdomain), ("namespace", names.dns_label)):
            value, path = secret.get(field, ""), f"spec.csi.{name}.{field}"
            if not value:
                errors.append(required(path))
            else:
                texts(errors, path, value, namer(value))


def _check_volume_rest(spec: Obj, errors: ErrorList) -> None:
    path = (spec.get("hostPath") or {}).get("path", "")
    if path.strip("/.") == "" and path and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        text = "may not be 'recycle' for a hostPath mount of '/'"
        errors.append(forbidden("spec.persistentVolumeReclaimPolicy", text))
    storage_class = spec.get("storageClassName")
    if storage_class:
        texts(errors, "spec.storageClassName", storage_class, names.subdomain(storage_class))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        errors.append(not_supported("spec.volumeMode", mode, VOLUME_MODES))


def check_volume_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a PersistentVolume."""
    # Twice: the API server's strategy and its update validation both do it.
    check_volume(obj, errors)
    check_volume(obj, errors)
    spec, before = obj.get("spec") or {}, old.get("spec") or {}
    now = {name: spec[name] for name in _VOLUME_SOURCES if name in spec}
    was = {name: before[name] for name in _VOLUME_SOURCES if name in before}
    if "csi" in now and "csi" in was and "controllerExpandSecretRef" not in was["csi"]:
        now["csi"] = {
            name: value for name, value in now["csi"].items() if name != "controllerExpandSecretRef"
        }
    if not same(now, was):
        changed = "\n".join(differences(was, now, "spec"))
        text = f"spec.persistentvolumesource is immutable after creation\n{changed}"
        errors.append(forbidden("spec.persistentvolumesource", text))
    check_same(spec, before, "volumeMode", "volumeMode", errors)
    affinity, was_affinity = spec.get("nodeAffinity"), before.get("nodeAffinity")
    if was_affinity is not None and not _same_affinity(affinity, was_affinity):
        text = f"{IMMUTABLE}, except for updating from beta label to GA"
        errors.append(invalid("nodeAffinity", _shown_affinity(affinity), text))


def _same_affinity(now: Obj | None, was: Obj) -> bool:
    if now is None or same(now, was):
        return now is not None
    return same(_renamed(was, now), now)


def _renamed(was: Any, now: Any) -> Any:
    """The old affinity with old label keys as the new ones, where the new affinity has those."""
    if isinstance(was, dict) and isinstance(now, dict):
        out = {name: _renamed(value, now.get(name)) for name, value in was.items()}
        if _BETA_LABELS.get(was.get("key", ""), "") == now.get("key"):
            out["key"] = now["key"]
        return out
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        return [_renamed(one, other) for one, other in zip(was, now, strict=True)]
    return was


def _shown_affinity(affinity: Obj | None) -> Obj | None:
    if affinity is None:
        return None
    wanted = affinity.get("required")
    if wanted is None:
        return {"Required": None}
    terms = [shown_term(one) for one in wanted.get("nodeSelectorTerms") or ()]
    return {"Required": {"NodeSelectorTerms": terms or None}}


def check_claim(obj: Obj, errors: ErrorList) -> None:
    """Check a new PersistentVolumeClaim."""
    check_meta(obj, names.subdomain, errors)
    check_claim_spec(obj.get("spec") or {}, "spec", errors)


def check_claim_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a PersistentVolumeClaim."""
    spec, before = obj.get("spec") or {}, old.get("spec") or {}
    check_meta_update(obj, old, errors)
    check_meta(obj, names.subdomain, errors)
    # A claim that refers to something else already may have got it wrong before that was checked.
    referring = any(
        (before.get(name) or {}).get("apiGroup") for name in ("dataSource", "dataSourceRef")
    )
    check_claim_spec(spec, "spec", errors, groups=not referring)
    now, was = dict(spec), dict(before)
    bound = (obj.get("status") or {}).get("phase") == "Bound"
    if not was.get("volumeName"):
        was["volumeName"] = now.get("volumeName", "")
    if was.get("storageClassName") is None and now.get("storageClassName") is not None:
        annotation = _annotation(old)
        if annotation is None or annotation == now["storageClassName"]:
            now.pop("storageClassName")
    if _annotation(obj) != _annotation(old) and _annotation(obj) is not None:
        field = f"metadata.annotations.{_BETA_CLASS}"
        errors.append(invalid(field, _annotation(obj), IMMUTABLE))
    if bound:
        now["resources"] = _with_storage(now, _storage(before))
        now["volumeAttributesClassName"] = was.get("volumeAttributesClassName")
    if not same(now, was):
        changed = "\n".join(differences(was, now, "spec"))
        errors.append(forbidden("spec", f"{_IMMUTABLE_CLAIM}\n{changed}"))
    size, old_size = _storage(spec), _storage(before)
    capacity = ((old.get("status") or {}).get("capacity") or {}).get("storage", 0)
    if nano(size) < nano(old_size) and nano(size) <= nano(capacity):
        text = "field can not be less than status.capacity"
        errors.append(forbidden("spec.resources.requests.storage", text))
    check_same(spec, before, "volumeMode", "volumeMode", errors)


def _annotation(obj: Obj) -> str | None:
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    value: str | None = annotations.get(_BETA_CLASS)
    return value


def _storage(spec: Obj) -> str | int | float:
    amount: str | int | float = ((spec.get("resources") or {}).get("requests") or {}).get(
        "storage", 0
    )
    return amount


def _with_storage(spec: Obj, amount: str | int | float) -> Obj:
    resources = dict(spec.get("resources") or {})
    resources["requests"] = {**(resources.get("requests") or {}), "storage": amount}
    return resources


def check_claim_status(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of the status of a PersistentVolumeClaim."""
    check_meta_update(obj, old, errors)
    if not (obj.get("spec") or {}).get("accessModes"):
        errors.append(required("Spec.accessModes"))
    for name, amount in ((obj.get("status") or {}).get("capacity") or {}).items():
        check_basic(amount, f"status.capacity[{name}]", errors)
