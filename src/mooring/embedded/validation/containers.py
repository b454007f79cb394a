"""Checks of containers: of a pod or of a template, ordinary ones, init and ephemeral ones."""

# parity v1.36.4: core/validation/validation.go validateContainers, validateInitContainers,
# validateEphemeralContainers, validateContainerCommon
from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.causes import (
    Found,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    one_of,
    required,
    texts,
    too_many,
)
from mooring.embedded.validation.env import check_env, check_env_from
from mooring.embedded.validation.mounts import check_devices, check_mounts
from mooring.embedded.validation.probes import check_lifecycle, check_probe
from mooring.embedded.validation.resources import check_requirements
from mooring.embedded.validation.security import check_security_context
from mooring.embedded.validation.volumes import PULL_POLICIES

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_RESTART_POLICIES: Final = ("Always", "Never", "OnFailure")
_RESIZE_POLICIES: Final = ("NotRequired", "RestartContainer")
_RULE_ACTIONS: Final = ("Restart", "RestartAllContainers")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
# In the order of the fields of EphemeralContainerCommon.
_NOT_EPHEMERAL: Final = (
    "ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules", "livenessProbe",
    "readinessProbe", "startupProbe", "lifecycle",
)  # fmt: skip


class Around(msgspec.Struct, frozen=True, gc=False):
    """What the containers of a pod need to know of the pod.

    Attributes:
        volumes: the good volumes, by name.
        claims: the names of the resource claims.
        grace: terminationGracePeriodSeconds.
        restart_policy: of the pod.
        system: the name of the operating system, empty if not said.
        host_users: whether the pod is in the node's user namespace.
    """

    volumes: Mapping[str, Obj]
    claims: Collection[str]
    grace: int | None
    restart_policy: str
    system: str
    host_users: bool


def check_containers(containers: list[Obj], around: Around, path: str, found: Found) -> None:
    """Check the ordinary containers."""
    if not containers:
        found.append(required(path))
        return
    seen: set[str] = set()
    host_ports = False
    for number, one in enumerate(containers):
        at = f"{path}[{number}]"
        _check_common(one, around, at, found)
        name = one.get("name", "")
        if name in seen:
            found.append(duplicate(f"{at}.name", name))
        seen.add(name)
        _check_life(one, around, at, found)
        if "restartPolicy" in one or "restartPolicyRules" in one:
            _check_restart(one, at, found)
        if one.get("ports"):
            host_ports = True
    if host_ports:
        _check_host_ports(containers, path, found)


def check_init_containers(
    containers: list[Obj], ordinary: list[Obj], around: Around, path: str, found: Found
) -> None:
    """Check the init containers, among them sidecars."""
    seen = {one.get("name", "") for one in ordinary}
    for number, one in enumerate(containers):
        at = f"{path}[{number}]"
        _check_common(one, around, at, found)
        _check_restart(one, at, found)
        sidecar = one.get("restartPolicy") == "Always"
        name = one.get("name", "")
        if name in seen:
            found.append(duplicate(f"{at}.name", name))
        elif name:
            seen.add(name)
        # Only within one container, and counted from zero: that is what the API server does.
        _check_host_ports([one], path, found)
        if sidecar:
            _check_life(one, around, at, found)
        else:
            for field in ("lifecycle", *_PROBES):
                if one.get(field) is not None:
                    text = "may not be set for init containers without restartPolicy=Always"
                    found.append(forbidden(f"{at}.{field}", text))
            for place, policy in enumerate(one.get("resizePolicy") or ()):
                if policy.get("restartPolicy") == "RestartContainer":
                    text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                    field = f"{at}.resizePolicy[{place}].restartPolicy"
                    found.append(invalid(field, "RestartContainer", text))


def check_ephemeral_containers(spec: Obj, around: Around, path: str, found: Found) -> None:
    """Check the containers that were added to a running pod."""
    others = {
        one.get("name", "")
        for one in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    }
    seen = set(others)
    text = "cannot be set for an Ephemeral Container"
    for number, one in enumerate(spec.get("ephemeralContainers") or ()):
        at = f"{path}[{number}]"
        _check_common(one, around, at, found)
        check_image_spaces(one, at, found)
        name, target = one.get("name", ""), one.get("targetContainerName", "")
        if name in seen:
            found.append(duplicate(f"{at}.name", name))
        seen.add(name)
        if target and target not in others:
            found.append(not_found(f"{at}.targetContainerName", target))
        for field in _NOT_EPHEMERAL:
            if one.get(field):
                found.append(forbidden(f"{at}.{field}", text))
        for place, mount in enumerate(one.get("volumeMounts") or ()):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    found.append(forbidden(f"{at}.volumeMounts[{place}].{field}", text))


def check_image_spaces(container: Obj, path: str, found: Found) -> None:
    """Check that an image has no spaces around it; asked of pods, not of templates."""
    image = container.get("image", "")
    if image != image.strip():
        text = "must not have leading or trailing whitespace"
        found.append(invalid(f"{path}.image", image, text))


