"""Checks of ConfigMaps, Secrets and ServiceAccounts."""

# parity v1.36.4: core/validation/validation.go ValidateConfigMap, ValidateSecret
from collections.abc import Mapping
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import (
    ErrorList,
    forbidden,
    invalid,
    required,
    texts,
    too_long,
)
from mooring.embedded.validation.object_meta import check_meta, check_meta_update
from mooring.embedded.validation.semantic_equality import check_same, same

_LIMIT: Final = 1024 * 1024
_FIXED: Final = "field is immutable when `immutable` is set"
# What the data of a secret of a type must have.
_NEEDED: Final = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_ACCOUNT: Final = "kubernetes.io/service-account.name"


def check_config_map(obj: Obj, errors: ErrorList) -> None:
    """Check a new ConfigMap."""
    check_meta(obj, names.subdomain, errors)
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    size = 0
    for key, value in data.items():
        texts(errors, f"data[{key}]", key, names.config_key(key))
        if key in binary:
            text = "duplicate of key present in binaryData"
            errors.append(invalid(f"data[{key}]", key, text))
        size += len(value.encode())
    for key in binary:
        texts(errors, f"binaryData[{key}]", key, names.config_key(key))
    if size + _decoded(binary) > _LIMIT:
        errors.append(too_long("[]", _LIMIT))


def _decoded(data: Mapping[str, str]) -> int:
    """How many bytes there are in base64 texts."""
    return sum(len(one) * 3 // 4 - one[-2:].count("=") for one in data.values())


def check_config_map_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a ConfigMap."""
    check_meta_update(obj, old, errors)
    _check_fixed(obj, old, errors, "data", "binaryData")
    check_config_map(obj, errors)


def _check_fixed(obj: Obj, old: Obj, errors: ErrorList, *fields: str) -> None:
    if not old.get("immutable"):
        return
    if not obj.get("immutable"):
        errors.append(forbidden("immutable", _FIXED))
    for name in fields:
        if not same(obj.get(name), old.get(name)):
            errors.append(forbidden(name, _FIXED))


def check_secret(obj: Obj, errors: ErrorList) -> None:
    """Check a new Secret."""
    check_meta(obj, names.subdomain, errors)
    data = obj.get("data") or {}
    for key in data:
        texts(errors, f"data[{key}]", key, names.config_key(key))
    if _decoded(data) > _LIMIT:
        errors.append(too_long("data", _LIMIT))
    kind = obj.get("type", "")
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    if kind == "kubernetes.io/service-account-token" and not annotations.get(_ACCOUNT):
        errors.append(required(f"metadata.annotations[{_ACCOUNT}]"))
    if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & data.keys():
        errors += [required("data[username]"), required("data[password]")]
    for key in _NEEDED.get(kind, ()):
        if key not in data or (kind.endswith("ssh-auth") and not data[key]):
            errors.append(required(f"data[{key}]"))


def check_secret_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a Secret."""
    check_meta_update(obj, old, errors)
    check_same(obj, old, "type", "type", errors)
    _check_fixed(obj, old, errors, "data")
    check_secret(obj, errors)


def check_service_account(obj: Obj, errors: ErrorList) -> None:
    """Check a new ServiceAccount."""
    check_meta(obj, names.subdomain, errors)


def check_service_account_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a ServiceAccount."""
    check_meta_update(obj, old, errors)
    check_meta(obj, names.subdomain, errors)
