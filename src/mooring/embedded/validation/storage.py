"""Checks of PersistentVolumes and PersistentVolumeClaims."""

# parity v1.36.4: core/validation/validation.go ValidatePersistentVolume and
# ValidatePersistentVolumeClaimUpdate
from typing import Any, Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.causes import (
    IMMUTABLE,
    Found,
    forbidden,
    in_order,
    invalid,
    not_supported,
    required,
    texts,
)
from mooring.embedded.validation.changes import check_same, differences, same
from mooring.embedded.validation.claims import VOLUME_MODES, check_access_modes, check_claim_spec
from mooring.embedded.validation.meta import check_meta, check_meta_update
from mooring.embedded.validation.placement import check_node_selector
from mooring.embedded.validation.pod_update import shown_term
from mooring.embedded.validation.resources import check_basic, check_positive, nano
from mooring.embedded.validation.volumes import (
    SOURCES,
    check_driver,
    check_host_path,
    check_nfs,
    check_no_backsteps,
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


def check_volume(obj: Obj, found: Found) -> None:
    """Check a new PersistentVolume."""
    check_meta(obj, names.subdomain, found, namespaced=False)
    spec = obj.get("spec") or {}
    modes = spec.get("accessModes") or []
    if not modes:
        found.append(required("spec.accessModes"))
    check_access_modes(modes, "spec.accessModes", found)
    _check_capacity(spec.get("capacity") or {}, found)
    reclaim = spec.get("persistentVolumeReclaimPolicy")
    if reclaim and reclaim not in _RECLAIM:
        found.append(not_supported("spec.persistentVolumeReclaimPolicy", reclaim, _RECLAIM))
    affinity = spec.get("nodeAffinity")
    if affinity is not None:
        if affinity.get("required") is not None:
            check_node_selector(affinity["required"], "spec.nodeAffinity.required", found)
        else:
            text = "must specify required node constraints"
            found.append(required("spec.nodeAffinity.required", text))
    _check_volume_source(spec, found)
    _check_volume_rest(spec, found)


def _check_capacity(capacity: Obj, found: Found) -> None:
    if not capacity:
        found.append(required("spec.capacity"))
    if list(capacity) != ["storage"]:
        found.append(not_supported("spec.capacity", in_order(capacity) or None, ("storage",)))
    for name, amount in capacity.items():
        check_basic(amount, f"spec.capacity[{name}]", found)
        check_positive(amount, f"spec.capacity[{name}]", found)


def _check_volume_source(spec: Obj, found: Found) -> None:
    count = 0
    for name in _VOLUME_SOURCES:
        source = spec.get(name)
        if source is None:
            continue
        if count and name != "flexVolume":
            told = "cephFS" if name == "cephfs" else name
            found.append(forbidden(f"spec.{told}", _ONE))
            continue
        count += 1
        path = f"spec.{name}"
        if name == "hostPath":
            check_host_path(source, path, found)
        elif name == "nfs":
            check_nfs(source, path, found)
        elif name == "local":
            _check_local(spec, source, found)
        elif name == "csi":
            _check_csi(source, found)
        elif name in SOURCES:
            SOURCES[name](source, path, found)
    if not count:
        found.append(required("spec", "must specify a volume type"))


def _check_local(spec: Obj, source: Obj, found: Found) -> None:
    if not source.get("path"):
        found.append(required("spec.local.path"))
    else:
        check_no_backsteps(source["path"], "spec.local.path", found)
    if spec.get("nodeAffinity") is None:
        found.append(required("spec.nodeAffinity", "Local volume requires node affinity"))


def _check_csi(source: Obj, found: Found) -> None:
    check_driver(source.get("driver", ""), "spec.csi.driver", found)
    if not source.get("volumeHandle"):
        found.append(required("spec.csi.volumeHandle"))
    for name in _SECRETS:
        secret = source.get(name)
        if secret is None:
            continue
        for field, namer in (("name", names.subdomain), ("namespace", names.dns_label)):
            value, path = secret.get(field, ""), f"spec.csi.{name}.{field}"
            if not value:
                found.append(required(path))
            else:
                texts(found, path, value, namer(value))


def _check_volume_rest(spec: Obj, found: Found) -> None:
    path = (spec.get("hostPath") or {}).get("path", "")
    if path.strip("/.") == "" and path and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        text = "may not be 'recycle' for a hostPath mount of '/'"
        found.append(forbidden("spec.persistentVolumeReclaimPolicy", text))
    storage_class = spec.get("storageClassName")
    if storage_class:
        texts(found, "spec.storageClassName", storage_class, names.subdomain(storage_class))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        found.append(not_supported("spec.volumeMode", mode, VOLUME_MODES))


def check_volume_update(obj: Obj, old: Obj, found: Found) -> None:
    """Check a change of a PersistentVolume."""
    # Twice: the API server's strategy and its update validation both do it.
    check_volume(obj, found)
    check_volume(obj, found)
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
        found.append(forbidden("spec.persistentvolumesource", text))
    check_same(spec, before, "volumeMode", "volumeMode", found)
    affinity, was_affinity = spec.get("nodeAffinity"), before.get("nodeAffinity")
    if was_affinity is not None and not _same_affinity(affinity, was_affinity):
        text = f"{IMMUTABLE}, except for updating from beta label to GA"
        found.append(invalid("nodeAffinity", _shown_affinity(affinity), text))


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


def check_claim(obj: Obj, found: Found) -> None:
    """Check a new PersistentVolumeClaim."""
    check_meta(obj, names.subdomain, found)
    check_claim_spec(obj.get("spec") or {}, "spec", found)


def check_claim_update(obj: Obj, old: Obj, found: Found) -> None:
    """Check a change of a PersistentVolumeClaim."""
    spec, before = obj.get("spec") or {}, old.get("spec") or {}
    check_meta_update(obj, old, found)
    check_meta(obj, names.subdomain, found)
    # A claim that refers to something else already may have got it wrong before that was checked.
    referring = any(
        (before.get(name) or {}).get("apiGroup") for name in ("dataSource", "dataSourceRef")
    )
    check_claim_spec(spec, "spec", found, groups=not referring)
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
        found.append(invalid(field, _annotation(obj), IMMUTABLE))
    if bound:
        now["resources"] = _with_storage(now, _storage(before))
        now["volumeAttributesClassName"] = was.get("volumeAttributesClassName")
    if not same(now, was):
        changed = "\n".join(differences(was, now, "spec"))
        found.append(forbidden("spec", f"{_IMMUTABLE_CLAIM}\n{changed}"))
    size, old_size = _storage(spec), _storage(before)
    capacity = ((old.get("status") or {}).get("capacity") or {}).get("storage", 0)
    if nano(size) < nano(old_size) and nano(size) <= nano(capacity):
        text = "field can not be less than status.capacity"
        found.append(forbidden("spec.resources.requests.storage", text))
    check_same(spec, before, "volumeMode", "volumeMode", found)


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


def check_claim_status(obj: Obj, old: Obj, found: Found) -> None:
    """Check a change of the status of a PersistentVolumeClaim."""
    check_meta_update(obj, old, found)
    if not (obj.get("spec") or {}).get("accessModes"):
        found.append(required("Spec.accessModes"))
    for name, amount in ((obj.get("status") or {}).get("capacity") or {}).items():
        check_basic(amount, f"status.capacity[{name}]", found)
