"""Checks of Services and Endpoints, as far as there is no network behind them."""

# parity v1.36.4: core/validation/validation.go validateService, ValidateEndpoints
import ipaddress
from typing import Any, Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import names
from mooring.embedded.validation.addresses import (
    check_addresses,
    check_addresses_kept,
    check_balancer,
    check_traffic,
    is_headless,
)
from mooring.embedded.validation.causes import (
    Found,
    duplicate,
    forbidden,
    invalid,
    one_of,
    required,
    texts,
)
from mooring.embedded.validation.changes import same
from mooring.embedded.validation.meta import check_labels, check_meta, check_meta_update
from mooring.embedded.validation.probes import check_port

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_AFFINITIES: Final = ("ClientIP", "None")
_LONGEST_AFFINITY: Final = 86400


def check_service(obj: Obj, found: Found) -> None:
    """Check a new Service."""
    check_meta(obj, names.dns_label, found)
    _check_spec(obj.get("spec") or {}, {}, found)


def check_service_update(obj: Obj, old: Obj, found: Found) -> None:
    """Check a change of a Service."""
    check_meta_update(obj, old, found)
    spec, before = obj.get("spec") or {}, old.get("spec") or {}
    check_addresses_kept(spec, before, found)
    _check_spec(spec, before, found)


def _check_spec(spec: Obj, before: Obj, found: Found) -> None:
    ports, kind = spec.get("ports") or [], spec.get("type", "")
    headless = is_headless(spec)
    if not ports and not headless and kind != "ExternalName":
        found.append(required("spec.ports"))
    if kind in ("LoadBalancer", "NodePort"):
        if headless:
            text = f"may not be set to 'None' for {kind} services"
            found.append(invalid("spec.clusterIPs[0]", "None", text))
    elif kind == "ExternalName":
        _check_external_name(spec, found)
    seen: set[str] = set()
    for number, port in enumerate(ports):
        _check_service_port(port, seen, f"spec.ports[{number}]", found, named=len(ports) > 1)
    if spec.get("selector"):
        check_labels(spec["selector"], "spec.selector", found)
    _check_affinity(spec, found)
    check_addresses(spec, before, found)
    for number, address in enumerate(spec.get("externalIPs") or ()):
        field = f"spec.externalIPs[{number}]"
        if problems := names.ip_address(address):
            texts(found, field, address, problems)
        else:
            _check_endpoint_ip(address, field, found)
    one_of(found, "spec.type", kind, _TYPES)
    _check_port_numbers(ports, kind, found)
    check_balancer(spec, found)
    check_traffic(spec, found)


def _check_external_name(spec: Obj, found: Found) -> None:
    for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(name):
            found.append(forbidden(f"spec.{name}", "may not be set for ExternalName services"))
    target = spec.get("externalName", "").removesuffix(".")
    if target:
        texts(found, "spec.externalName", target, names.subdomain(target))
    else:
        found.append(required("spec.externalName"))


def _check_service_port(port: Obj, seen: set[str], path: str, found: Found, *, named: bool) -> None:
    name, number = port.get("name", ""), port.get("port", 0)
    if name:
        texts(found, f"{path}.name", name, names.dns_label(name))
        if name in seen:
            found.append(duplicate(f"{path}.name", name))
        seen.add(name)
    elif named:
        found.append(required(f"{path}.name"))
    texts(found, f"{path}.port", number, names.port_number(number))
    one_of(found, f"{path}.protocol", port.get("protocol", ""), _PROTOCOLS)
    check_port(port.get("targetPort", 0), f"{path}.targetPort", found)
    protocol = port.get("appProtocol")
    if protocol is not None:
        texts(found, f"{path}.appProtocol", protocol, names.label_key(protocol))


