"""Whether parts of two versions of an object are the same, as Go's structs would be.

Fields of Go structs that are left out have the zero value of their type, so an empty text is the
same as none, unless the field is a pointer. Called where something must not change.
"""

# parity v1.36.4: apimachinery/pkg/api/equality/semantic.go
from collections.abc import Iterator
from typing import Any, Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation.field_errors import IMMUTABLE, ErrorList, invalid, shown

# Fields with pointers to numbers, texts and truths: there, zero is not the same as nothing.
_POINTERS: Final = frozenset(
    ("activeDeadlineSeconds", "adminAccess", "allNodes", "allowMultipleAllocations",
     "allowPrivilegeEscalation", "automountServiceAccountToken",
     "attachRequired", "backoffLimit", "backoffLimitPerIndex", "completions", "defaultMode",
     "enableServiceLinks", "expirationSeconds", "fsGroup", "hostUsers", "hostnameOverride",
     "immutable", "lun", "mode", "minDomains", "optional", "parallelism", "podInfoOnMount",
     "priority", "privileged", "procMount", "readOnlyRootFilesystem", "replicas",
     "runAsGroup", "runAsNonRoot", "runAsUser", "runtimeClassName", "setHostnameAsFQDN",
     "shareProcessNamespace", "sizeLimit", "storageCapacity", "storageClassName", "suspend",
     "terminationGracePeriodSeconds", "tolerationSeconds", "volumeAttributesClassName")
)  # fmt: skip
# Fields with pointers to structs that can be empty and still mean something.
_STRUCTS: Final = frozenset(
    ("affinity", "capabilities", "dnsConfig", "emptyDir", "ephemeral", "exec", "fc",
     "labelSelector", "namespaceSelector", "nodeAffinity", "nodeTopology", "podAffinity",
     "podAntiAffinity", "projected", "selector", "securityContext")
)  # fmt: skip


def same(one: Any, other: Any, field: str = "") -> bool:
    """Whether two values of a field mean the same."""
    if one == other:
        return True
    if isinstance(one, dict) and isinstance(other, dict):
        return all(same(one.get(name), other.get(name), name) for name in {*one, *other})
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(
            same(mine, others) for mine, others in zip(one, other, strict=True)
        )
    if one and other:
        return False
    return _nothing(one, field) and _nothing(other, field)


def _nothing(value: Any, field: str) -> bool:
    if value is None or value == []:
        return True
    if field in _POINTERS:
        return False
    if isinstance(value, dict):
        return field not in _STRUCTS and all(_nothing(one, name) for name, one in value.items())
    return not value


def check_same(obj: Obj, old: Obj, field: str, path: str, errors: ErrorList) -> None:
    """Add a cause if a field has changed; `path` is where it is for the user."""
    if not same(obj.get(field), old.get(field), field):
        errors.append(invalid(path, obj.get(field), IMMUTABLE))


def differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """What has changed, a line for each field."""
    if same(old, new, path.rpartition(".")[2]):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted({*old, *new}):
            yield from differences(old.get(name), new.get(name), f"{path}.{name}".lstrip("."))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from differences(before, after, f"{path}[{number}]")
    else:
        yield f"- {path}: {shown(old)}"
        yield f"+ {path}: {shown(new)}"
