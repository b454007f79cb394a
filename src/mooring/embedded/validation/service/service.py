"""Checks of Services and Endpoints, as far as there is no network behind them."""

# parity v1.36.4: core/validation/validation.go validateService, ValidateEndpoints
import ipaddress
from typing import Any, Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import addresses, names
from mooring.embedded.validation.field_errors import (
    ErrorList,
    duplicate,
    forbidden,
    invalid,
    one_of,
    required,
    texts,
)
from mooring.embedded.validation.object_meta import check_labels, check_meta, check_meta_update
from mooring.embedded.validation.pod.probes import check_port
from mooring.embedded.validation.semantic_equality import same
from mooring.embedded.validation.service.service_addresses import (
    check_addresses,
    check_addresses_kept,
    check_balancer,
    check_traffic,
    is_headless,
)

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_AFFINITIES: Final = ("ClientIP", "None")
_LONGEST_AFFINITY: Final = 86400


def check_service(obj: Obj, errors: ErrorList) -> None:
    """Check a new Service."""
    check_meta(obj, names.dns_label, errors)
    _check_spec(obj.get("spec") or {}, {}, errors)


def check_service_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a Service."""
    check_meta_update(obj, old, errors)
    spec, before = obj.get("spec") or {}, old.get("spec") or {}
    check_addresses_kept(spec, before, errors)
    _check_spec(spec, before, errors)


def _check_spec(spec: Obj, before: Obj, errors: ErrorList) -> None:
    ports, kind = spec.get("ports") or [], spec.get("type", "")
    headless = is_headless(spec)
    if not ports and not headless and kind != "ExternalName":
        errors.append(required("spec.ports"))
    if kind in ("LoadBalancer", "NodePort"):
        if headless:
            text = f"may not be set to 'None' for {kind} services"
            errors.append(invalid("spec.clusterIPs[0]", "None", text))
    elif kind == "ExternalName":
        _check_external_name(spec, errors)
    seen: set[str] = set()
    for number, port in enumerate(ports):
        _check_service_port(port, seen, f"spec.ports[{number}]", errors, named=len(ports) > 1)
    if spec.get("selector"):
        check_labels(spec["selector"], "spec.selector", errors)
    _check_affinity(spec, errors)
    check_addresses(spec, before, errors)
    for number, address in enumerate(spec.get("externalIPs") or ()):
        field = f"spec.externalIPs[{number}]"
        if problems := addresses.ip_address(address):
            texts(errors, field, address, problems)
        else:
            _check_endpoint_ip(address, field, errors)
    one_of(errors, "spec.type", kind, _TYPES)
    _check_port_numbers(ports, kind, errors)
    check_balancer(spec, errors)
    check_traffic(spec, errors)


def _check_external_name(spec: Obj, errors: ErrorList) -> None:
    for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(name):
            errors.append(forbidden(f"spec.{name}", "may not be set for ExternalName services"))
    target = spec.get("externalName", "").removesuffix(".")
    if target:
        texts(errors, "spec.externalName", target, names.subdomain(target))
    else:
        errors.append(required("spec.externalName"))


def _check_service_port(
    port: Obj, seen: set[str], path: str, errors: ErrorList, *, named: bool
) -> None:
    name, number = port.get("name", ""), port.get("port", 0)
    if name:
        texts(errors, f"{path}.name", name, names.dns_label(name))
        if name in seen:
            errors.append(duplicate(f"{path}.name", name))
        seen.add(name)
    elif named:
        errors.append(required(f"{path}.name"))
    texts(errors, f"{path}.port", number, names.port_number(number))
    one_of(errors, f"{path}.protocol", port.get("protocol", ""), _PROTOCOLS)
    check_port(port.get("targetPort", 0), f"{path}.targetPort", errors)
    protocol = port.get("appProtocol")
    if protocol is not None:
        texts(errors, f"{path}.appProtocol", protocol, names.label_key(protocol))


def _check_affinity(spec: Obj, errors: ErrorList) -> None:
    affinity, config = spec.get("sessionAffinity", ""), spec.get("sessionAffinityConfig")
    one_of(errors, "spec.sessionAffinity", affinity, _AFFINITIES)
    path = "spec.sessionAffinityConfig"
    if affinity == "None" and config is not None:
        text = "must not be set when session affinity is None"
        errors.append(forbidden(path, text))
    if affinity != "ClientIP":
        return
    when = "when session affinity type is ClientIP"
    if config is None:
        errors.append(required(path, when))
    elif config.get("clientIP") is None:
        errors.append(required(f"{path}.clientIP", when))
    elif (seconds := config["clientIP"].get("timeoutSeconds")) is None:
        errors.append(required(f"{path}.clientIP.timeoutSeconds", when))
    elif not 0 < seconds <= _LONGEST_AFFINITY:
        text = f"must be greater than 0 and less than {_LONGEST_AFFINITY}"
        errors.append(invalid(f"{path}.clientIP.timeoutSeconds", seconds, text))


def _check_port_numbers(ports: list[Obj], kind: str, errors: ErrorList) -> None:
    if kind == "ClusterIP":
        for number, port in enumerate(ports):
            if port.get("nodePort"):
                text = "may not be used when `type` is 'ClusterIP'"
                errors.append(forbidden(f"spec.ports[{number}].nodePort", text))
    outside: set[tuple[str, int]] = set()
    for number, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("nodePort", 0))
        if key[1] and key in outside:
            errors.append(duplicate(f"spec.ports[{number}].nodePort", key[1]))
        outside.add(key)
    inside: set[tuple[str, int]] = set()
    for number, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("port", 0))
        if key in inside:
            value: dict[str, Any] = {"Name": "", "Protocol": key[0], "AppProtocol": None}
            value |= {"Port": key[1], "TargetPort": 0, "NodePort": 0}
            errors.append(duplicate(f"spec.ports[{number}]", value))
        inside.add(key)


def check_endpoints(obj: Obj, errors: ErrorList) -> None:
    """Check new Endpoints."""
    check_meta(obj, names.subdomain, errors)
    _check_subsets(obj, errors)


def check_endpoints_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of Endpoints."""
    check_meta_update(obj, old, errors)
    check_meta(obj, names.subdomain, errors)
    if not same(obj.get("subsets"), old.get("subsets")):
        _check_subsets(obj, errors)