def _check_affinity(spec: Obj, found: Found) -> None:
    affinity, config = spec.get("sessionAffinity", ""), spec.get("sessionAffinityConfig")
    one_of(found, "spec.sessionAffinity", affinity, _AFFINITIES)
    path = "spec.sessionAffinityConfig"
    if affinity == "None" and config is not None:
        text = "must not be set when session affinity is None"
        found.append(forbidden(path, text))
    if affinity != "ClientIP":
        return
    when = "when session affinity type is ClientIP"
    if config is None:
        found.append(required(path, when))
    elif config.get("clientIP") is None:
        found.append(required(f"{path}.clientIP", when))
    elif (seconds := config["clientIP"].get("timeoutSeconds")) is None:
        found.append(required(f"{path}.clientIP.timeoutSeconds", when))
    elif not 0 < seconds <= _LONGEST_AFFINITY:
        text = f"must be greater than 0 and less than {_LONGEST_AFFINITY}"
        found.append(invalid(f"{path}.clientIP.timeoutSeconds", seconds, text))


def _check_port_numbers(ports: list[Obj], kind: str, found: Found) -> None:
    if kind == "ClusterIP":
        for number, port in enumerate(ports):
            if port.get("nodePort"):
                text = "may not be used when `type` is 'ClusterIP'"
                found.append(forbidden(f"spec.ports[{number}].nodePort", text))
    outside: set[tuple[str, int]] = set()
    for number, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("nodePort", 0))
        if key[1] and key in outside:
            found.append(duplicate(f"spec.ports[{number}].nodePort", key[1]))
        outside.add(key)
    inside: set[tuple[str, int]] = set()
    for number, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("port", 0))
        if key in inside:
            value: dict[str, Any] = {"Name": "", "Protocol": key[0], "AppProtocol": None}
            value |= {"Port": key[1], "TargetPort": 0, "NodePort": 0}
            found.append(duplicate(f"spec.ports[{number}]", value))
        inside.add(key)


def check_endpoints(obj: Obj, found: Found) -> None:
    """Check new Endpoints."""
    check_meta(obj, names.subdomain, found)
    _check_subsets(obj, found)


def check_endpoints_update(obj: Obj, old: Obj, found: Found) -> None:
    """Check a change of Endpoints."""
    check_meta_update(obj, old, found)
    check_meta(obj, names.subdomain, found)
    if not same(obj.get("subsets"), old.get("subsets")):
        _check_subsets(obj, found)


def _check_subsets(obj: Obj, found: Found) -> None:
    for number, one in enumerate(obj.get("subsets") or ()):
        path = f"subsets[{number}]"
        if not one.get("addresses") and not one.get("notReadyAddresses"):
            found.append(required(path, "must specify `addresses` or `notReadyAddresses`"))
        for kind in ("addresses", "notReadyAddresses"):
            for place, address in enumerate(one.get(kind) or ()):
                _check_address(address, f"{path}.{kind}[{place}]", found)
        ports = one.get("ports") or ()
        for place, port in enumerate(ports):
            _check_endpoint_port(port, f"{path}.ports[{place}]", found, named=len(ports) > 1)


def _check_address(one: Obj, path: str, found: Found) -> None:
    address, host, node = one.get("ip", ""), one.get("hostname", ""), one.get("nodeName")
    texts(found, f"{path}.ip", address, names.ip_address(address))
    if host:
        texts(found, f"{path}.hostname", host, names.dns_label(host))
    if node is not None:
        texts(found, f"{path}.nodeName", node, names.subdomain(node))
    _check_endpoint_ip(address, f"{path}.ip", found)


def _check_endpoint_ip(text: str, path: str, found: Found) -> None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        found.append(invalid(path, text, "must be a valid IP address"))
        return
    if address.is_unspecified:
        found.append(invalid(path, text, f"may not be unspecified ({text})"))
    if address.is_loopback:
        told = "may not be in the loopback range (127.0.0.0/8, ::1/128)"
        found.append(invalid(path, text, told))
    if address.is_link_local:
        told = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
        found.append(invalid(path, text, told))


def _check_endpoint_port(port: Obj, path: str, found: Found, *, named: bool) -> None:
    name, number = port.get("name", ""), port.get("port", 0)
    if name:
        texts(found, f"{path}.name", name, names.dns_label(name))
    elif named:
        found.append(required(f"{path}.name"))
    texts(found, f"{path}.port", number, names.port_number(number))
    one_of(found, f"{path}.protocol", port.get("protocol", ""), _PROTOCOLS)
