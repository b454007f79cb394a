"""Checks of NetworkPolicies. Nothing here enforces one: the embedded cluster has no network."""

# parity v1.36.4: networking/validation/validation.go
from collections.abc import Collection, Iterator
from typing import Final

from mooring.embedded.resources import Obj
from mooring.embedded.validation import addresses, names
from mooring.embedded.validation.field_errors import (
    ErrorList,
    forbidden,
    invalid,
    not_supported,
    required,
    texts,
)
from mooring.embedded.validation.object_meta import (
    check_meta,
    check_meta_update,
    check_selector,
)

_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_TYPES: Final = ("Ingress", "Egress")
#: The rules of each direction, and where they name the other side.
_DIRECTIONS: Final = (("ingress", "from"), ("egress", "to"))


def check_network_policy(obj: Obj, errors: ErrorList) -> None:
    """Check a new NetworkPolicy."""
    check_meta(obj, names.subdomain, errors)
    _check_spec(obj.get("spec") or {}, errors, ())


def check_network_policy_update(obj: Obj, old: Obj, errors: ErrorList) -> None:
    """Check a change of a NetworkPolicy; networks that it has already are not checked again."""
    check_meta_update(obj, old, errors)
    known = {
        network
        for peer in _peers(old.get("spec") or {})
        if (block := peer.get("ipBlock")) is not None
        for network in (block.get("cidr", ""), *(block.get("except") or ()))
    }
    _check_spec(obj.get("spec") or {}, errors, known)


def _check_spec(spec: Obj, errors: ErrorList, known: Collection[str]) -> None:
    check_selector(spec.get("podSelector"), "spec.podSelector", errors)
    for direction, side in _DIRECTIONS:
        for number, rule in enumerate(spec.get(direction) or ()):
            path = f"spec.{direction}[{number}]"
            for place, port in enumerate(rule.get("ports") or ()):
                _check_port(port, f"{path}.ports[{place}]", errors)
            for place, peer in enumerate(rule.get(side) or ()):
                _check_peer(peer, f"{path}.{side}[{place}]", errors, known)
    types = spec.get("policyTypes") or ()
    if len(types) > len(_TYPES):
        text = "may not specify more than two policyTypes"
        errors.append(invalid("spec.policyTypes", types, text))
        return
    for number, one in enumerate(types):
        if one not in _TYPES:
            errors.append(not_supported(f"spec.policyTypes[{number}]", one, _TYPES))


def _check_port(port: Obj, path: str, errors: ErrorList) -> None:
    protocol, number, end = port.get("protocol"), port.get("port"), port.get("endPort")
    if protocol is not None and protocol not in _PROTOCOLS:
        errors.append(not_supported(f"{path}.protocol", protocol, _PROTOCOLS))
    if number is None:
        if end is not None:
            text = "may not be specified when `port` is not specified"
            errors.append(invalid(f"{path}.endPort", end, text))
    elif isinstance(number, int):
        texts(errors, f"{path}.port", number, names.port_number(number))
        if end is not None:
            if end < number:
                text = "must be greater than or equal to `port`"
                errors.append(invalid(f"{path}.endPort", number, text))
            texts(errors, f"{path}.endPort", end, names.port_number(end))
    else:
        if end is not None:
            text = "may not be specified when `port` is non-numeric"
            errors.append(invalid(f"{path}.endPort", end, text))
        texts(errors, f"{path}.port", number, names.port_name(number))


def _check_peer(peer: Obj, path: str, errors: ErrorList, known: Collection[str]) -> None:
    kinds = [name for name in ("podSelector", "namespaceSelector") if peer.get(name) is not None]
    for name in kinds:
        check_selector(peer[name], f"{path}.{name}", errors)
    block = peer.get("ipBlock")
    if block is not None:
        _check_block(block, f"{path}.ipBlock", errors, known)
        if kinds:
            errors.append(forbidden(path, "may not specify both ipBlock and another peer"))
    elif not kinds:
        errors.append(required(path, "must specify a peer"))


def _check_block(block: Obj, path: str, errors: ErrorList, known: Collection[str]) -> None:
    whole = block.get("cidr", "")
    if not whole:
        errors.append(required(f"{path}.cidr"))
        return
    _check_network(whole, f"{path}.cidr", errors, known)
    network = addresses.network(whole)
    if network is None:
        return
    for number, text in enumerate(block.get("except") or ()):
        place = f"{path}.except[{number}]"
        _check_network(text, place, errors, known)
        part = addresses.network(text)
        if part is not None and not _is_inside(part, network):
            errors.append(invalid(place, text, "must be a strict subset of `cidr`"))


def _check_network(text: str, path: str, errors: ErrorList, known: Collection[str]) -> None:
    if text not in known:
        texts(errors, path, text, addresses.cidr(text))


def _is_inside(part: addresses.Network, whole: addresses.Network) -> bool:
    return part.prefixlen > whole.prefixlen and part.network_address in whole


def _peers(spec: Obj) -> Iterator[Obj]:
    for direction, side in _DIRECTIONS:
        for rule in spec.get(direction) or ():
            yield from rule.get(side) or ()
