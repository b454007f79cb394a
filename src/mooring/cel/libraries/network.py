"""The libraries of IP addresses and networks.

Called through the declarations. Texts are read as Go's net/netip does.
"""

from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import ClassVar, Final

from mooring.cel.errors import CelValueError
from mooring.cel.overloads import Functions, function, method
from mooring.cel.types import BOOL, CIDR, INT, IP, STRING

_Address = IPv4Address | IPv6Address


class Ip:
    """An address."""

    __slots__ = ("address",)
    type_name: ClassVar[str] = "net.IP"

    def __init__(self, address: _Address) -> None:
        self.address = address

    @property
    def size(self) -> int:
        """The number of bytes."""
        return 4 if self.address.version == 4 else 16

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ip) and self.address == other.address

    def __hash__(self) -> int:
        return hash(self.address)


class Cidr:
    """A network: an address, which may have bits behind the prefix, and the prefix's length."""

    __slots__ = ("address", "bits")
    type_name: ClassVar[str] = "net.CIDR"

    def __init__(self, address: _Address, bits: int) -> None:
        self.address = address
        self.bits = bits

    @property
    def size(self) -> int:
        """The number of bytes that the prefix is in."""
        return -(-self.bits // 8)

    @property
    def network(self) -> int:
        """The bits of the prefix."""
        return int(self.address) >> (self.address.max_prefixlen - self.bits)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cidr) and (self.address, self.bits) == (other.address, other.bits)

    def __hash__(self) -> int:
        return hash((self.address, self.bits))


def _address(text: str) -> _Address:
    if not text.isascii() or "/" in text or "%" in text:
        raise CelValueError(f'IP Address "{text}" parse error during conversion from string')
    try:
        address = ip_address(text)
    except ValueError as error:
        message = f'IP Address "{text}" parse error during conversion from string: {error}'
        raise CelValueError(message) from error
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        raise CelValueError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return address


def _network(text: str) -> Cidr:
    body, slash, bits = text.rpartition("/")
    if not slash or not bits.isdigit() or not bits.isascii() or len(bits) > 3:
        raise CelValueError(f'network address parse error during conversion from string: "{text}"')
    address = _address(body)
    if (len(bits) > 1 and bits[0] == "0") or int(bits) > address.max_prefixlen:
        raise CelValueError(f'network address parse error during conversion from string: "{text}"')
    return Cidr(address, int(bits))


def _print(address: _Address) -> str:
    return str(address)


def _is_ip(text: str) -> bool:
    try:
        _address(text)
    except CelValueError:
        return False
    return True


def _is_cidr(text: str) -> bool:
    try:
        _network(text)
    except CelValueError:
        return False
    return True


def _is_global_unicast(ip: Ip) -> bool:
    address = ip.address
    if isinstance(address, IPv4Address) and (address.is_unspecified or int(address) == 2**32 - 1):
        return False
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or _is_link_local_unicast(ip)
    )


def _is_link_local_unicast(ip: Ip) -> bool:
    if isinstance(ip.address, IPv4Address):
        return int(ip.address) >> 16 == 0xA9FE
    return int(ip.address) >> 118 == 0x3FA


def _is_link_local_multicast(ip: Ip) -> bool:
    if isinstance(ip.address, IPv4Address):
        return int(ip.address) >> 8 == 0xE00000
    return (int(ip.address) >> 112) & 0xFF0F == 0xFF02


def _contains(cidr: Cidr, address: _Address) -> bool:
    if cidr.address.version != address.version:
        return False
    return int(address) >> (address.max_prefixlen - cidr.bits) == cidr.network


def _contains_text(cidr: Cidr, text: str) -> bool:
    # parity v1.36.4: apiserver/pkg/cel/library/cidr.go, an unreadable address is an error
    return _contains(cidr, _address(text))


def _contains_cidr(cidr: Cidr, other: Cidr) -> bool:
    return cidr.bits <= other.bits and _contains(cidr, other.address)


def _masked(cidr: Cidr) -> Cidr:
    rest = cidr.address.max_prefixlen - cidr.bits
    kind = type(cidr.address)
    return Cidr(kind(int(cidr.address) >> rest << rest), cidr.bits)


FUNCTIONS: Final[Functions] = {
    "ip": [
        function("string_to_ip", [STRING], IP, lambda text: Ip(_address(text))),
        method("cidr_ip", [CIDR], IP, lambda cidr: Ip(cidr.address)),
    ],
    "isIP": [function("is_ip", [STRING], BOOL, _is_ip)],
    "ip.isCanonical": [
        function("ip_is_canonical", [STRING], BOOL, lambda text: _print(_address(text)) == text)
    ],
    "family": [method("ip_family", [IP], INT, lambda ip: ip.address.version)],
    "isUnspecified": [
        method("ip_is_unspecified", [IP], BOOL, lambda ip: ip.address.is_unspecified)
    ],
    "isLoopback": [method("ip_is_loopback", [IP], BOOL, lambda ip: ip.address.is_loopback)],
    "isLinkLocalMulticast": [
        method("ip_is_link_local_multicast", [IP], BOOL, _is_link_local_multicast)
    ],
    "isLinkLocalUnicast": [method("ip_is_link_local_unicast", [IP], BOOL, _is_link_local_unicast)],
    "isGlobalUnicast": [method("ip_is_global_unicast", [IP], BOOL, _is_global_unicast)],
    "cidr": [function("string_to_cidr", [STRING], CIDR, _network)],
    "isCIDR": [function("is_cidr", [STRING], BOOL, _is_cidr)],
    "containsIP": [
        method("cidr_contains_ip_string", [CIDR, STRING], BOOL, _contains_text),
        method("cidr_contains_ip_ip", [CIDR, IP], BOOL, lambda c, ip: _contains(c, ip.address)),
    ],
    "containsCIDR": [
        method(
            "cidr_contains_cidr_string", [CIDR, STRING], BOOL,
            lambda cidr, text: _contains_cidr(cidr, _network(text)),
        ),
        method("cidr_contains_cidr", [CIDR, CIDR], BOOL, _contains_cidr),
    ],
    "prefixLength": [method("cidr_prefix_length", [CIDR], INT, lambda cidr: cidr.bits)],
    "masked": [method("cidr_masked", [CIDR], CIDR, _masked)],
    "string": [
        function("ip_to_string", [IP], STRING, lambda ip: _print(ip.address)),
        function(
            "cidr_to_string", [CIDR], STRING, lambda cidr: f"{_print(cidr.address)}/{cidr.bits}"
        ),
    ],
}  # fmt: skip
