"""Addresses and networks as texts, and what Kubernetes says about those that are none.

As in `names`, each function returns the sentences about a text, none if it is as it should be.
Called by the validation of Services, nodes, pods and NetworkPolicies.
"""

# parity v1.36.4: apimachinery/pkg/util/validation/ip.go, with StrictIPCIDRValidation
import functools
import ipaddress
from typing import Final

from mooring.embedded.validation.names import Problems

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_REMEMBERED: Final = 16384


@functools.lru_cache(maxsize=_REMEMBERED)
def ip_address(text: str) -> Problems:
    """An IPv4 or IPv6 address."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        if _without_zeros(text) is not None:
            return ("must not have leading 0s",)
        return ("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",)
    if address.version == 6 and address.ipv4_mapped is not None:
        return ("must not be an IPv4-mapped IPv6 address",)
    return ()


@functools.lru_cache(maxsize=_REMEMBERED)
def cidr(text: str) -> Problems:
    """A network such as ``10.9.8.0/24``."""
    found = network(text)
    if found is None:
        return ("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",)
    address, _, length = text.partition("/")
    if _without_zeros(address) != address or (length != "0" and length.startswith("0")):
        return ("must not have leading 0s in IP or prefix length",)
    given = ipaddress.ip_address(address)
    if given.version == 6 and given.ipv4_mapped is not None:
        return ("must not have an IPv4-mapped IPv6 address",)
    if given != found.network_address:
        return ("must not have bits set beyond the prefix length",)
    return ()


def network(text: str) -> Network | None:
    """The network that a text names, also one in a form that `cidr` does not want."""
    address, slash, length = text.partition("/")
    plain = _without_zeros(address)
    if not slash or plain is None or not (length.isascii() and length.isdigit()):
        return None
    if int(length) > (128 if ":" in address else 32):
        return None
    return ipaddress.ip_network(f"{plain}/{int(length)}", strict=False)


def _without_zeros(text: str) -> str | None:
    """An address without leading zeros in its numbers; None if it is none even so."""
    plain = text
    if ":" not in text:
        plain = ".".join(part.lstrip("0") or "0" if part else "" for part in text.split("."))
    try:
        ipaddress.ip_address(plain)
    except ValueError:
        return None
    return plain
