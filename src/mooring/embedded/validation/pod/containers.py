"""Checks of containers: of a pod or of a template, ordinary ones, init and ephemeral ones."""

# parity v1.36.4: core/validation/validation.go validateContainers, validateInitContainers,
# validateEphemeralContainers, validateContainerCommon
from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import (
    ErrorList,
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
from mooring.embedded.validation.pod.env import check_env, check_env_from
from mooring.embedded.validation.pod.probes import check_lifecycle, check_probe
from mooring.embedded.validation.pod.security_context import check_security_context
from mooring.embedded.validation.pod.volume_mounts import check_devices, check_mounts
from mooring.embedded.validation.pod.volumes import PULL_POLICIES
from mooring.embedded.validation.resource_amounts import check_requirements

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


class PodContext(msgspec.Struct, frozen=True, gc=False):
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


def check_containers(
    containers: list[Obj], around: PodContext, path: str, errors: ErrorList
) -> None:
    """Check the ordinary containers."""
    if not containers:
        errors.append(required(path))
        return
    seen: set[str] = set()
    host_ports = False
    for number, one in enumerate(containers):
        at = f"{path}[{number}]"
        _check_common(one, around, at, errors)
        name = one.get("name", "")
        if name in seen:
            errors.append(duplicate(f"{at}.name", name))
        seen.add(name)
        _check_life(one, around, at, errors)
        if "restartPolicy" in one or "restartPolicyRules" in one:
            _check_restart(one, at, errors)
        if one.get("ports"):
            host_ports = True
    if host_ports:
        _check_host_ports(containers, path, errors)


def check_init_containers(
    containers: list[Obj], ordinary: list[Obj], around: PodContext, path: str, errors: ErrorList
) -> None:
    """Check the init containers, among them sidecars."""
    seen = {one.get("name", "") for one in ordinary}
    for number, one in enumerate(containers):
        at = f"{path}[{number}]"
        _check_common(one, around, at, errors)
        _check_restart(one, at, errors)
        sidecar = one.get("restartPolicy") == "Always"
        name = one.get("name", "")
        if name in seen:
            errors.append(duplicate(f"{at}.name", name))
        elif name:
            seen.add(name)
        # Only within one container, and counted from zero: that is what the API server does.
        _check_host_ports([one], path, errors)
        if sidecar:
            _check_life(one, around, at, errors)
        else:
            for field in ("lifecycle", *_PROBES):
                if one.get(field) is not None:
                    text = "may not be set for init containers without restartPolicy=Always"
                    errors.append(forbidden(f"{at}.{field}", text))
            for place, policy in enumerate(one.get("resizePolicy") or ()):
                if policy.get("restartPolicy") == "RestartContainer":
                    text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                    field = f"{at}.resizePolicy[{place}].restartPolicy"
                    errors.append(invalid(field, "RestartContainer", text))


def check_ephemeral_containers(spec: Obj, around: PodContext, path: str, errors: ErrorList) -> None:
    """Check the containers that were added to a running pod."""
    others = {
        one.get("name", "")
        for one in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    }
    seen = set(others)
    text = "cannot be set for an Ephemeral Container"
    for number, one in enumerate(spec.get("ephemeralContainers") or ()):
        at = f"{path}[{number}]"
        _check_common(one, around, at, errors)
        check_image_spaces(one, at, errors)
        name, target = one.get("name", ""), one.get("targetContainerName", "")
        if name in seen:
            errors.append(duplicate(f"{at}.name", name))
        seen.add(name)
        if target and target not in others:
            errors.append(not_found(f"{at}.targetContainerName", target))
        for field in _NOT_EPHEMERAL:
            if one.get(field):
                errors.append(forbidden(f"{at}.{field}", text))
        for place, mount in enumerate(one.get("volumeMounts") or ()):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    errors.append(forbidden(f"{at}.volumeMounts[{place}].{field}", text))


def check_image_spaces(container: Obj, path: str, errors: ErrorList) -> None:
    """Check that an image has no spaces around it; asked of pods, not of templates."""
    image = container.get("image", "")
    if image != image.strip():
        text = "must not have leading or trailing whitespace"
        errors.append(invalid(f"{path}.image", image, text))


def _check_common(one: Obj, around: PodContext, path: str, errors: ErrorList) -> None:
    get = one.get
    name = get("name", "")
    if not name:
        errors.append(required(f"{path}.name"))
    elif problems := names.dns_label(name):
        texts(errors, f"{path}.name", name, problems)
    if not get("image"):
        errors.append(required(f"{path}.image"))
    policy = get("terminationMessagePolicy", "")
    if policy not in _MESSAGE_POLICIES:
        one_of(errors, f"{path}.terminationMessagePolicy", policy, _MESSAGE_POLICIES)
    if ports := get("ports"):
        _check_ports(ports, f"{path}.ports", errors)
    if variables := get("env"):
        check_env(variables, f"{path}.env", errors)
    if sources := get("envFrom"):
        check_env_from(sources, f"{path}.envFrom", errors)
    if get("volumeMounts"):
        check_mounts(one, around.volumes, f"{path}.volumeMounts", errors)
    if get("volumeDevices"):
        check_devices(one, around.volumes, f"{path}.volumeDevices", errors)
    policy = get("imagePullPolicy", "")
    if policy not in PULL_POLICIES:
        one_of(errors, f"{path}.imagePullPolicy", policy, PULL_POLICIES)
    if resources := get("resources"):
        check_requirements(resources, f"{path}.resources", errors, claims=around.claims)
    if policies := get("resizePolicy"):
        _check_resize(policies, around.restart_policy, f"{path}.resizePolicy", errors)
    if context := get("securityContext"):
        at = f"{path}.securityContext"
        check_security_context(context, at, errors, host_users=around.host_users)


def _check_life(one: Obj, around: PodContext, path: str, errors: ErrorList) -> None:
    lifecycle = one.get("lifecycle")
    if lifecycle is not None:
        check_lifecycle(lifecycle, around.grace, around.system, f"{path}.lifecycle", errors)
    for field in _PROBES:
        probe = one.get(field)
        if probe is not None:
            check_probe(probe, field, f"{path}.{field}", errors)


def _check_ports(ports: list[Obj], path: str, errors: ErrorList) -> None:
    seen: set[str] = set()
    for number, port in enumerate(ports):
        name = port.get("name")
        at = f"{path}[{number}]"
        if name:
            problems = names.port_name(name)
            if problems:
                texts(errors, f"{at}.name", name, problems)
            elif name in seen:
                errors.append(duplicate(f"{at}.name", name))
            else:
                seen.add(name)
        inside = port.get("containerPort", 0)
        if not inside:
            errors.append(required(f"{at}.containerPort"))
        elif problems := names.port_number(inside):
            texts(errors, f"{at}.containerPort", inside, problems)
        outside = port.get("hostPort", 0)
        if outside and (problems := names.port_number(outside)):
            texts(errors, f"{at}.hostPort", outside, problems)
        protocol = port.get("protocol", "")
        if protocol not in _PROTOCOLS:
            one_of(errors, f"{at}.protocol", protocol, _PROTOCOLS)


def _check_host_ports(containers: list[Obj], path: str, errors: ErrorList) -> None:
    seen: set[str] = set()
    for number, one in enumerate(containers):
        for place, port in enumerate(one.get("ports") or ()):
            outside = port.get("hostPort", 0)
            if not outside:
                continue
            key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{outside}"
            if key in seen:
                errors.append(duplicate(f"{path}[{number}].ports[{place}].hostPort", key))
            seen.add(key)


def _check_resize(policies: list[Obj], restart: str, path: str, errors: ErrorList) -> None:
    seen: set[str] = set()
    for number, one in enumerate(policies):
        name, policy = one.get("resourceName", ""), one.get("restartPolicy", "")
        if name in seen:
            errors.append(duplicate(f"{path}[{number}]", name))
        seen.add(name)
        one_of(errors, path, name, ("cpu", "memory"))
        one_of(errors, path, policy, _RESIZE_POLICIES)
        if restart == "Never" and policy != "NotRequired":
            text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            errors.append(invalid(path, policy, text))


def _check_restart(one: Obj, path: str, errors: ErrorList) -> None:
    policy, rules = one.get("restartPolicy"), one.get("restartPolicyRules") or ()
    if policy is None:
        if rules:
            text = "must specify restartPolicy when restart rules are used"
            errors.append(required(f"{path}.restartPolicy", text))
    elif policy not in _RESTART_POLICIES:
        errors.append(not_supported(f"{path}.restartPolicy", policy, _RESTART_POLICIES))
    if len(rules) > 20:
        errors.append(too_many(f"{path}.restartPolicyRules", len(rules), 20))
    for number, rule in enumerate(rules):
        _check_restart_rule(rule, f"{path}.restartPolicyRules[{number}]", errors)


def _check_restart_rule(rule: Mapping[str, Any], path: str, errors: ErrorList) -> None:
    action, codes = rule.get("action", ""), rule.get("exitCodes")
    if action not in _RULE_ACTIONS:
        errors.append(not_supported(f"{path}.action", action, _RULE_ACTIONS))
    if codes is None:
        errors.append(required(f"{path}.exitCodes", "must be specified"))
        return
    operator, values = codes.get("operator", ""), codes.get("values") or ()
    if operator not in ("In", "NotIn"):
        errors.append(not_supported(f"{path}.exitCodes.operator", operator, ("In", "NotIn")))
    if len(values) > 255:
        errors.append(too_many(f"{path}.exitCodes.values", len(values), 255))
