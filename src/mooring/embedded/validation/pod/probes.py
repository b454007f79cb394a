"""Checks of probes and of what is done at the beginning and the end of a container's life."""

# parity v1.36.4: core/validation/validation.go validateProbe, validateHandler, validateLifecycle
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.field_errors import (
    ErrorList,
    forbidden,
    invalid,
    not_negative,
    not_supported,
    required,
    texts,
)

_SCHEMES: Final = ("HTTP", "HTTPS")
_PROBE_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_LIFE_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "sleep")
_TIMES: Final = (
    "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold",
    "failureThreshold",
)  # fmt: skip


def check_probe(probe: Obj, kind: str, path: str, errors: ErrorList) -> None:
    """Check a probe; `kind` is its field, such as ``livenessProbe``."""
    _check_handler(probe, _PROBE_HANDLERS, None, path, errors)
    not_negative(errors, probe, path, *_TIMES)
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        field = f"{path}.terminationGracePeriodSeconds"
        errors.append(invalid(field, grace, "must be greater than 0"))
    if kind == "readinessProbe":
        if grace is not None:
            field = f"{path}.terminationGracePeriodSeconds"
            errors.append(invalid(field, grace, "must not be set for readinessProbes"))
    elif probe.get("successThreshold", 0) != 1:
        threshold = probe.get("successThreshold", 0)
        errors.append(invalid(f"{path}.successThreshold", threshold, "must be 1"))


def check_lifecycle(
    lifecycle: Obj, grace: int | None, system: str, path: str, errors: ErrorList
) -> None:
    """Check what is done after the start and before the end of a container."""
    for name in ("postStart", "preStop"):
        handler = lifecycle.get(name)
        if handler is not None:
            _check_handler(handler, _LIFE_HANDLERS, grace, f"{path}.{name}", errors)
    if lifecycle.get("stopSignal") is not None and not system:
        text = "may not be set for containers with empty `spec.os.name`"
        errors.append(forbidden(f"{path}.stopSignal", text))


def _check_handler(
    handler: Obj, kinds: tuple[str, ...], grace: int | None, path: str, errors: ErrorList
) -> None:
    given = [name for name in kinds if handler.get(name) is not None]
    if not given:
        errors.append(required(path, "must specify a handler type"))
        return
    _check_action(given[0], handler[given[0]], grace, f"{path}.{given[0]}", errors)
    for name in given[1:]:
        errors.append(forbidden(f"{path}.{name}", "may not specify more than 1 handler type"))


def _check_action(kind: str, action: Obj, grace: int | None, path: str, errors: ErrorList) -> None:
    if kind == "exec":
        if not action.get("command"):
            errors.append(required(f"{path}.command"))
    elif kind == "httpGet":
        _check_http(action, path, errors)
    elif kind == "sleep":
        seconds = action.get("seconds", 0)
        if grace is not None and not 0 <= seconds <= grace:
            text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
            errors.append(invalid(path, seconds, text))
    else:
        check_port(action.get("port", 0), f"{path}.port", errors)


def _check_http(action: Obj, path: str, errors: ErrorList) -> None:
    if not action.get("path"):
        errors.append(required(f"{path}.path"))
    check_port(action.get("port", 0), f"{path}.port", errors)
    scheme = action.get("scheme", "")
    if scheme not in _SCHEMES:
        errors.append(not_supported(f"{path}.scheme", scheme, _SCHEMES))
    for header in action.get("httpHeaders") or ():
        name = header.get("name", "")
        texts(errors, f"{path}.httpHeaders", name, names.header_name(name))


def check_port(port: int | str, path: str, errors: ErrorList) -> None:
    """Check a port that is given by number or by name."""
    problems = names.port_name(port) if isinstance(port, str) else names.port_number(port)
    texts(errors, path, port, problems)