def _check_subsets(obj: Obj, errors: ErrorList) -> None:
    for number, one in enumerate(obj.get("subsets") or ()):
        path = f"subsets[{number}]"
        if not one.get("addresses") and not one.get("notReadyAddresses"):
            errors.append(required(path, "must specify `addresses` or `notReadyAddresses`"))
        for kind in ("addresses", "notReadyAddresses"):
            for place, address in enumerate(one.get(kind) or ()):
                _check_address(address, f"{path}.{kind}[{place}]", errors)
        ports = one.get("ports") or ()
        for place, port in enumerate(ports):
            _check_endpoint_port(port, f"{path}.ports[{place}]", errors, named=len(ports) > 1)


def _check_address(one: Obj, path: str, errors: ErrorList) -> None:
    address, host, node = one.get("ip", ""), one.get("hostname", ""), one.get("nodeName")
    texts(errors, f"{path}.ip", address, addresses.ip_address(address))
    if host:
        texts(errors, f"{path}.hostname", host, names.dns_label(host))
    if node is not None:
        texts(errors, f"{path}.nodeName", node, names.subdomain(node))
    _check_endpoint_ip(address, f"{path}.ip", errors)


def _check_endpoint_ip(text: str, path: str, errors: ErrorList) -> None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        errors.append(invalid(path, text, "must be a valid IP address"))
        return
    if address.is_unspecified:
        errors.append(invalid(path, text, f"may not be unspecified ({text})"))
    if address.is_loopback:
        message = "may not be in the loopback range (127.0.0.0/8, ::1/128)"
        errors.append(invalid(path, text, message))
    if address.is_link_local:
        message = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
        errors.append(invalid(path, text, message))


def _check_endpoint_port(port: Obj, path: str, errors: ErrorList, *, named: bool) -> None:
    name, number = port.get("name", ""), port.get("port", 0)
    if name:
        texts(errors, f"{path}.name", name, names.dns_label(name))
    elif named:
        errors.append(required(f"{path}.name"))
    texts(errors, f"{path}.port", number, names.port_number(number))
    one_of(errors, f"{path}.protocol", port.get("protocol", ""), _PROTOCOLS)
