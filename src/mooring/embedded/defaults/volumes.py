"""Defaults of volumes: in pods, in pod templates and in PersistentVolumes.

`pod` and `defaults` call it; objects are in their stored form already, so that what is
empty is not there.
"""

from typing import Final

from mooring.embedded.defaults.images import pull_policy
from mooring.embedded.resources import Obj

_FILE_MODE: Final = 0o644
_TOKEN_SECONDS: Final = 3600
# parity v1.36.4: pkg/apis/core/v1/zz_generated.defaults.go
_PLAIN: Final[dict[str, Obj]] = {
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {
        "cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared",
    },
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}  # fmt: skip
_IN_PODS: Final[dict[str, Obj]] = {
    **_PLAIN,
    "secret": {"defaultMode": _FILE_MODE},
    "configMap": {"defaultMode": _FILE_MODE},
    "downwardAPI": {"defaultMode": _FILE_MODE},
    "projected": {"defaultMode": _FILE_MODE},
}


def default_volume(volume: Obj) -> None:
    """Complete a volume of a pod, in place."""
    # parity v1.36.4: pkg/apis/core/v1/defaults.go SetDefaults_Volume
    if len(volume) == ("name" in volume):
        volume["emptyDir"] = {}
        return
    for name, source in volume.items():
        defaults = _IN_PODS.get(name)
        if defaults is not None:
            for field, value in defaults.items():
                source.setdefault(field, value)
        if name == "downwardAPI":
            _field_references(source.get("items"))
        elif name == "projected":
            for part in source.get("sources") or ():
                _projection(part)
        elif name == "ephemeral" and "volumeClaimTemplate" in source:
            default_claim_spec(source["volumeClaimTemplate"]["spec"])
        elif name == "image" and "pullPolicy" not in source:
            source["pullPolicy"] = pull_policy(source.get("reference", ""))


def default_source(spec: Obj) -> None:
    """Complete the source of a PersistentVolume, in place."""
    for name, defaults in _PLAIN.items():
        source = spec.get(name)
        if source is not None:
            for field, value in defaults.items():
                source.setdefault(field, value)


def default_claim_spec(spec: Obj) -> None:
    """Complete what is asked of a volume, in place."""
    spec.setdefault("volumeMode", "Filesystem")


def _projection(part: Obj) -> None:
    token = part.get("serviceAccountToken")
    if token is not None:
        token.setdefault("expirationSeconds", _TOKEN_SECONDS)
    downward = part.get("downwardAPI")
    if downward is not None:
        _field_references(downward.get("items"))


def _field_references(items: list[Obj] | None) -> None:
    for item in items or ():
        reference = item.get("fieldRef")
        if reference is not None:
            reference.setdefault("apiVersion", "v1")
