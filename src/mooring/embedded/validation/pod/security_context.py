"""Checks of security contexts, as far as an ordinary manifest gets them wrong."""

# parity v1.36.4: core/validation/validation.go ValidateSecurityContext,
# validatePodSpecSecurityContext
import re
from typing import Any, Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation.field_errors import (
    ErrorList,
    duplicate,
    invalid,
    not_supported,
    required,
)
from mooring.embedded.validation.pod.volumes import check_local_path

_MAX_ID: Final = 2**31 - 1
_ID: Final = f"must be between 0 and {_MAX_ID}, inclusive"
_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_SYSCTL_FORM: Final = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
_sysctl: Final = re.compile(_SYSCTL_FORM[1:-1]).fullmatch
# The fields of the internal type, in order, with their names in v1.
_FIELDS: Final = (
    "Capabilities", "Privileged", "SELinuxOptions", "WindowsOptions", "RunAsUser", "RunAsGroup",
    "RunAsNonRoot", "ReadOnlyRootFilesystem", "AllowPrivilegeEscalation", "ProcMount",
    "SeccompProfile", "AppArmorProfile",
)  # fmt: skip


def _check_id(holder: Obj, name: str, path: str, errors: ErrorList) -> None:
    value = holder.get(name)
    if value is not None and not 0 <= value <= _MAX_ID:
        errors.append(invalid(f"{path}.{name}", value, _ID))


def _check_seccomp(profile: Obj | None, path: str, errors: ErrorList) -> None:
    if profile is None:
        return
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        errors.append(required(f"{path}.type", "type is required when seccompProfile is set"))
    elif kind not in _PROFILES:
        errors.append(not_supported(f"{path}.type", kind, _PROFILES))
    if kind == "Localhost":
        if local is None:
            text = "must be set when seccomp type is Localhost"
            errors.append(required(f"{path}.localhostProfile", text))
        else:
            check_local_path(local, f"{path}.localhostProfile", errors)
    elif local is not None:
        value = {"Type": kind, "LocalhostProfile": local}
        text = "can only be set when seccomp type is Localhost"
        errors.append(invalid(f"{path}.localhostProfile", value, text))


def check_security_context(context: Obj, path: str, errors: ErrorList, *, host_users: bool) -> None:
    """Check the security context of a container."""
    _check_id(context, "runAsUser", path, errors)
    _check_id(context, "runAsGroup", path, errors)
    mount = context.get("procMount")
    if mount is not None:
        if mount not in ("Default", "Unmasked"):
            errors.append(not_supported(f"{path}.procMount", mount, ("Default", "Unmasked")))
        if host_users and mount == "Unmasked":
            text = "`hostUsers` must be false to use `Unmasked`"
            errors.append(invalid(f"{path}.procMount", mount, text))
    _check_seccomp(context.get("seccompProfile"), f"{path}.seccompProfile", errors)
    if context.get("allowPrivilegeEscalation") is False:
        text = "cannot set `allowPrivilegeEscalation` to false and "
        if context.get("privileged"):
            errors.append(invalid(path, _shown(context), f"{text}`privileged` to true"))
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            errors.append(invalid(path, _shown(context), f"{text}`capabilities.Add` CAP_SYS_ADMIN"))


def _shown(context: Obj) -> Obj:
    out: dict[str, Any] = {}
    for name in _FIELDS:
        key = name[0].lower() + name[1:] if name != "SELinuxOptions" else "seLinuxOptions"
        value = context.get(key)
        if name == "Capabilities" and value is not None:
            value = {"Add": value.get("add"), "Drop": value.get("drop")}
        out[name] = value
    return out


def check_pod_security_context(spec: Obj, path: str, errors: ErrorList) -> None:
    """Check the security context of a pod; `path` is its field."""
    context = spec.get("securityContext") or {}
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        _check_id(context, name, path, errors)
    for number, group in enumerate(context.get("supplementalGroups") or ()):
        if not 0 <= group <= _MAX_ID:
            errors.append(invalid(f"{path}.supplementalGroups[{number}]", group, _ID))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(invalid(f"{path}.shareProcessNamespace", True, text))
    if context.get("sysctls"):
        _check_sysctls(spec, context["sysctls"], f"{path}.sysctls", errors)
    policy = context.get("fsGroupChangePolicy")
    if policy is not None and policy not in ("Always", "OnRootMismatch"):
        known = ("Always", "OnRootMismatch")
        errors.append(not_supported(f"{path}.fsGroupChangePolicy", policy, known))
    _check_seccomp(context.get("seccompProfile"), f"{path}.seccompProfile", errors)
    policy = context.get("supplementalGroupsPolicy")
    if policy is not None and policy not in ("Merge", "Strict"):
        known = ("Merge", "Strict")
        errors.append(not_supported(f"{path}.supplementalGroupsPolicy", policy, known))


def _check_sysctls(spec: Obj, sysctls: list[Obj], path: str, errors: ErrorList) -> None:
    seen: set[str] = set()
    for number, one in enumerate(sysctls):
        name, at = one.get("name", ""), f"{path}[{number}].name"
        if not name:
            errors.append(required(at))
        elif len(name) > 253 or not _sysctl(name):
            text = f"must have at most 253 characters and match regex {_SYSCTL_FORM}"
            errors.append(invalid(at, name, text))
        elif name in seen:
            errors.append(duplicate(at, name))
        plain = name.replace("/", ".")
        if spec.get("hostNetwork") and plain.startswith("net."):
            text = "may not be specified when 'hostNetwork' is true"
            errors.append(invalid(at, name, text))
        elif spec.get("hostIPC") and plain.startswith(("kernel.shm", "kernel.msg", "fs.mqueue.")):
            errors.append(invalid(at, name, "may not be specified when 'hostIPC' is true"))
        seen.add(name)
