"""Addresses and ports of Services: the API server allocates them.

`admission` calls it, because it reads all other Services. There is no network behind them.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from mooring.embedded.resources import SERVICES, Obj
from mooring.embedded.status_errors import INVALID, Cause, invalid
from mooring.embedded.store import Store

_HEADLESS: Final = "None"
#: Addresses are of 10.96.0.0/16; the first is that of the API server.
_NETWORK: Final = (10, 96)
_PORTS: Final = range(30000, 32768)


def allocate_addresses(service: Obj, old: Obj | None, store: Store) -> None:
    """Give a Service what it has to have, in place; it keeps what it had.

    Raises:
        StatusError: it asks for an address or a port that another one has.
    """
    # parity v1.36.4: pkg/registry/core/service/storage/{storage,alloc}.go
    spec = service["spec"]
    before = old["spec"] if old is not None else {}
    if before:
        _follow_first_address(spec, before)
        _forget_what_is_not_needed(spec, before)
        _keep_what_is_not_said(spec, before)
    if spec["type"] == "ExternalName":
        spec.pop("internalTrafficPolicy", None)
        return
    if "clusterIP" in spec and "clusterIPs" not in spec:
        spec["clusterIPs"] = [spec["clusterIP"]]
    _families(spec, before)
    others = [one.obj["spec"] for one in store.all(SERVICES) if one.uid != _uid(service)]
    name = service["metadata"].get("name", "")
    if not spec.get("clusterIPs"):
        address = next(_free_addresses(others))
        spec["clusterIP"], spec["clusterIPs"] = address, [address]
    elif spec["clusterIPs"][0] != _HEADLESS and not before:
        _check_address(spec, others, name)
    if spec["type"] == "NodePort" or (
        spec["type"] == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts", True)
    ):
        _node_ports(spec, others, name)
    if _checks_health(spec) and "healthCheckNodePort" not in spec:
        spec["healthCheckNodePort"] = next(_free_ports([*others, spec]))


def _follow_first_address(spec: Obj, before: Obj) -> None:
    """Who changes the first address and leaves the list alone means both."""
    # parity v1.36.4: pkg/registry/core/service/storage/storage.go normalizeClusterIPs
    address, known = spec.get("clusterIP"), before.get("clusterIP")
    same_list = spec.get("clusterIPs") == before.get("clusterIPs")
    if address and known and address != known and same_list:
        spec["clusterIPs"] = [address]


def _families(spec: Obj, before: Obj) -> None:
    headless = spec.get("clusterIP") == _HEADLESS and "selector" not in spec
    if "ipFamilyPolicy" not in spec:
        usual = "RequireDualStack" if headless else "SingleStack"
        spec["ipFamilyPolicy"] = before.get("ipFamilyPolicy", usual)
    families = spec.setdefault("ipFamilies", ["IPv4"])
    if headless and spec["ipFamilyPolicy"] != "SingleStack" and len(families) < 2:
        spec["ipFamilies"] = [*families, "IPv6" if families[0] == "IPv4" else "IPv4"]


def _keep_what_is_not_said(spec: Obj, before: Obj) -> None:
    # parity v1.36.4: pkg/registry/core/service/storage/storage.go patchAllocatedValues
    if spec["type"] != "ExternalName" and before.get("type") != "ExternalName":
        for field in ("clusterIP", "clusterIPs"):
            if field not in spec and field in before:
                spec[field] = before[field]
    if _has_ports(spec) and _has_ports(before):
        known = {port.get("name", ""): port.get("nodePort") for port in before.get("ports", ())}
        taken = _ports([before]) & _ports([spec])
        for port in spec.get("ports", ()):
            number = known.get(port.get("name", ""))
            if "nodePort" not in port and number and number not in taken:
                port["nodePort"] = number
    if _checks_health(spec) and _checks_health(before) and "healthCheckNodePort" in before:
        spec.setdefault("healthCheckNodePort", before["healthCheckNodePort"])


def _forget_what_is_not_needed(spec: Obj, before: Obj) -> None:
    # parity v1.36.4: pkg/registry/core/service/strategy.go dropTypeDependentFields
    if spec["type"] == "ExternalName" and before.get("type") != "ExternalName":
        if spec.get("clusterIPs") == before.get("clusterIPs"):
            spec.pop("clusterIP", None)
        _forget(spec, before, "clusterIPs", "ipFamilies", "ipFamilyPolicy")
    if _has_ports(before) and not _has_ports(spec) and _ports([spec]) <= _ports([before]):
        for port in spec.get("ports", ()):
            port.pop("nodePort", None)
    if _checks_health(before) and not _checks_health(spec):
        _forget(spec, before, "healthCheckNodePort")
    if before.get("type") == "LoadBalancer" and spec["type"] != "LoadBalancer":
        _forget(spec, before, "allocateLoadBalancerNodePorts", "loadBalancerClass")
    if _is_reachable(before) and not _is_reachable(spec):
        _forget(spec, before, "externalTrafficPolicy")


def _forget(spec: Obj, before: Obj, *fields: str) -> None:
    for field in fields:
        if spec.get(field) == before.get(field):
            spec.pop(field, None)


def _node_ports(spec: Obj, others: list[Obj], name: str) -> None:
    taken = _ports(others)
    for number, port in enumerate(spec.get("ports", ())):
        if port.get("nodePort") and port["nodePort"] not in _PORTS:
            raise _wrong(
                name,
                f"spec.ports[{number}].nodePort",
                port["nodePort"],
                "provided port is not in the valid range. The range of valid ports is "
                f"{_PORTS.start}-{_PORTS.stop - 1}",
            )
        if port.get("nodePort", 0) in taken:
            raise _wrong(
                name,
                f"spec.ports[{number}].nodePort",
                port["nodePort"],
                "provided port is already allocated",
            )
    for port in spec.get("ports", ()):
        if "nodePort" not in port:
            port["nodePort"] = next(_free_ports([*others, spec]))


def _check_address(spec: Obj, others: list[Obj], name: str) -> None:
    address = spec["clusterIPs"][0]
    if any(address in one.get("clusterIPs", ()) for one in others):
        said = f'["{address}"]'
        raise _wrong(
            name,
            "spec.clusterIPs",
            said,
            "failed to allocate IP " + address + ": provided IP is already allocated",
        )


def _wrong(name: str, field: str, value: object, what: str) -> Exception:
    return invalid("Service", "", name, [Cause(field, INVALID, f"Invalid value: {value}: {what}")])


def _free_addresses(others: Iterable[Obj]) -> Iterator[str]:
    taken = {address for one in others for address in one.get("clusterIPs", ())}
    first, second = _NETWORK
    for number in range(2, 2**16 - 1):
        address = f"{first}.{second}.{number >> 8}.{number & 255}"
        if address not in taken:
            yield address


def _free_ports(specs: Iterable[Obj]) -> Iterator[int]:
    taken = _ports(specs)
    return (port for port in _PORTS if port not in taken)


def _ports(specs: Iterable[Obj]) -> set[int]:
    taken = set()
    for spec in specs:
        taken |= {port["nodePort"] for port in spec.get("ports", ()) if "nodePort" in port}
        if "healthCheckNodePort" in spec:
            taken.add(spec["healthCheckNodePort"])
    return taken


def _has_ports(spec: Obj) -> bool:
    return spec.get("type") in ("NodePort", "LoadBalancer")


def _is_reachable(spec: Obj) -> bool:
    return _has_ports(spec) or (spec.get("type") == "ClusterIP" and "externalIPs" in spec)


def _checks_health(spec: Obj) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _uid(service: Obj) -> str:
    uid: str = service["metadata"].get("uid", "")
    return uid
