"""Checks of security contexts, as far as an ordinary manifest gets them wrong."""

# parity v1.36.4: core/validation/validation.go ValidateSecurityContext,
# validatePodSpecSecurityContext
import re
from typing import Any, Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation.causes import (
    Found,
    duplicate,
    invalid,
    not_supported,
    required,
)
from mooring.embedded.validation.volumes import check_local_path

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


def _check_id(holder: Obj, name: str, path: str, found: Found) -> None:
    value = holder.get(name)
    if value is not None and not 0 <= value <= _MAX_ID:
        found.append(invalid(f"{path}.{name}", value, _ID))


def _check_seccomp(profile: Obj | None, path: str, found: Found) -> None:
    if profile is None:
        return
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        found.append(required(f"{path}.type", "type is required when seccompProfile is set"))
    elif kind not in _PROFILES:
        found.append(not_supported(f"{path}.type", kind, _PROFILES))
    if kind == "Localhost":
        if local is None:
            text = "must be set when seccomp type is Localhost"
            found.append(required(f"{path}.localhostProfile", text))
        else:
            check_local_path(local, f"{path}.localhostProfile", found)
    elif local is not None:
        value = {"Type": kind, "LocalhostProfile": local}
        text = "can only be set when seccomp type is Localhost"
        found.append(invalid(f"{path}.localhostProfile", value, text))


def check_security_context(context: Obj, path: str, found: Found, *, host_users: bool) -> None:
    """Check the security context of a container."""
    _check_id(context, "runAsUser", path, found)
    _check_id(context, "runAsGroup", path, found)
    mount = context.get("procMount")
    if mount is not None:
        if mount not in ("Default", "Unmasked"):
            found.append(not_supported(f"{path}.procMount", mount, ("Default", "Unmasked")))
        if host_users and mount == "Unmasked":
            text = "`hostUsers` must be false to use `Unmasked`"
            found.append(invalid(f"{path}.procMount", mount, text))
    _check_seccomp(context.get("seccompProfile"), f"{path}.seccompProfile", found)
    if context.get("allowPrivilegeEscalation") is False:
        text = "cannot set `allowPrivilegeEscalation` to false and "
        if context.get("privileged"):
            found.append(invalid(path, _shown(context), f"{text}`privileged` to true"))
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            found.append(invalid(path, _shown(context), f"{text}`capabilities.Add` CAP_SYS_ADMIN"))


def _shown(context: Obj) -> Obj:
    out: dict[str, Any] = {}
    for name in _FIELDS:
        key = name[0].lower() + name[1:] if name != "SELinuxOptions" else "seLinuxOptions"
        value = context.get(key)
        if name == "Capabilities" and value is not None:
            value = {"Add": value.get("add"), "Drop": value.get("drop")}
        out[name] = value
    return out


def check_pod_security_context(spec: Obj, path: str, found: Found) -> None:
    """Check the security context of a pod; `path` is its field."""
    context = spec.get("securityContext") or {}
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        _check_id(context, name, path, found)
    for number, group in enumerate(context.get("supplementalGroups") or ()):
        if not 0 <= group <= _MAX_ID:
            found.append(invalid(f"{path}.supplementalGroups[{number}]", group, _ID))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        found.append(invalid(f"{path}.shareProcessNamespace", True, text))
    if context.get("sysctls"):
        _check_sysctls(spec, context["sysctls"], f"{path}.sysctls", found)
    policy = context.get("fsGroupChangePolicy")
    if policy is not None and policy not in ("Always", "OnRootMismatch"):
        known = ("Always", "OnRootMismatch")
        found.append(not_supported(f"{path}.fsGroupChangePolicy", policy, known))
    _check_seccomp(context.get("seccompProfile"), f"{path}.seccompProfile", found)
    policy = context.get("supplementalGroupsPolicy")
    if policy is not None and policy not in ("Merge", "Strict"):
        known = ("Merge", "Strict")
        found.append(not_supported(f"{path}.supplementalGroupsPolicy", policy, known))


def _check_sysctls(spec: Obj, sysctls: list[Obj], path: str, found: Found) -> None:
    seen: set[str] = set()
    for number, one in enumerate(sysctls):
        name, at = one.get("name", ""), f"{path}[{number}].name"
        if not name:
            found.append(required(at))
        elif len(name) > 253 or not _sysctl(name):
            text = f"must have at most 253 characters and match regex {_SYSCTL_FORM}"
            found.append(invalid(at, name, text))
        elif name in seen:
            found.append(duplicate(at, name))
        plain = name.replace("/", ".")
        if spec.get("hostNetwork") and plain.startswith("net."):
            text = "may not be specified when 'hostNetwork' is true"
            found.append(invalid(at, name, text))
        elif spec.get("hostIPC") and plain.startswith(("kernel.shm", "kernel.msg", "fs.mqueue.")):
            found.append(invalid(at, name, "may not be specified when 'hostIPC' is true"))
        seen.add(name)