def _check_common(one: Obj, around: Around, path: str, found: Found) -> None:
    get = one.get
    name = get("name", "")
    if not name:
        found.append(required(f"{path}.name"))
    elif problems := names.dns_label(name):
        texts(found, f"{path}.name", name, problems)
    if not get("image"):
        found.append(required(f"{path}.image"))
    policy = get("terminationMessagePolicy", "")
    if policy not in _MESSAGE_POLICIES:
        one_of(found, f"{path}.terminationMessagePolicy", policy, _MESSAGE_POLICIES)
    if ports := get("ports"):
        _check_ports(ports, f"{path}.ports", found)
    if variables := get("env"):
        check_env(variables, f"{path}.env", found)
    if sources := get("envFrom"):
        check_env_from(sources, f"{path}.envFrom", found)
    if get("volumeMounts"):
        check_mounts(one, around.volumes, f"{path}.volumeMounts", found)
    if get("volumeDevices"):
        check_devices(one, around.volumes, f"{path}.volumeDevices", found)
    policy = get("imagePullPolicy", "")
    if policy not in PULL_POLICIES:
        one_of(found, f"{path}.imagePullPolicy", policy, PULL_POLICIES)
    if resources := get("resources"):
        check_requirements(resources, f"{path}.resources", found, claims=around.claims)
    if policies := get("resizePolicy"):
        _check_resize(policies, around.restart_policy, f"{path}.resizePolicy", found)
    if context := get("securityContext"):
        at = f"{path}.securityContext"
        check_security_context(context, at, found, host_users=around.host_users)


def _check_life(one: Obj, around: Around, path: str, found: Found) -> None:
    lifecycle = one.get("lifecycle")
    if lifecycle is not None:
        check_lifecycle(lifecycle, around.grace, around.system, f"{path}.lifecycle", found)
    for field in _PROBES:
        probe = one.get(field)
        if probe is not None:
            check_probe(probe, field, f"{path}.{field}", found)


def _check_ports(ports: list[Obj], path: str, found: Found) -> None:
    seen: set[str] = set()
    for number, port in enumerate(ports):
        name = port.get("name")
        at = f"{path}[{number}]"
        if name:
            problems = names.port_name(name)
            if problems:
                texts(found, f"{at}.name", name, problems)
            elif name in seen:
                found.append(duplicate(f"{at}.name", name))
            else:
                seen.add(name)
        inside = port.get("containerPort", 0)
        if not inside:
            found.append(required(f"{at}.containerPort"))
        elif problems := names.port_number(inside):
            texts(found, f"{at}.containerPort", inside, problems)
        outside = port.get("hostPort", 0)
        if outside and (problems := names.port_number(outside)):
            texts(found, f"{at}.hostPort", outside, problems)
        protocol = port.get("protocol", "")
        if protocol not in _PROTOCOLS:
            one_of(found, f"{at}.protocol", protocol, _PROTOCOLS)


def _check_host_ports(containers: list[Obj], path: str, found: Found) -> None:
    seen: set[str] = set()
    for number, one in enumerate(containers):
        for place, port in enumerate(one.get("ports") or ()):
            outside = port.get("hostPort", 0)
            if not outside:
                continue
            key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{outside}"
            if key in seen:
                found.append(duplicate(f"{path}[{number}].ports[{place}].hostPort", key))
            seen.add(key)


def _check_resize(policies: list[Obj], restart: str, path: str, found: Found) -> None:
    seen: set[str] = set()
    for number, one in enumerate(policies):
        name, policy = one.get("resourceName", ""), one.get("restartPolicy", "")
        if name in seen:
            found.append(duplicate(f"{path}[{number}]", name))
        seen.add(name)
        one_of(found, path, name, ("cpu", "memory"))
        one_of(found, path, policy, _RESIZE_POLICIES)
        if restart == "Never" and policy != "NotRequired":
            text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            found.append(invalid(path, policy, text))


def _check_restart(one: Obj, path: str, found: Found) -> None:
    policy, rules = one.get("restartPolicy"), one.get("restartPolicyRules") or ()
    if policy is None:
        if rules:
            text = "must specify restartPolicy when restart rules are used"
            found.append(required(f"{path}.restartPolicy", text))
    elif policy not in _RESTART_POLICIES:
        found.append(not_supported(f"{path}.restartPolicy", policy, _RESTART_POLICIES))
    if len(rules) > 20:
        found.append(too_many(f"{path}.restartPolicyRules", len(rules), 20))
    for number, rule in enumerate(rules):
        _check_restart_rule(rule, f"{path}.restartPolicyRules[{number}]", found)


def _check_restart_rule(rule: Mapping[str, Any], path: str, found: Found) -> None:
    action, codes = rule.get("action", ""), rule.get("exitCodes")
    if action not in _RULE_ACTIONS:
        found.append(not_supported(f"{path}.action", action, _RULE_ACTIONS))
    if codes is None:
        found.append(required(f"{path}.exitCodes", "must be specified"))
        return
    operator, values = codes.get("operator", ""), codes.get("values") or ()
    if operator not in ("In", "NotIn"):
        found.append(not_supported(f"{path}.exitCodes.operator", operator, ("In", "NotIn")))
    if len(values) > 255:
        found.append(too_many(f"{path}.exitCodes.values", len(values), 255))
